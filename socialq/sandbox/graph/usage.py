"""How much of its calls an account and the app have used up, as headers of every answer.

Arrives: a note for each call. Leaves: percentages in two headers, and whether a call is one too many. The hour
is counted from the first call, and an account that has used all is refused for a while.
"""

import json
import math
import threading
import time
from dataclasses import dataclass

from socialq.sandbox.graph.switches import Switches

WINDOW_SECONDS = 3_600.0
OF_APP = ""


@dataclass(slots=True)
class _Count:
    since: float
    calls: int = 0
    refused_until: float = 0.0


class UsageMeter:
    """Counts calls per account, and of all together. Not durable: a restart begins at zero."""

    def __init__(self, switches: Switches, *, rate_limit: int) -> None:
        """`rate_limit`: calls of an account in an hour, 0 to go by the setting."""
        self._switches = switches
        self._rate_limit = rate_limit
        self._lock = threading.Lock()
        self._counts: dict[str, _Count] = {}

    def take(self, account: str) -> bool:
        """Count a call of an account; false if its calls are used up. An end of the wait begins anew."""
        with self._lock:
            self._count(OF_APP).calls += 1
            count = self._count(account)
            now = time.monotonic()
            if count.refused_until > now:
                return False
            if count.refused_until:
                self._counts[account] = count = _Count(now)
            count.calls += 1
            if count.calls <= self._most(account):
                return True
            count.refused_until = now + self._switches.number("regain_minutes") * 60
            return False

    def app_is_over(self) -> bool:
        with self._lock:
            return self._count(OF_APP).calls > self._most(OF_APP)

    def headers(self, account: str, account_id: str, *, use_case: str) -> dict[str, str]:
        """The two headers of an answer, each only from one percent on."""
        with self._lock:
            of_app, count = self._percent(OF_APP), self._count(account)
            percent = self._percent(account)
            minutes = math.ceil(max(0.0, count.refused_until - time.monotonic()) / 60)
        headers = {}
        if of_app:
            headers["X-App-Usage"] = json.dumps(_measures(of_app))
        if percent:
            use = {"type": use_case, **_measures(percent), "estimated_time_to_regain_access": minutes}
            headers["X-Business-Use-Case-Usage"] = json.dumps({account_id: [use]})
        return headers

    def _count(self, account: str) -> _Count:
        now = time.monotonic()
        count = self._counts.get(account)
        if count is None or (now - count.since > WINDOW_SECONDS and count.refused_until < now):
            count = self._counts[account] = _Count(now)
        return count

    def _percent(self, account: str) -> int:
        return min(100, self._count(account).calls * 100 // max(1, self._most(account)))

    def _most(self, account: str) -> int:
        if account == OF_APP:
            return self._switches.number("calls_per_app_hour")
        return self._rate_limit or self._switches.number("calls_per_account_hour")


def used_up_headers(account_id: str, *, use_case: str, minutes: int) -> dict[str, str]:
    """What comes with a refusal that a fault has made."""
    use = {"type": use_case, **_measures(100), "estimated_time_to_regain_access": minutes}
    return {"X-Business-Use-Case-Usage": json.dumps({account_id: [use]})}


def _measures(percent: int) -> dict[str, int]:
    return {"call_count": percent, "total_cputime": percent // 4, "total_time": percent // 3}
