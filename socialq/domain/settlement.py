"""What becomes of a target: from an outcome, a look, or a lease that ended, to a decision. Pure.

Arrives: the target's row as it stands locked, the part in question, what happened. Leaves: a `Decision`: the
move, what becomes of the part's mark, and what it means for the account. The store applies it in one
transaction. What must stay true: an unresolved mark never leads to another publish; a part that is live is
never sent again; nothing here can be reached by a target that is already published.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, assert_never

from socialq.domain.breaking import BreakerLimits
from socialq.domain.outcomes import (
    AuthLost,
    Duplicate,
    Evidence,
    Found,
    Ours,
    PermissionLost,
    RateLimited,
    Rejected,
    Transient,
    Unknown,
)
from socialq.domain.retry import RetryPolicy, next_try, rate_limit_until
from socialq.domain.states import NextKind, TargetStatus
from socialq.domain.targets import Move, PartState, Target

if TYPE_CHECKING:
    from collections.abc import Callable

S = TargetStatus

Failure = Transient | RateLimited | AuthLost | PermissionLost | Rejected | Duplicate | Unknown | Ours
"""Every outcome of a publish step but acceptance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The policies that decisions follow; built once from the settings."""

    retry: RetryPolicy = field(default_factory=RetryPolicy)
    look_delays_seconds: tuple[float, ...] = (10.0, 60.0, 300.0)
    """When to look after an unknown outcome, counted from the moment the request can no longer run."""
    look_again_seconds: float = 3600.0
    """When to look once more after a retry that followed an unknown outcome."""
    request_seconds: float = 30.0
    """How long after its mark a request may still run at the platform: its deadline."""
    failed_looks_allowed: int = 8
    """After this many looks in a row that could not be finished, a person decides."""
    breaker: BreakerLimits = field(default_factory=BreakerLimits)
    random: Callable[[], float] = field(repr=False, default=lambda: 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountEffect:
    """What an outcome means for the account."""

    status: Literal["needs_reconnect"] | None = None
    flag: str | None = None
    hold_until: datetime | None = None
    hold_scope: Literal["account", "app", "platform"] = "account"
    token_is_over: bool = False
    """The access token does not work any more: the next use refreshes it first."""
    reason: str = ""
    alarm: str | None = None
    """Our application is at fault: what was said of it, for one alarm of the app or the platform."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A move, and what goes with it."""

    move: Move
    clear_mark: bool = False
    """The marked request of this part certainly had no effect."""
    count_unknown: bool = False
    """This part's outcome is unknown once more."""
    found: Found | None = None
    """The part is live: store its id."""
    account: AccountEffect | None = None
    alarm: str | None = None
    attempt_state: str = "transient"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a decision looks at."""

    target: Target
    part: PartState
    """The part that was being sent, or that is being looked for."""
    any_live: bool
    """Whether any part of the target is live."""
    parts_after: int
    """How many parts follow this one."""
    next_part_unresolved: bool = False
    """Whether the part after this one may be live too: only after a restore, which loses what was marked."""
    now: datetime
    refresh_may_help: bool = False
    """The account's token can be refreshed, and was not just refreshed."""
    lag_seconds: float | None
    """After this long a live post is certain to be listed; None where the platform can't be asked."""


def after_failure(situation: Situation, outcome: Failure, rules: Rules) -> Decision:
    """Decide what becomes of a claimed target whose request came to `outcome`."""
    match outcome:
        case Transient():
            return _try_again(situation, outcome, rules)
        case RateLimited():
            until = rate_limit_until(now=situation.now, retry_after_seconds=outcome.retry_after_seconds)
            effect = AccountEffect(
                hold_until=until,
                hold_scope=outcome.scope,
                reason="restricted" if outcome.reads_go_on else "rate_limited",
            )
            return _wait(situation, outcome.evidence, until=until, effect=effect, state="rate_limited")
        case Ours():
            until = rate_limit_until(now=situation.now, retry_after_seconds=outcome.retry_after_seconds)
            effect = AccountEffect(
                hold_until=until,
                hold_scope=outcome.scope,
                reason="our_application",
                alarm=outcome.evidence.message or outcome.evidence.code,
            )
            return _wait(situation, outcome.evidence, until=until, effect=effect, state="ours")
        case AuthLost() if situation.refresh_may_help:
            # The platform ended the token before its time. A refused request was certainly not accepted.
            decision = _try_again(
                situation, Transient(evidence=outcome.evidence, retry_after_seconds=1), rules
            )
            effect = AccountEffect(token_is_over=True, reason="")
            return replace(decision, account=effect, attempt_state="auth_lost")
        case AuthLost():
            move = _resting(situation, S.NEEDS_RECONNECT, "authorisation_ended", outcome.evidence)
            effect = AccountEffect(status="needs_reconnect", reason=outcome.evidence.message)
            return Decision(move=move, clear_mark=True, account=effect, attempt_state="auth_lost")
        case PermissionLost():
            move = _resting(situation, S.FAILED, "no_permission", outcome.evidence)
            effect = AccountEffect(flag=outcome.evidence.message)
            return Decision(move=move, clear_mark=True, account=effect, attempt_state="permission_lost")
        case Rejected():
            move = _resting(situation, S.FAILED, f"rejected_{outcome.reason}", outcome.evidence)
            return Decision(move=move, clear_mark=True, attempt_state="rejected")
        case Duplicate():
            return _duplicate(situation, outcome, rules)
        case Unknown():
            return unknown(situation, outcome.evidence, lost_at=situation.now, rules=rules)
        case _:
            assert_never(outcome)


def unknown(situation: Situation, evidence: Evidence, *, lost_at: datetime, rules: Rules) -> Decision:
    """Decide for a marked request whose answer is lost; from `lost_at` on it can no longer run.

    Nothing is sent again until absence is proven. Where nobody can look, a person decides.
    """
    detail = sentence_of(evidence)
    if situation.lag_seconds is None:
        move = Move(to=S.NEEDS_ATTENTION, reason="outcome_unknown", detail=detail)
        return Decision(move=move, count_unknown=True, attempt_state="unknown")
    first_look = lost_at + timedelta(seconds=rules.look_delays_seconds[0])
    move = Move(
        to=S.UNKNOWN_OUTCOME,
        reason="outcome_unknown",
        detail=detail,
        next_kind=NextKind.LOOK,
        next_at=first_look,
        changes={"lost_at": lost_at, "looks_done": 0, "looks_failed": 0, "holds_account": True},
    )
    return Decision(move=move, count_unknown=True, attempt_state="unknown")


def after_lease_end(situation: Situation, rules: Rules) -> Decision:
    """Decide for a claim whose lease ended without an answer: by its mark.

    Without a mark it was certainly not sent: it is tried again and one of the budget is spent, so that a
    message that kills its worker ends. With an unanswered mark it may be live.
    """
    lease_until = situation.target.lease_until
    if lease_until is None:
        raise ValueError("a target without a lease has none that could end")
    if situation.part.unresolved:
        evidence = Evidence(
            code="worker.lost", message="the worker stopped before it could record the answer"
        )
        return unknown(situation, evidence, lost_at=lease_until, rules=rules)
    evidence = Evidence(code="worker.lost", message="the worker stopped before anything was sent")
    return _try_again(situation, Transient(evidence=evidence), rules)


def expired(situation: Situation) -> Decision:
    """Decide for a target that is past `publish_by` and has nothing in flight."""
    detail = "its publish-by time passed before it could be sent"
    if situation.any_live:
        detail = f"its publish-by time passed before the rest of it could be sent; {_live_of(situation)}"
    if situation.target.cancel_requested and not situation.any_live:
        return Decision(move=withdrawn(any_live=False), attempt_state="cancelled")
    return Decision(move=Move(to=S.FAILED, reason="expired", detail=detail), attempt_state="expired")


def cancelled_before_mark(situation: Situation) -> Decision:
    """Decide for a claim whose mark was refused because a person withdrew the target."""
    return Decision(move=withdrawn(any_live=situation.any_live), attempt_state="cancelled")


def withdrawn(*, any_live: bool) -> Move:
    """Move a target that a person withdrew: cancelled, or failed midway where a part of it is live."""
    if any_live:
        return Move(
            to=S.FAILED,
            reason="cancelled_midway",
            detail="withdrawn after a part of it was live; the rest was not sent",
        )
    return Move(to=S.CANCELLED, reason="cancelled", detail="withdrawn by a person before it was sent")


def wait_before_claim(target: Target, *, reason: str, detail: str, until: datetime) -> Move:
    """Move a target that a guard holds back: it waits, spends nothing, and fails at once if it can't be in time."""
    if target.publish_by is not None and until >= target.publish_by:
        return Move(to=S.FAILED, reason=reason, detail=f"{detail}; that outlasts its publish-by time")
    return Move(to=S.RETRY_SCHEDULED, reason=reason, detail=detail, next_kind=NextKind.PUBLISH, next_at=until)


def _try_again(situation: Situation, outcome: Transient, rules: Rules) -> Decision:
    target = situation.target
    if target.cancel_requested:
        decision = cancelled_before_mark(situation)
        return Decision(move=decision.move, clear_mark=True, attempt_state="cancelled")
    tries_spent = target.tries_spent + (1 if outcome.spends_budget else 0)
    at = next_try(
        rules.retry,
        now=situation.now,
        tries_spent=tries_spent,
        publish_by=publish_by_of(target),
        random=rules.random,
        retry_after_seconds=outcome.retry_after_seconds,
    )
    detail = sentence_of(outcome.evidence)
    if at is None:
        used_up = tries_spent >= rules.retry.budget
        move = Move(
            to=S.FAILED,
            reason="budget_used_up" if used_up else "expired",
            detail=f"{detail}; {'no tries are left' if used_up else 'a further try would be past its publish-by time'}",
            changes={"tries_spent": tries_spent},
        )
    else:
        move = Move(
            to=S.RETRY_SCHEDULED,
            reason=outcome.evidence.code or "transient",
            detail=detail,
            next_kind=NextKind.PUBLISH,
            next_at=at,
            changes={"tries_spent": tries_spent},
        )
    return Decision(move=move, clear_mark=True, attempt_state="transient")


def _wait(
    situation: Situation, evidence: Evidence, *, until: datetime, effect: AccountEffect, state: str
) -> Decision:
    if situation.target.cancel_requested:
        decision = cancelled_before_mark(situation)
        return Decision(move=decision.move, clear_mark=True, account=effect, attempt_state="cancelled")
    move = wait_before_claim(situation.target, reason=state, detail=sentence_of(evidence), until=until)
    return Decision(move=move, clear_mark=True, account=effect, attempt_state=state)


def _duplicate(situation: Situation, outcome: Duplicate, rules: Rules) -> Decision:
    """A duplicate error is evidence only after an own earlier unknown of this part; else it is a rejection."""
    said = outcome.evidence
    if outcome.existing_id and outcome.existing_id not in said.message:
        # Offered to a person, never adopted by itself: a look must see it.
        said = replace(said, message=f"{said.message or said.code}: the platform names {outcome.existing_id}")
    if situation.part.unknown_count == 0:
        move = _resting(situation, S.FAILED, "duplicate_content", said)
        return Decision(move=move, clear_mark=True, attempt_state="duplicate")
    decision = unknown(situation, said, lost_at=situation.now, rules=rules)
    return replace(decision, attempt_state="duplicate")


def _resting(situation: Situation, to: TargetStatus, reason: str, evidence: Evidence) -> Move:
    detail = sentence_of(evidence)
    if situation.any_live:
        detail = f"{detail}; {_live_of(situation)}"
    return Move(to=to, reason=reason, detail=detail)


def _live_of(situation: Situation) -> str:
    """Say how much is live: parts go out in their order, so it is all before this one."""
    live, parts = situation.part.part_no - 1, situation.part.part_no + situation.parts_after
    return f"{live} of {parts} parts {'is' if live == 1 else 'are'} live and stay{'s' if live == 1 else ''}"


def publish_by_of(target: Target) -> datetime:
    if target.publish_by is None:
        raise ValueError(f"target {target.id} is {target.status} without a publish-by time")
    return target.publish_by


def sentence_of(evidence: Evidence) -> str:
    status = f" (HTTP {evidence.http_status})" if evidence.http_status else ""
    return f"{evidence.message or evidence.code or 'no reason was given'}{status}"
