"""Where the time comes from: an argument, never a call to the operating system from within a rule.

`now` is the wall clock, for what people read and what is stored. `monotonic` is for durations and deadlines:
it never jumps. Neither decides what is due; only the central database's clock does that.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What every hop is handed instead of the machine's clock."""

    def now(self) -> datetime:
        """Return the wall clock's time (aware, UTC)."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start; never goes back, whatever the wall clock does."""


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that moves only when told to: for tests and for the simulation."""

    def __init__(self, start: datetime) -> None:
        """Begin at `start` (aware). The monotonic side begins at 0."""
        self._now = _utc(start)
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass on both sides. Refuses a negative step: that is what `set_now` is for."""
        if seconds < 0:
            raise ValueError(f"time passes forwards only, not by {seconds} s")
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def set_now(self, now: datetime) -> None:
        """Set the wall clock alone, as an administrator or a time server does; it may go back."""
        self._now = _utc(now)


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"a clock needs an aware time, not the naive {moment.isoformat()}")
    return moment.astimezone(UTC)
