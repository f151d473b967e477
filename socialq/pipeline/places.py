"""How many of a worker's threads one platform may take, so that one that hangs leaves some to the others."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WAIT_SECONDS: Final = 0.1
"""Where a platform answers, a place is free again within this; where it hangs, waiting longer is no use."""


class Places:
    """Counts what is under way by platform. One for each lane of a process, shared between its threads."""

    def __init__(
        self, *, threads: int, for_each_platform: int, several_in_use: Callable[[], bool] = lambda: True
    ) -> None:
        """Let each platform take `for_each_platform` threads; all of them where it is the only one in use."""
        self._threads = threads
        self._for_each_platform = for_each_platform
        self._several_in_use = several_in_use
        self._taken: Counter[str] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def place(self, platform: str) -> Iterator[bool]:
        """Take a place for as long as the block runs; False: there is none, and none became free in time."""
        most = self._for_each_platform if self._several_in_use() else self._threads
        taken = self._take(platform, most)
        try:
            yield taken
        finally:
            if taken:
                with self._changed:
                    self._taken[platform] -= 1
                    self._changed.notify_all()

    def _take(self, platform: str, most: int) -> bool:
        gives_up_at = time.monotonic() + _WAIT_SECONDS
        with self._changed:
            while self._taken[platform] >= most:
                left = gives_up_at - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    return False
            self._taken[platform] += 1
        return True
