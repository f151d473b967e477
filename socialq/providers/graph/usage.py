"""How much of its calls an application or an account has used up, from the headers of any answer.

Headers arrive; a wait and whom it is for leave.
What must stay true: what the whole application has used up stops all of it, what one page or account has used
up stops that one alone; what is nearly used up slows publishing and nothing else; a senseless value stops nobody
for longer than a day.

The headers hold percentages, and for a page or account the minutes until calls are taken again; there is no
`Retry-After`. They come only once an application makes enough calls.
Source: developers.facebook.com/docs/graph-api/overview/rate-limiting.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from socialq.providers.waiting import MOST_WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.providers.messages import Headers

Scope = Literal["account", "app"]

UNTOLD_WAIT_SECONDS: Final = 900.0
"""The windows are hours that slide: where nobody says when, a quarter of one gives some calls back."""

_USED_UP_PERCENT: Final = 100
_NEARLY_PERCENT: Final = 80
_SLOWER_SECONDS: Final = 60.0
"""The rest after each answer from there on: what slides out of the window in it is about what it lets in."""
_OF_APP: Final = "x-app-usage"
_OF_PAGE: Final = "x-page-usage"
_OF_BUSINESS: Final = "x-business-use-case-usage"
_MEASURES: Final = ("call_count", "total_time", "total_cputime")
_REGAIN_MINUTES: Final = "estimated_time_to_regain_access"


class UsedUp(NamedTuple):
    """How long nothing more should be sent, and for whom."""

    seconds: float
    scope: Scope
    reads_go_on: bool = False
    """Calls are left: only publishing is slowed."""


def used_up(headers: Headers) -> UsedUp | None:
    """Say whether all calls are used up, or nearly; None where enough are left, or nobody says. The app's first."""
    if _percent(_object(headers, _OF_APP)) >= _USED_UP_PERCENT:
        return UsedUp(UNTOLD_WAIT_SECONDS, "app")
    regain = regain_seconds(headers)
    if regain is not None:
        return UsedUp(regain, "account")
    uses = [_object(headers, _OF_PAGE), *_business_uses(headers)]
    if any(_percent(use) >= _USED_UP_PERCENT for use in uses):
        return UsedUp(UNTOLD_WAIT_SECONDS, "account")
    if _percent(_object(headers, _OF_APP)) >= _NEARLY_PERCENT:
        return UsedUp(_SLOWER_SECONDS, "app", reads_go_on=True)
    if any(_percent(use) >= _NEARLY_PERCENT for use in uses):
        return UsedUp(_SLOWER_SECONDS, "account", reads_go_on=True)
    return None


def regain_seconds(headers: Headers) -> float | None:
    """Return the longest time to regain access that is told, in seconds, a day at most; None: none is told."""
    minutes = max((_measure(use, _REGAIN_MINUTES) for use in _business_uses(headers)), default=0.0)
    return min(minutes * 60.0, MOST_WAIT_SECONDS) if minutes > 0 else None


def _business_uses(headers: Headers) -> Iterator[dict[str, Any]]:
    """Go through the uses of all the pages and accounts that the header names, most often one."""
    for uses in _object(headers, _OF_BUSINESS).values():
        for use in uses if isinstance(uses, list) else ():
            if isinstance(use, dict):
                yield use


def _object(headers: Headers, name: str) -> dict[str, Any]:
    try:
        value = json.loads(headers.get(name, ""))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _percent(use: dict[str, Any]) -> float:
    return max(_measure(use, name) for name in _MEASURES)


def _measure(use: dict[str, Any], name: str) -> float:
    """Return a number of the header; 0 for anything else."""
    value = use.get(name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return 0.0
    return float(value)
