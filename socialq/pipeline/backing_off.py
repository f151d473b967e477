"""Backing off from a queue that can't be reached, so that rows are not taken and put back all the while.

Arrives: whether sending worked. Leaves: how long to wait before the next try, doubling up to some seconds, and word
for people when it lasts. What must stay true: while the queue is away no row is written; the first try that works ends
it; several dispatchers of a process share one, since they share the queue.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.domain.clock import Clock

log = structlog.get_logger(__name__)

_FIRST_SECONDS: Final = 0.5
_LONGEST_SECONDS: Final = 8.0
_TELLS_AFTER_SECONDS: Final = 20.0


@dataclass(slots=True, kw_only=True)
class BackOff:
    """How a queue's sender waits. Shared between threads."""

    clock: Clock
    tell: Callable[[str | None], None] = lambda _problem: None
    """Gets a sentence for people when it has lasted for a while, and None when it is over."""
    _failing_since: float | None = None
    _next_try_at: float = 0.0
    _wait_seconds: float = 0.0
    _told: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def failing(self) -> bool:
        """Whether the last try failed."""
        return self._failing_since is not None

    def left_seconds(self) -> float:
        """Return how long to wait before the next try; 0: try now."""
        if self._failing_since is None:
            return 0.0
        return max(0.0, self._next_try_at - self.clock.monotonic())

    def failed(self, reason: str) -> float:
        """Note that a try failed; returns how long to wait before the next one."""
        with self._lock:
            now = self.clock.monotonic()
            if self._failing_since is None:
                self._failing_since = now
            self._wait_seconds = min(_LONGEST_SECONDS, max(_FIRST_SECONDS, self._wait_seconds * 2))
            self._next_try_at = now + self._wait_seconds
            lasts = now - self._failing_since
            tell, self._told = lasts >= _TELLS_AFTER_SECONDS and not self._told, lasts >= _TELLS_AFTER_SECONDS
        log.warning(
            "queue_unreachable", error=reason, lasts_seconds=round(lasts), again_in=self._wait_seconds
        )
        if tell:
            self.tell(
                f"Redis can't be reached ({reason}): nothing goes out; posts wait, and go out when it is back"
            )
        return self._wait_seconds

    def worked(self) -> None:
        """Note that a try worked."""
        if self._failing_since is None:
            return
        with self._lock:
            told, self._told = self._told, False
            self._failing_since, self._wait_seconds = None, 0.0
        log.warning("queue_is_back")
        if told:
            self.tell(None)
