"""Beat that goes on ticking when the machine's clock is set, and does not pile ticks up where nobody takes them.

Arrives: Celery's own beat. Leaves: the same ticks, but for those whose like still waits in the queue. What must stay
true: after a step of the clock, in whichever direction, every tick comes again within its interval (Celery plans by
the wall clock: set back by an hour, it would tick nothing for an hour); a control worker that was down finds one tick
of each name, whatever its clock says; no clock but this machine's monotonic one decides whether a tick is heard.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from celery.beat import PersistentScheduler

from socialq.store.queue_lengths import QueueLengths
from socialq.worker.queue import CONTROL

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
    """Plans anew whenever the clock was set, and leaves a tick out while an older one of its name waits."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what Celery's own takes."""
        self._watch = StepWatch()
        super().__init__(*args, **kwargs)
        self._queues = QueueLengths(self.app.conf.broker_url, queues=(CONTROL,))

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

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Send a tick, unless one of its name waits: that one does its work, whenever it is taken."""
        if self._waits(entry.task):
            log.info("tick_still_waits", tick=entry.name)
            return
        super().apply_entry(entry, producer=producer)

    def _waits(self, task: str) -> bool:
        try:
            return task in {name for name, _ in self._queues.waiting(CONTROL)}
        except OSError as error:
            # Sending says the same, or works all the same: a tick too many harms nothing.
            log.warning("queue_unreadable", error=str(error))
            return False

    def _plan_anew(self) -> None:
        """Let every tick have been worked off now: each comes again after its interval."""
        for entry in self.schedule.values():
            entry.last_run_at = entry.default_now()
        self._heap = None
