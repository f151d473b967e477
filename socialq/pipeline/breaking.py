"""The circuit breaker: counts failures that get accounts banned, and holds the account or the platform at too many.

Arrives: an outcome that was settled, on the failure path only. Leaves: a count in the central database; at too many a
hold that ends by time or is lifted by a person, and an alarm. What must stay true: it never fails what was settled;
looks go on while it holds, since what was sent before must be known; what a dying worker of ours leaves unknown does
not count.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from socialq.domain.breaking import opens
from socialq.domain.outcomes import Rejected, Unknown

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.domain.breaking import BreakerLimits, TroubleKind
    from socialq.domain.targets import Target
    from socialq.domain.work import AccountRow
    from socialq.pipeline.ports import Index

log = structlog.get_logger(__name__)

REASON = "circuit_breaker"


def trouble_of(outcome: object) -> TroubleKind | None:
    """Say whether an outcome counts, and as what."""
    match outcome:
        case Unknown():
            return "unknown"
        case Rejected(reason="policy"):
            return "policy"
        case _:
            return None


def note_trouble(
    index: Index,
    outcome: object,
    *,
    account: AccountRow,
    target: Target,
    limits: BreakerLimits,
    now: datetime,
) -> None:
    """Count a settled outcome if it counts. At too many of them, hold and say so.

    `now` is the database's time (aware): a worker whose own clock is off would hold for the wrong time.
    """
    kind = trouble_of(outcome)
    if kind is None:
        return
    account_id, platform, tenant_id = account.id, account.platform, target.tenant_id
    counted = index.trouble(account_id=account_id, platform=platform, kind=kind, limits=limits)
    for scope in opens(counted, limits):
        of_account = scope == "account"
        key = str(account_id) if of_account else platform
        seconds = limits.hold_seconds if of_account else limits.platform_hold_seconds
        log.error("breaker_opened", scope=scope, key=key, seconds=seconds)
        index.hold(scope=scope, key=key, until=now + timedelta(seconds=seconds), reason=REASON)
        many = (
            f"{counted.of_account} unknown outcomes or policy refusals"
            if of_account
            else f"unknown outcomes or policy refusals of {counted.accounts_of_platform} accounts"
        )
        message = (
            f"{scope} {key} ({platform}) is held for {seconds / 60:.0f} min after {many}: look at what is there before"
            f" more is sent; `socialq hold lift {scope} {key}` lets it go on"
        )
        index.alarm(
            key=f"paused:{scope}:{key}:breaker", message=message, tenant_id=tenant_id if of_account else None
        )
