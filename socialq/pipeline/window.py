"""Windows: a beat tick becomes up to a minute of exact watching.

Arrives: a tick. Leaves: after the window's length, or at once where another already watches and a third waits.
What must stay true: the listener is set up before the first scan, so that nothing falls between; one waiting
tick succeeds the holder, so that nobody is blind between two windows; correctness never needs the lock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from socialq.domain.clock import Clock

log = structlog.get_logger(__name__)


class Watch(Protocol):
    """A held window: notifications arrive here."""

    def wait(self, seconds: float) -> None:
        """Return when notified, or after `seconds`."""

    def touch(self) -> None:
        """Show the database that the holder is alive, however busy its scans are."""


class Door(Protocol):
    """Lets one tick in at a time, and one more wait for its turn."""

    def enter(
        self, *, patience_seconds: float, stopping: Callable[[], bool]
    ) -> AbstractContextManager[Watch | None]:
        """Hold the window; None where a holder and a successor are there already, or the wait was in vain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Runs scans for a while, woken by notifications, due times and the clock."""

    name: str
    door: Door
    scan: Callable[[], float | None]
    """Works off what is there; returns seconds until more is due (0: more is there now), None: unknown."""
    beat: Callable[[], None]
    """Says that the window is alive."""
    clock: Clock
    window_seconds: float
    rescan_seconds: float

    def run(self, *, stopping: Callable[[], bool]) -> str:
        """Watch until the window's end; returns a word for the log."""
        with self.door.enter(patience_seconds=self.window_seconds * 2, stopping=stopping) as watch:
            if watch is None:
                return "left"
            return self._watch(watch, stopping)

    def _watch(self, watch: Watch, stopping: Callable[[], bool]) -> str:
        ends_at = self.clock.monotonic() + self.window_seconds
        beaten_at = -math.inf
        while not stopping():
            next_in = self.scan()
            now = self.clock.monotonic()
            if now - beaten_at >= 1.0:
                watch.touch()
                self.beat()
                beaten_at = now
            left = ends_at - now
            if left <= 0:
                return "ended"
            if next_in is None:
                next_in = self.rescan_seconds
            if next_in > 0:
                watch.wait(min(next_in, self.rescan_seconds, left))
        return "stopped"
