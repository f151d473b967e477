"""When a target is tried again, and when no more.

An outcome arrives that left the platform certainly without the content; the time of the next try leaves, or
nothing. Base 60 s, doubling, full jitter, cap 1 h, five tries in all (the relay design, section 5, "Error
classification & retry policy"). Rate limits wait for the time the platform gave and spend nothing.

What must stay true: no try is planned at or past `publish_by`, and none once the budget is used up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_RATE_LIMIT_SECONDS: Final = 24 * 3600.0
"""We ask again after this long at the latest, whatever the platform said. Quotas of a day end within it, and
an absurd number (a time stamp where seconds were meant) can't lay an account to rest for a century."""

_LARGEST_DOUBLING: Final = 60
"""Keeps the power of two a small number: beyond this every cap has long been reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How failed tries are spaced, and how many there are."""

    base_seconds: float = 60.0
    """The longest wait after the first failed try; it doubles with each further one."""
    cap_seconds: float = 3600.0
    """No wait that we choose ourselves is longer."""
    budget: int = 5
    """Tries in all, the first included, until a person gives a new budget."""
    floor_seconds: float = 1.0
    """Full jitter may draw 0; a platform that has just failed gets at least this long, if the wait is."""

    def __post_init__(self) -> None:
        if not 0 < self.base_seconds <= self.cap_seconds < math.inf:
            raise ValueError("a retry policy needs 0 < base_seconds <= cap_seconds < infinity")
        if self.budget < 1 or not 0 <= self.floor_seconds < math.inf:
            raise ValueError("a retry policy needs a budget of at least 1 and a floor_seconds of at least 0")


def delay_seconds(policy: RetryPolicy, *, tries_spent: int, random: Callable[[], float]) -> float:
    """Draw the wait before the next try: full jitter, uniform from 0 to the doubling ceiling, then floored.

    `tries_spent` counts the tries spent so far, the one that has just failed included. `random` returns a
    number in [0, 1). Full jitter because a platform that comes back must not meet every waiting target at
    once.
    """
    ceiling_seconds = _ceiling_seconds(policy, tries_spent=tries_spent)
    return max(random() * ceiling_seconds, min(policy.floor_seconds, ceiling_seconds))


def next_try(
    policy: RetryPolicy,
    *,
    now: datetime,
    tries_spent: int,
    publish_by: datetime,
    random: Callable[[], float],
    retry_after_seconds: float | None = None,
) -> datetime | None:
    """Return when to try again (aware), or None: the budget is used up, or it would be too late by then.

    `retry_after_seconds` is what the platform asked for, if it did; the wait is never shorter.
    """
    if tries_spent >= policy.budget:
        return None
    wait_seconds = delay_seconds(policy, tries_spent=tries_spent, random=random)
    if retry_after_seconds is not None:
        wait_seconds = max(wait_seconds, _believable_seconds(retry_after_seconds))
    at = now + timedelta(seconds=wait_seconds)
    return at if at < publish_by else None


def rate_limit_until(*, now: datetime, retry_after_seconds: float) -> datetime:
    """Return when a rate limit ends (aware): the time the platform gave, in bounds. It spends nothing.

    It may lie past `publish_by`; that is for the caller to see and to say.
    """
    return now + timedelta(seconds=_believable_seconds(retry_after_seconds))


def _ceiling_seconds(policy: RetryPolicy, *, tries_spent: int) -> float:
    doublings = min(max(tries_spent - 1, 0), _LARGEST_DOUBLING)
    return min(policy.cap_seconds, policy.base_seconds * 2.0**doublings)


def _believable_seconds(given_seconds: float) -> float:
    """Bound what a platform said: negative and not-a-number mean "soon", and nothing means for ever."""
    if math.isnan(given_seconds) or given_seconds < 1.0:
        return 1.0
    return min(given_seconds, LONGEST_RATE_LIMIT_SECONDS)
