"""Names to addresses, within a time: `getaddrinfo` has no timeout of its own.

A host and port arrive, socket addresses leave. Each look-up runs on a thread of its own, which callers wait
for as long as they can; those who ask for the same name meanwhile share it.
What must stay true: a caller never waits longer than it said; a stuck name server costs one thread per name.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Final

from socialq.providers.addresses import literal_address

SocketAddress = tuple[socket.AddressFamily, tuple[str, int] | tuple[str, int, int, int]]

_KEPT_SECONDS: Final = 5.0
"""How long an answer is used again: enough for a burst of posts, short enough to follow a change."""
_KEPT_NAMES: Final = 1024


class _Lookup:
    """One running or finished look-up."""

    __slots__ = ("addresses", "done", "finished_at")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.addresses: list[SocketAddress] = []
        self.finished_at = 0.0

    def is_usable(self) -> bool:
        """Say whether it still runs, or found something not long ago. A failure is never used again."""
        if not self.done.is_set():
            return True
        return bool(self.addresses) and time.monotonic() - self.finished_at < _KEPT_SECONDS


class Resolver:
    """Resolves names; literal addresses cost nothing. Shared between threads."""

    def __init__(self) -> None:
        self._lookups: dict[tuple[str, int], _Lookup] = {}
        self._lock = threading.Lock()

    def resolve(self, host: str, port: int, *, wait_seconds: float) -> list[SocketAddress]:
        """Return the addresses of `host`, best first; empty if there are none or none came in time."""
        if address := literal_address(host):
            if address.version == 4:
                return [(socket.AF_INET, (str(address), port))]
            return [(socket.AF_INET6, (str(address), port, 0, 0))]
        lookup = self._lookup(host, port)
        lookup.done.wait(wait_seconds)
        return lookup.addresses

    def _lookup(self, host: str, port: int) -> _Lookup:
        with self._lock:
            lookup = self._lookups.get((host, port))
            if lookup is not None and lookup.is_usable():
                return lookup
            if len(self._lookups) >= _KEPT_NAMES:
                self._lookups.clear()
            lookup = self._lookups[host, port] = _Lookup()
        thread = threading.Thread(target=_run, args=(lookup, host, port), name=f"resolve-{host}", daemon=True)
        thread.start()
        return lookup


def _run(lookup: _Lookup, host: str, port: int) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        lookup.addresses = [
            (family, sockaddr)  # type: ignore[misc]
            for family, _, _, _, sockaddr in found
            if family in {socket.AF_INET, socket.AF_INET6}
        ]
    except (OSError, UnicodeError):
        lookup.addresses = []
    finally:
        lookup.finished_at = time.monotonic()
        lookup.done.set()
