"""Collects what many threads hand in, and works it off together, in one thread, in the order it came."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Item = TypeVar("Item")

log = structlog.get_logger(__name__)


class Batches(Generic[Item]):
    """While one batch is worked off the next one gathers: alone there is no wait, under load few batches.

    The thread starts with the first item, so that a process may fork before; it is a daemon, since whatever it
    holds at the end of a process can be done again by others.
    """

    def __init__(self, work_off: Callable[[Sequence[Item]], None], *, most: int) -> None:
        """`work_off` gets one to `most` items; what it raises is logged and loses that batch only."""
        self._work_off = work_off
        self._most = most
        self._waiting: deque[Item] = deque()
        self._changed = threading.Condition()
        self._unfinished = 0
        self._thread: threading.Thread | None = None

    def add(self, item: Item) -> None:
        """Hand in one item."""
        with self._changed:
            self._waiting.append(item)
            self._unfinished += 1
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, *, seconds: float = 10.0) -> bool:
        """Wait until everything handed in so far is worked off; False when it took longer than `seconds`."""
        with self._changed:
            return self._changed.wait_for(lambda: self._unfinished == 0, timeout=seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._most))]
            try:
                self._work_off(batch)
            except Exception:
                log.exception("batch_failed", items=len(batch))
            with self._changed:
                self._unfinished -= len(batch)
                self._changed.notify_all()
