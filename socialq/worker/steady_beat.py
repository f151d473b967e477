"""Beat that goes on ticking when the machine's clock is set.

Arrives: Celery's own beat. Leaves: the same ticks. What must stay true: after a step of the clock, in whichever
direction, every tick comes again within its interval. Celery plans by the wall clock: set back by an hour, it would
tick nothing for an hour.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from celery.beat import PersistentScheduler

log = structlog.get_logger(__name__)

_STEP_SECONDS: Final = 2.0
"""The wall clock and the monotonic one differ by so much between two looks only if the clock was set."""


@dataclass(slots=True)
class StepWatch:
    """Notices that the wall clock was set, by the monotonic clock beside it."""

    _difference_seconds: float = field(default_factory=lambda: time.time() - time.monotonic())

    def stepped_seconds(self) -> float:
        """Return by how much it was set since the last look; 0 for what drifts."""
        difference = time.time() - time.monotonic()
        stepped, self._difference_seconds = difference - self._difference_seconds, difference
        return stepped if abs(stepped) > _STEP_SECONDS else 0.0


class SteadyScheduler(PersistentScheduler):  # type: ignore[misc]  # Celery has no types
    """Plans anew whenever the clock was set."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what Celery's own takes."""
        self._watch = StepWatch()
        super().__init__(*args, **kwargs)

    def setup_schedule(self) -> None:
        """Read the last times from the file; those of a clock that was ahead are none."""
        super().setup_schedule()
        for entry in self.schedule.values():
            entry.last_run_at = min(entry.last_run_at, entry.default_now())

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due; returns the seconds until the next look."""
        stepped = self._watch.stepped_seconds()
        if stepped:
            log.warning("clock_was_set", seconds=round(stepped, 1))
            self._plan_anew()
        wait: float = super().tick(*args, **kwargs)
        return wait

    def _plan_anew(self) -> None:
        """Let every tick have been worked off now: each comes again after its interval."""
        for entry in self.schedule.values():
            entry.last_run_at = entry.default_now()
        self._heap = None
