"""How long LinkedIn's 429 means, and whom: its limits are by the day, and a day ends at midnight UTC.

An answer arrives; seconds and a scope leave. LinkedIn sends no `Retry-After`; one that comes is believed.
Source: learn.microsoft.com/linkedin/shared/api-guide/concepts/rate-limits.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from socialq.providers.linkedin.said import Said, said_in
from socialq.providers.waiting import LEAST_WAIT_SECONDS, MOST_WAIT_SECONDS, http_date

if TYPE_CHECKING:
    from socialq.providers.http import Answer

_AFTER_MIDNIGHT: Final = timedelta(seconds=30)
"""Machines do not agree on midnight to the second."""
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_WHOLE_APPLICATION: Final = re.compile(r"\bAPPLICATION\b")


class AskedWait(NamedTuple):
    """How long to wait, and who."""

    seconds: float
    scope: Literal["account", "app"]


def asked_wait(answer: Answer, *, now: datetime) -> AskedWait:
    """Read the wait; `now` (aware) stands in for the answer's `Date`."""
    said = said_in(answer) or Said()
    scope: Literal["account", "app"] = "app" if _WHOLE_APPLICATION.search(said.words) else "account"
    asked = answer.headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(asked):
        seconds = float(asked)
    else:
        seconds = _until_midnight(http_date(answer.headers.get("date")) or now)
    return AskedWait(min(max(seconds, LEAST_WAIT_SECONDS), MOST_WAIT_SECONDS), scope)


def _until_midnight(here: datetime) -> float:
    today = here.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return (today + timedelta(days=1) + _AFTER_MIDNIGHT - here).total_seconds()
