"""Total deadlines for network work: when the time is over the socket is shut, whatever the other side does.

A socket's own timeout starts anew with every byte, so a server that sends one now and then holds a reader for
ever. Here one thread of the process shuts each watched socket down at its deadline; the reader wakes at once,
and finds `Deadline.is_over`.
What must stay true: watching costs a few microseconds, the thread holds no socket longer than its request,
and a forked process starts its own thread.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import socket
import threading
import time
from typing import Final


class _Watched:
    """One socket until its deadline; `sock` is None once nobody waits for it any more."""

    __slots__ = ("at", "shut", "sock")

    def __init__(self, at: float, sock: socket.socket) -> None:
        self.at = at
        self.shut = False
        self.sock: socket.socket | None = sock

    def __lt__(self, other: _Watched) -> bool:
        return self.at < other.at


class _Watchdog:
    """The thread, and the heap of what it watches, earliest deadline first."""

    def __init__(self) -> None:
        self._heap: list[_Watched] = []
        self._changed = threading.Condition(threading.Lock())
        self._released = 0
        self._thread: threading.Thread | None = None

    def watch(self, at: float, sock: socket.socket) -> _Watched:
        entry = _Watched(at, sock)
        with self._changed:
            heapq.heappush(self._heap, entry)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="http-deadlines", daemon=True)
                self._thread.start()
            # Deadlines mostly grow, so the new one is rarely the earliest and the thread sleeps on.
            elif self._heap[0] is entry:
                self._changed.notify()
        return entry

    def release(self, entry: _Watched) -> None:
        """Let go of the socket. Its entry stays in the heap until it is on top, or too many are like it."""
        with self._changed:
            entry.sock = None
            self._released += 1
            if self._released > 256 and self._released * 2 > len(self._heap):
                self._heap = [kept for kept in self._heap if kept.sock is not None]
                heapq.heapify(self._heap)
                self._released = 0

    def _run(self) -> None:
        with self._changed:
            while True:
                self._changed.wait(self._shut_what_is_over())

    def _shut_what_is_over(self) -> float | None:
        """Shut every socket whose time is over; return the seconds until the next one, None for never."""
        while self._heap:
            entry = self._heap[0]
            wait = entry.at - time.monotonic()
            if entry.sock is not None and wait > 0:
                return wait
            heapq.heappop(self._heap)
            if entry.sock is None:
                self._released = max(0, self._released - 1)
            else:
                entry.shut = True
                _shut(entry.sock)
                entry.sock = None
        return None


def _shut(sock: socket.socket) -> None:
    # The base class's own method, on purpose: SSLSocket.shutdown first drops its TLS state, and a writer in
    # another thread could then send in the clear.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


_watchdog: _Watchdog = _Watchdog()


def _start_anew_after_fork() -> None:
    global _watchdog  # noqa: PLW0603 - threads don't survive a fork, and the old lock may be held for ever
    _watchdog = _Watchdog()


os.register_at_fork(after_in_child=_start_anew_after_fork)

_LEAST_SOCKET_TIMEOUT_SECONDS: Final = 0.001
"""A socket timeout of 0 would mean "do not block", and a negative one is refused."""


class Deadline:
    """The moment by which one exchange with a platform is over, on the monotonic clock."""

    __slots__ = ("_dog", "_entry", "at")

    def __init__(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds
        self._dog = _watchdog
        self._entry: _Watched | None = None

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.at

    @property
    def has_shut(self) -> bool:
        """Whether the watched socket was shut: an end of the stream is then our doing, not the platform's."""
        return self._entry is not None and self._entry.shut

    def remaining_seconds(self) -> float:
        """Seconds left, never zero or less, fit for `settimeout`."""
        return max(self.at - time.monotonic(), _LEAST_SOCKET_TIMEOUT_SECONDS)

    def watch(self, sock: socket.socket) -> None:
        """Shut `sock` down at the deadline, unless `release` is called before; one socket at a time."""
        self.release()
        sock.settimeout(self.remaining_seconds())
        self._entry = self._dog.watch(self.at, sock)

    def release(self) -> None:
        """Stop watching. Harmless when nothing is watched."""
        if self._entry is not None:
            self._dog.release(self._entry)
            self._entry = None
