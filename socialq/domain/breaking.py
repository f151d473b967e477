"""When a circuit breaker opens: so many failures that a loop of them would get an account banned. Pure.

A platform sees an account that posts into errors again and again, or posts what its policies refuse, as a robot gone
wild. What went wrong is settled target by target; this is about the next ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TroubleKind = Literal["unknown", "policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerLimits:
    """How much is too much, and for how long nothing is sent then."""

    troubles: int = 5
    """Of one account, within `window_seconds`: its hold lasts `hold_seconds`."""
    window_seconds: float = 1800.0
    hold_seconds: float = 3600.0
    accounts: int = 20
    """Of one platform that had any, within `platform_window_seconds`: its hold lasts `platform_hold_seconds`."""
    platform_window_seconds: float = 60.0
    platform_hold_seconds: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Troubles:
    """What was counted within the windows, the newest included."""

    of_account: int
    accounts_of_platform: int


def opens(troubles: Troubles, limits: BreakerLimits) -> tuple[Literal["account", "platform"], ...]:
    """Say what is to be held."""
    account: tuple[Literal["account", "platform"], ...] = (
        ("account",) if troubles.of_account >= limits.troubles else ()
    )
    return (*account, "platform") if troubles.accounts_of_platform >= limits.accounts else account
