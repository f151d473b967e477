"""How waiting is done, and how long a platform asks to wait, from the headers of its answer.

Headers arrive, seconds leave. What must stay true: a moment is measured against the answer's own `Date`, so
that a platform whose clock is off asks for the wait it meant; a senseless value never stops an account for
longer than a day, nor makes it knock without pause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.domain.clock import Clock
    from socialq.providers.messages import Headers

LEAST_WAIT_SECONDS: Final = 1.0
MOST_WAIT_SECONDS: Final = 24 * 3600.0
DEFAULT_WAIT_SECONDS: Final = 300.0

_DATE_GRAIN_SECONDS: Final = 1.0
"""`Date` has whole seconds: the wait is made that much longer, so that it never ends early."""
_WHOLE_SECONDS: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How time passes for steps that wait: an argument, so that tests need none."""

    clock: Clock
    sleep: Callable[[float], None]


def asked_wait_seconds(headers: Headers, *, now: datetime, reset_header: str) -> float:
    """Return how long to wait: by `Retry-After`, else by the moment in `reset_header` (ISO 8601), else 300 s.

    `now` (aware) stands in for a missing `Date`. The result lies between 1 s and 24 h.
    """
    here = http_date(headers.get("date")) or now
    wait = _retry_after(headers.get("retry-after"), here)
    if wait is None:
        reset = iso_moment(headers.get(reset_header))
        wait = DEFAULT_WAIT_SECONDS if reset is None else _seconds_until(reset, here)
    return min(max(wait, LEAST_WAIT_SECONDS), MOST_WAIT_SECONDS)


def iso_moment(value: object) -> datetime | None:
    """Read an ISO 8601 moment as aware UTC, one without a zone as UTC; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def http_date(value: str | None) -> datetime | None:
    """Read an HTTP date (`Mon, 30 Nov 2026 18:05:00 GMT`) as aware UTC; None for anything else."""
    if value is None:
        return None
    try:
        moment = parsedate_to_datetime(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _retry_after(value: str | None, here: datetime) -> float | None:
    if value is None:
        return None
    if _WHOLE_SECONDS.fullmatch(value.strip()):
        return float(value)
    moment = http_date(value)
    return None if moment is None else _seconds_until(moment, here)


def _seconds_until(moment: datetime, here: datetime) -> float:
    return (moment - here).total_seconds() + _DATE_GRAIN_SECONDS
