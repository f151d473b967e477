"""How long a server asks to wait, from its `RateLimit-…` headers.

An answer arrives; seconds leave. What must stay true: a moment is measured against the answer's own `Date`; what a
server says holds for the account that asked and for no other, since anybody may run a server.

Source: docs.bsky.app/docs/advanced-guides/rate-limits. The headers speak of whichever limit is nearest to its end.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from socialq.domain.outcomes import RateLimited
from socialq.providers.bluesky.problems import evidence
from socialq.providers.waiting import (
    DEFAULT_WAIT_SECONDS,
    LEAST_WAIT_SECONDS,
    MOST_WAIT_SECONDS,
    http_date,
)

if TYPE_CHECKING:
    from socialq.providers.http import Answer
    from socialq.providers.messages import Headers

_NUMBER: Final = re.compile(r"[0-9]{1,12}")
_DATE_GRAIN_SECONDS: Final = 1.0


def asked_wait_seconds(headers: Headers, *, now: datetime) -> float:
    """Return how long to wait: by `Retry-After`, else to `RateLimit-Reset`, else 300 s; between 1 s and 24 h."""
    asked = _number(headers.get("retry-after"))
    wait = _until_reset(headers, now) if asked is None else float(asked)
    return min(max(DEFAULT_WAIT_SECONDS if wait is None else wait, LEAST_WAIT_SECONDS), MOST_WAIT_SECONDS)


def used_up(answer: Answer) -> RateLimited | None:
    """Say how long to wait after any answer, also a good one, that says that nothing is left."""
    if _number(answer.headers.get("ratelimit-remaining")) != 0:
        return None
    seconds = asked_wait_seconds(answer.headers, now=datetime.now(UTC))
    return RateLimited(evidence=evidence(answer, "limit_used_up"), retry_after_seconds=seconds)


def _until_reset(headers: Headers, now: datetime) -> float | None:
    reset = _number(headers.get("ratelimit-reset"))
    if reset is None:
        return None
    here = http_date(headers.get("date")) or now
    return reset - here.timestamp() + _DATE_GRAIN_SECONDS


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and _NUMBER.fullmatch(value.strip()) else None
