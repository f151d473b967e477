"""The eight checks before a publish, in order, each with what it makes of the target.

Source: the relay design, section 4, "Worker guard checks". They judge the work as it was just read; the claim
re-checks all of them but the rate bucket in the database, so that nothing that changes in between slips
through. A guard that refuses spends nothing of the retry budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Final, Literal

from socialq.domain.settlement import wait_before_claim, withdrawn
from socialq.domain.states import CLAIMABLE, TargetStatus
from socialq.domain.targets import Move

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.domain.work import Work

S = TargetStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardPolicy:
    """How long guards wait, and what an adapter asks for."""

    wait_seconds: float
    suspension_grace_hours: float
    required_scopes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a target is not claimed, and its move; `move` None: the message is obsolete, nothing changes."""

    guard: str
    move: Move | None
    tenant_waits_until: datetime | None = None
    """No post of the tenant can go out before this: it is held as a whole, so that its other posts ask nobody."""


Verdict = Refusal | None
Check = Callable[["Work", GuardPolicy, int], Verdict]


@dataclass(frozen=True, slots=True)
class Guard:
    """One row of the specification."""

    number: int
    name: str
    check: Check
    when_refused: Literal["wait", "wait, failed after the grace", "failed", "obsolete", "needs_reconnect"]


def refusal_of(work: Work, policy: GuardPolicy, *, message_seq: int) -> Refusal | None:
    """Run the guards in order; the first that refuses speaks. None: go ahead."""
    for guard in GUARDS:
        refusal = guard.check(work, policy, message_seq)
        if refusal is not None:
            return refusal
    return None


def _tenant_active(work: Work, policy: GuardPolicy, _seq: int) -> Verdict:
    tenant = work.tenant
    if tenant.stopped_at is not None:
        return _wait(
            work, policy, "tenant_active", "tenant_stopped", tenant.stop_reason or "the tenant is stopped"
        )
    if tenant.status == "active":
        return None
    since = tenant.suspended_at or work.read_at
    if work.read_at >= since + timedelta(hours=policy.suspension_grace_hours):
        detail = f"the tenant has been suspended since {_minute(since)}, longer than the grace"
        return Refusal(
            guard="tenant_active", move=Move(to=S.FAILED, reason="tenant_suspended", detail=detail)
        )
    return _wait(work, policy, "tenant_active", "tenant_suspended", "the tenant is suspended")


def _within_entitlement(work: Work, policy: GuardPolicy, _seq: int) -> Verdict:
    limit, used = work.tenant.monthly_limit, work.tenant.published_this_month
    if limit is None or used is None or used < limit:
        return None
    detail = f"the tenant's limit of {limit} posts a month is used up"
    refusal = _wait(work, policy, "within_entitlement", "monthly_limit", detail)
    return replace(refusal, tenant_waits_until=_next_month(work.read_at))


def _version_approved(work: Work, policy: GuardPolicy, _seq: int) -> Verdict:
    if work.approved_version_id == work.target.version_id:
        return None
    return _wait(work, policy, "version_approved", "not_approved", "this version is not the approved one")


def _claimable(work: Work, _policy: GuardPolicy, seq: int) -> Verdict:
    """An old message, a finished or running target, one whose marked request is unresolved: never claimed."""
    target = work.target
    if target.seq != seq or target.status not in CLAIMABLE or any(part.unresolved for part in work.parts):
        return Refusal(guard="claimable", move=None)
    if target.cancel_requested:
        return Refusal(guard="claimable", move=withdrawn(any_live=work.any_live))
    if target.publish_by is not None and work.read_at >= target.publish_by:
        detail = f"its publish-by time, {_minute(target.publish_by)}, passed before it could be sent"
        return Refusal(guard="claimable", move=Move(to=S.FAILED, reason="expired", detail=detail))
    return None


def _account_active(work: Work, policy: GuardPolicy, _seq: int) -> Verdict:
    account = work.account
    expires_at = account.token_expires_at
    # A token that can be refreshed is not over: that is asked of the platform after these checks.
    usable = expires_at is None or expires_at > work.read_at or account.refresh_token is not None
    if account.status == "active" and usable:
        return None
    if account.status == "disabled":
        return _wait(work, policy, "account_active", "account_disabled", "the account is switched off")
    detail = account.status_reason or "the account's authorisation ended; reconnect it"
    move = Move(to=S.NEEDS_RECONNECT, reason="account_needs_reconnect", detail=detail)
    return Refusal(guard="account_active", move=move)


def _capable(work: Work, policy: GuardPolicy, _seq: int) -> Verdict:
    missing = policy.required_scopes - work.account.scopes
    if not missing:
        return None
    detail = f"the account was connected without {', '.join(sorted(missing))}; reconnect it with these"
    return Refusal(guard="capable", move=Move(to=S.FAILED, reason="missing_scope", detail=detail))


def _media_ready(work: Work, policy: GuardPolicy, _seq: int) -> Verdict:
    for media_id in work.media_ids:
        media = work.media.get(media_id)
        if media is None or media.status == "rejected":
            problem = "is gone" if media is None else media.problem or "was rejected"
            move = Move(to=S.FAILED, reason="media_rejected", detail=f"media {media_id} {problem}")
            return Refusal(guard="media_ready", move=move)
        if media.status != "ready":
            return _wait(
                work, policy, "media_ready", "media_processing", f"media {media_id} is still processed"
            )
    return None


def _rate_allows(work: Work, _policy: GuardPolicy, _seq: int) -> Verdict:
    until = work.account.hold_until
    if until is None or until <= work.read_at:
        return None
    detail = f"the platform asked this account to wait until {_minute(until)}"
    move = wait_before_claim(work.target, reason="rate_limited", detail=detail, until=until)
    return Refusal(guard="rate_allows", move=move)


GUARDS: Final = (
    Guard(4, "claimable", _claimable, "obsolete"),
    Guard(1, "tenant_active", _tenant_active, "wait, failed after the grace"),
    Guard(2, "within_entitlement", _within_entitlement, "wait"),
    Guard(3, "version_approved", _version_approved, "wait"),
    Guard(5, "account_active", _account_active, "needs_reconnect"),
    Guard(6, "capable", _capable, "failed"),
    Guard(7, "media_ready", _media_ready, "wait"),
    Guard(8, "rate_allows", _rate_allows, "wait"),
)
"""The relay design's eight checks. Number 4 comes first: the others' moves are only for targets that may still
be claimed, and an obsolete message must not move anything."""


def _wait(work: Work, policy: GuardPolicy, guard: str, reason: str, detail: str) -> Refusal:
    until = work.read_at + timedelta(seconds=policy.wait_seconds)
    return Refusal(
        guard=guard, move=wait_before_claim(work.target, reason=reason, detail=detail, until=until)
    )


def _next_month(instant: datetime) -> datetime:
    """Return the first moment of the next calendar month in UTC, when the count begins anew."""
    first = instant.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + timedelta(days=32)).replace(day=1)


def _minute(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"
