"""The watch as a process of its own: `socialq watch`. Needs no beat, no worker and no Redis.

Arrives: time. Leaves: a pass every few seconds, a ping of the dead man's switch after each that was whole. What must
stay true: it goes on whatever a pass comes to; where the central database itself is away, so that no alarm can be
kept there, it tells so by itself, once, and when it is back; nothing is pinged as long as nobody could be told.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import structlog

from socialq.store.patience import PASSING
from socialq.upkeep.watching.findings import lasting

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from socialq.upkeep.watching.sending import DeadMan
    from socialq.upkeep.watching.watch import Watch

log = structlog.get_logger(__name__)

_FAILED_PASSES: Final = 2
"""So many passes in a row without the database are no restart any more."""


@dataclass(slots=True, kw_only=True)
class WatchProcess:
    """Watches until it is told to stop."""

    watch: Watch
    dead_man: DeadMan
    interval_seconds: float
    monotonic: Callable[[], float] = time.monotonic
    _failed: int = 0
    _away_since: float | None = None
    _told: bool = field(default=False)

    def run(self, stopping: threading.Event) -> None:
        """Look at every interval. The first look comes after one, when what starts with it had time to start."""
        log.info("watching", interval_seconds=self.interval_seconds)
        while not stopping.wait(self.interval_seconds):
            self.look()

    def look(self) -> None:
        """Make one pass."""
        try:
            seen = self.watch.run()
        except PASSING as error:
            known = self._away(type(error).__name__)
        except Exception:
            # Whatever it is, the next pass must come; the dead man's switch tells that none is whole.
            log.exception("pass_failed")
            known = False
        else:
            known = self._is_back()
            log.debug("looked", findings=len(seen.findings), unread=sorted(seen.unread))
        if known:
            self.dead_man.ping()

    def _away(self, error: str) -> bool:
        """Note that the database can't be reached; True: the operator knows, or need not yet."""
        now = self.monotonic()
        self._away_since = now if self._away_since is None else self._away_since
        self._failed += 1
        log.error("database_unreachable", error=error, passes=self._failed)
        if self._failed < _FAILED_PASSES:
            return True
        if not self._told:
            body = (
                f"ALARM database: the central database can't be read ({error}), for {lasting(now - self._away_since)}:"
                " nothing goes out, and no other alarm can be raised. Bring PostgreSQL back"
            )
            self._told = self.watch.sender.send(title="socialq: the database is away", body=body)
        return self._told

    def _is_back(self) -> bool:
        if self._told:
            body = "OVER database: the central database can be read again; posts that were due go out now"
            self._told = not self.watch.sender.send(title="socialq: the database is back", body=body)
        self._failed, self._away_since = 0, None
        return True
