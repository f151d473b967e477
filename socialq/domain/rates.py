"""What a platform allows in a span of time, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """At most `amount` publish requests in any `per_seconds`, for one account or for one application."""

    amount: int
    per_seconds: int
    scope: Literal["account", "app"] = "account"
