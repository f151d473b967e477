"""How long X asks to wait, and whom it asks.

The headers of a 429, or of the last good answer before it, arrive; seconds and a scope leave.
What must stay true: a moment is measured against the answer's own `Date`; a limit of the whole application
pauses the platform for everybody, and one account's limit pauses that account only.

Source: docs.x.com/x-api/fundamentals/rate-limits. The 24 hour headers are not documented any more, and still
believed where they come.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from socialq.providers.waiting import (
    DEFAULT_WAIT_SECONDS,
    LEAST_WAIT_SECONDS,
    MOST_WAIT_SECONDS,
    http_date,
)

if TYPE_CHECKING:
    from socialq.providers.messages import Headers

_Scope = Literal["account", "app"]

_FAMILIES: Final[tuple[tuple[str, _Scope], ...]] = (
    ("x-app-limit-24hour", "app"),
    ("x-user-limit-24hour", "account"),
    ("x-rate-limit", "account"),
)
_LONG_WAIT_SECONDS: Final = 3600.0
"""Where requests are left in the window, something larger is used up, and nobody says when it ends."""
_DATE_GRAIN_SECONDS: Final = 1.0
_NUMBER: Final = re.compile(r"[0-9]{1,12}")


class AskedWait(NamedTuple):
    """How long to wait, and who."""

    seconds: float
    scope: _Scope


def asked_wait(headers: Headers, *, now: datetime) -> AskedWait:
    """Read the wait from the family of headers that has nothing left; `now` (aware) stands in for `Date`.

    Between 1 s and 24 h; 300 s where nothing is said; at least an hour where requests are left.
    """
    here = http_date(headers.get("date")) or now
    for family, scope in _FAMILIES:
        if _number(headers.get(f"{family}-remaining")) == 0:
            return AskedWait(_bounded(_until_reset(headers, family, here) or DEFAULT_WAIT_SECONDS), scope)
    asked = _number(headers.get("retry-after")) or _until_reset(headers, "x-rate-limit", here)
    if _number(headers.get("x-rate-limit-remaining")) is not None:
        return AskedWait(_bounded(max(asked or 0.0, _LONG_WAIT_SECONDS)), "app")
    return AskedWait(_bounded(DEFAULT_WAIT_SECONDS if asked is None else asked), "account")


def used_up(headers: Headers, *, now: datetime) -> AskedWait | None:
    """Read from a good answer that it was the last one of its window; None: more may be sent."""
    if all(_number(headers.get(f"{family}-remaining")) != 0 for family, _ in _FAMILIES):
        return None
    return asked_wait(headers, now=now)


def _until_reset(headers: Headers, family: str, here: datetime) -> float | None:
    reset = _number(headers.get(f"{family}-reset"))
    if reset is None:
        return None
    try:
        moment = datetime.fromtimestamp(reset, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return max((moment - here).total_seconds() + _DATE_GRAIN_SECONDS, LEAST_WAIT_SECONDS)


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and _NUMBER.fullmatch(value.strip()) else None


def _bounded(seconds: float) -> float:
    return min(max(seconds, LEAST_WAIT_SECONDS), MOST_WAIT_SECONDS)
