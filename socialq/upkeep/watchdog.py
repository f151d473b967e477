"""Watches whether this worker still consumes, from a thread of its own, and gives the process up if it does not.

Arrives: time, and word of each message that the worker has received. Leaves: a canary every few seconds, which the
worker must receive itself; at the end a reason why the process is given up. What must stay true: silence counts
only while the broker takes canaries and this process gets to run, so that neither a broker that stands still nor
a stopped process is taken for a deaf worker; a worker whose slots are all held is not deaf but busy, and has
much longer.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import structlog

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

log = structlog.get_logger(__name__)

GIVEN_UP: Final = 70
"""The exit code of a worker that was given up (EX_SOFTWARE): its supervisor starts it again."""
_LOOKS_MISSED: Final = 3
"""Having not looked for so many intervals, the process itself was stopped, or starved."""


class CanaryNotSentError(Exception):
    """The broker did not take the canary: it can't be reached, or does not answer."""


@dataclass(slots=True, kw_only=True)
class Watchdog:
    """Decides when a worker is deaf or stuck. `heard` and `progressed` may be called from any thread."""

    send: Callable[[], None]
    """Sends a canary to this worker; raises `CanaryNotSentError`."""
    listens: Callable[[], bool]
    """Whether the worker still has all its queues."""
    busy: Callable[[], bool]
    """Whether all slots are held."""
    give_up: Callable[[str], None]
    """Ends the process; gets a sentence for the log."""
    interval_seconds: float
    deaf_seconds: float
    """How long a worker with a free slot may receive nothing."""
    stuck_seconds: float
    """How long all slots may be held without one being freed."""
    monotonic: Callable[[], float] = time.monotonic
    _heard_at: float = field(init=False)
    _progress_at: float = field(init=False)
    _looked_at: float = field(init=False)

    def __post_init__(self) -> None:
        """Count from now."""
        self._heard_at = self._progress_at = self._looked_at = self.monotonic()

    def heard(self) -> None:
        """Note that the worker received a message, a canary or any other, and can receive more of each queue."""
        if self.listens():
            self._heard_at = self.monotonic()

    def progressed(self) -> None:
        """Note that a task began or ended."""
        self._progress_at = self.monotonic()

    def look(self) -> None:
        """Send a canary and judge."""
        self._allow_for_being_stopped()
        try:
            self.send()
        except CanaryNotSentError as error:
            log.warning("canary_not_sent", error=str(error))
            self._heard_at = self.monotonic()
            return
        now = self.monotonic()
        if self.busy():
            self._heard_at = now
            if (held := now - self._progress_at) > self.stuck_seconds:
                self.give_up(f"all slots have been held for {held:.0f} s and none was freed")
        elif (silent := now - self._heard_at) > self.deaf_seconds:
            self.give_up(f"nothing was received for {silent:.0f} s, though the broker takes messages")

    def watch(self, *, stopping: threading.Event) -> None:
        """Look at every interval until the worker stops."""
        while not stopping.wait(self.interval_seconds):
            self.look()

    def _allow_for_being_stopped(self) -> None:
        now = self.monotonic()
        gap = now - self._looked_at
        if gap > self.interval_seconds * _LOOKS_MISSED:
            self._heard_at, self._progress_at = self._heard_at + gap, self._progress_at + gap
        self._looked_at = now
