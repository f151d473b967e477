"""How many requests of a day are left: per author and for the whole application, until midnight UTC.

LinkedIn publishes no figures, so nothing is refused unless a test sets some; `--rate-limit N` counts per author.
"""

import threading
import time
from collections import Counter
from typing import Literal

from socialq.sandbox.linkedin.switches import DAY_SECONDS, Switches

MEMBER: Literal["MEMBER"] = "MEMBER"
APPLICATION: Literal["APPLICATION"] = "APPLICATION"
_WHOLE_APP = ""


class Throttle:
    """Counts requests of the present day."""

    def __init__(self, limit_for_all: int, switches: Switches) -> None:
        self._limit_for_all = limit_for_all
        self._switches = switches
        self._lock = threading.Lock()
        self._day = 0
        self._taken: Counter[str] = Counter()

    def take(self, account: str) -> Literal["MEMBER", "APPLICATION"] | None:
        """Count a request; say whose limit it is beyond, if any."""
        with self._lock:
            day = int(time.time() // DAY_SECONDS)
            if day != self._day:
                self._day = day
                self._taken.clear()
            self._taken[account] += 1
            self._taken[_WHOLE_APP] += 1
            of_account, of_app = self._taken[account], self._taken[_WHOLE_APP]
        if (most := self._switches.number("app_daily_limit")) and of_app > most:
            return APPLICATION
        most = self._limit_for_all or self._switches.number("member_daily_limit")
        return MEMBER if most and of_account > most else None
