"""How many of a worker's threads one platform may take, so that one that hangs leaves some to the others."""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_WAIT_SECONDS: Final = 0.1
"""Where a platform answers, a place is free again within this; where it hangs, waiting longer is no use."""


class Places:
    """Counts the publishes under way by platform. One for each process, shared between its threads."""

    def __init__(self, *, for_each_platform: int) -> None:
        """Let each platform take so many threads at most."""
        self._places: defaultdict[str, threading.Semaphore] = defaultdict(
            lambda: threading.Semaphore(for_each_platform)
        )
        self._lock = threading.Lock()

    @contextmanager
    def place(self, platform: str) -> Iterator[bool]:
        """Take a place for as long as the block runs; False: there is none, and none became free in time."""
        with self._lock:
            places = self._places[platform]
        taken = places.acquire(timeout=_WAIT_SECONDS)
        try:
            yield taken
        finally:
            if taken:
                places.release()
