"""What becomes of a target when its content is seen on the platform, or is not: looks and late answers. Pure.

Arrives: the target's row as it stands locked, and what a look found or a late answer said. Leaves: a decision, or
a move. What must stay true: absence is only proven by every scheduled look, the last one after the platform's
lag; a part that is live is never sent again; a published target stays published.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from socialq.domain.outcomes import (
    Absent,
    AuthLost,
    CannotTell,
    Found,
    LookResult,
    Ours,
    PermissionLost,
    RateLimited,
    Transient,
)
from socialq.domain.sent_again import RETRIED
from socialq.domain.settlement import (
    AccountEffect,
    Decision,
    Situation,
    cancelled_before_mark,
    expired,
    publish_by_of,
    sentence_of,
    withdrawn,
)
from socialq.domain.states import NextKind, TargetStatus
from socialq.domain.targets import Move, PartState, Target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from socialq.domain.settlement import Rules

S = TargetStatus


def after_look(situation: Situation, result: LookResult, rules: Rules) -> Decision:
    """Decide for a target of unknown outcome that was looked for."""
    match result:
        case Found():
            return _found(situation, result, rules)
        case Absent():
            return _absent(situation, rules)
        case CannotTell():
            return _look_failed(situation, result, rules)
        case _:
            assert_never(result)


def nobody_can_look(target: Target) -> Decision:
    """Decide for a target of unknown outcome on an account that can't be looked through: a person must."""
    known = target.detail or "its answer was lost"
    move = Move(
        to=S.NEEDS_ATTENTION,
        reason="outcome_unknown",
        detail=f"{known}; the platform can't be asked whether it is live: look at the account, then decide",
    )
    return Decision(move=move, attempt_state="unknown")


def after_published_look(situation: Situation, result: LookResult, rules: Rules) -> Decision:
    """Decide for a published target that was looked for once more after an earlier unknown outcome.

    It stays published whatever comes. A post that is found now is a second one, since ids that a part owns are
    left out of the look: the store records the sighting, and that raises the duplicate alarm.
    """
    target = situation.target
    looks_failed = target.looks_failed + 1
    if isinstance(result, CannotTell) and looks_failed < rules.failed_looks_allowed:
        wait_seconds = min(rules.retry.cap_seconds, rules.look_delays_seconds[0] * 2.0**looks_failed)
        at = situation.now + timedelta(seconds=wait_seconds)
        move = _stay_published(target, at=at, looks_failed=looks_failed)
    else:
        move = _stay_published(target, at=None, looks_failed=0)
    return Decision(move=move, attempt_state="accepted")


def after_late_acceptance(
    target: Target, parts: Sequence[PartState], part_no: int, *, now: datetime, rules: Rules
) -> Move | None:
    """Decide what a late answer means: `part_no` is live, whatever the target's state. None: nothing changes.

    A target whose parts are then all live is published. A thread whose lost part this was goes on with the next
    one. Anywhere else the target stays as it is, but its seq moves on, so that a claim that was asked for before
    this was known is refused.
    """
    if target.status is S.PUBLISHED:
        return None
    others = [part for part in parts if part.part_no != part_no]
    if all(part.live for part in others):
        return published(
            now=now, retried_after_unknown=any(part.unknown_count for part in parts), rules=rules
        )
    if target.status is S.PUBLISHING:
        return None
    if target.status is S.UNKNOWN_OUTCOME:
        following = next((part for part in others if not part.live), None)
        return _next_part_follows(target, now=now, may_be_live=following is not None and following.unresolved)
    return Move(
        to=target.status,
        reason=target.reason,
        detail=target.detail,
        next_kind=target.next_kind,
        next_at=target.next_at,
        event="target.late_answer",
    )


def stop_looking(target: Target) -> Move:
    """End the planned look of a published target."""
    return _stay_published(target, at=None, looks_failed=0)


def published(*, now: datetime, retried_after_unknown: bool, rules: Rules) -> Move:
    """Move a target whose parts are all live. After an earlier unknown it is looked for once more, later."""
    again = now + timedelta(seconds=rules.look_again_seconds) if retried_after_unknown else None
    return Move(
        to=S.PUBLISHED,
        next_kind=None if again is None else NextKind.LOOK,
        next_at=again,
        changes={"published_at": now},
        event="target.published",
    )


def _found(situation: Situation, found: Found, rules: Rules) -> Decision:
    if situation.parts_after == 0:
        retried = situation.part.unknown_count > 1
        move = Move(
            to=S.PUBLISHED,
            reason="found",
            detail=f"{_why_sought(situation)}; it was found on the platform",
            # After a retry the first request may still come true: it is looked for once more, later.
            next_kind=NextKind.LOOK if retried else None,
            next_at=situation.now + timedelta(seconds=rules.look_again_seconds) if retried else None,
            changes={"published_at": found.created_at or situation.now, "looks_failed": 0},
            event="target.published",
        )
        return Decision(move=move, found=found, attempt_state="found")
    move = _next_part_follows(situation.target, now=situation.now, may_be_live=situation.next_part_unresolved)
    return Decision(move=move, found=found, attempt_state="found")


def _next_part_follows(target: Target, *, now: datetime, may_be_live: bool) -> Move:
    """Go on with a thread whose lost part is live after all, unless a person has withdrawn it meanwhile.

    The next part is sent, or, where it may be live as well, looked for first.
    """
    if may_be_live:
        return _keep_looking(target, at=now, looks_done=0, looks_failed=0)
    if target.cancel_requested:
        return withdrawn(any_live=True)
    return Move(
        to=S.RETRY_SCHEDULED,
        reason="found",
        detail="its last part is live; the next one follows",
        next_kind=NextKind.PUBLISH,
        next_at=now,
    )


def _absent(situation: Situation, rules: Rules) -> Decision:
    target = situation.target
    looks_done = target.looks_done + 1
    next_look = _next_look(situation, looks_done, rules)
    if next_look is not None:
        move = _keep_looking(target, at=next_look, looks_done=looks_done, looks_failed=0)
        return Decision(move=move, attempt_state="unknown")
    # A person who retries it has decided that once more is not too often.
    if situation.part.unknown_count >= 2 and target.reason != RETRIED:
        move = Move(
            to=S.NEEDS_ATTENTION,
            reason="unknown_twice",
            detail="its answer was lost twice and it was not found either time: look at the account, then decide",
        )
        return Decision(move=move, attempt_state="absent")
    if target.cancel_requested:
        return Decision(move=cancelled_before_mark(situation).move, clear_mark=True, attempt_state="absent")
    if situation.now >= publish_by_of(target):
        return Decision(move=expired(situation).move, clear_mark=True, attempt_state="absent")
    move = Move(
        to=S.RETRY_SCHEDULED,
        reason="proven_absent",
        detail=f"{_why_sought(situation)}; every look found that it is not live, so it is sent once more",
        next_kind=NextKind.PUBLISH,
        next_at=situation.now,
        changes={"looks_done": looks_done},
    )
    return Decision(move=move, clear_mark=True, attempt_state="absent")


def _next_look(situation: Situation, looks_done: int, rules: Rules) -> datetime | None:
    """Return when to look again, or None when absence is proven.

    It takes every scheduled look, and the last one only counts once the platform's lag has passed after the request
    can no longer run: before that a live post may not be listed yet. A connection that broke early says nothing of
    the request: the platform may work on it for as long as any request may take.
    """
    lost_at = situation.target.lost_at or situation.now
    if looks_done < len(rules.look_delays_seconds):
        return max(lost_at + timedelta(seconds=rules.look_delays_seconds[looks_done]), situation.now)
    # A look that a person brought forward is no last one.
    last_look = lost_at + timedelta(seconds=rules.look_delays_seconds[-1])
    may_run_until = (situation.part.marked_at or lost_at) + timedelta(seconds=rules.request_seconds)
    listed_by = max(lost_at, may_run_until) + timedelta(seconds=situation.lag_seconds or 0.0)
    proven_by = max(last_look, listed_by)
    return proven_by if situation.now < proven_by else None


def _look_failed(situation: Situation, result: CannotTell, rules: Rules) -> Decision:
    target = situation.target
    looks_failed = target.looks_failed + 1
    evidence = result.failure.evidence
    if isinstance(result.failure, AuthLost) and situation.refresh_may_help:
        at = situation.now + timedelta(seconds=1)
        move = _keep_looking(
            target, at=at, looks_done=target.looks_done, looks_failed=looks_failed, holds=target.holds_account
        )
        return Decision(move=move, account=AccountEffect(token_is_over=True), attempt_state="unknown")
    if isinstance(result.failure, AuthLost | PermissionLost) or looks_failed >= rules.failed_looks_allowed:
        # What was only ever refused is as it was: it can be edited, and sent on a person's word.
        refused = _was_refused(situation)
        move = Move(
            to=S.FAILED if refused else S.NEEDS_ATTENTION,
            reason="cannot_look",
            detail=f"whether it is live can't be looked up: {sentence_of(evidence)}",
        )
        effect = None
        if isinstance(result.failure, AuthLost):
            effect = AccountEffect(status="needs_reconnect", reason=evidence.message)
        return Decision(move=move, account=effect, clear_mark=refused, attempt_state="unknown")
    wait_seconds = min(rules.retry.cap_seconds, rules.look_delays_seconds[0] * 2.0 ** (looks_failed - 1))
    if isinstance(result.failure, RateLimited | Ours | Transient):
        wait_seconds = max(wait_seconds, result.failure.retry_after_seconds or 0.0)
    at = situation.now + timedelta(seconds=wait_seconds)
    move = _keep_looking(
        target, at=at, looks_done=target.looks_done, looks_failed=looks_failed, holds=target.holds_account
    )
    return Decision(move=move, attempt_state="unknown")


def _why_sought(situation: Situation) -> str:
    return "it was refused" if _was_refused(situation) else "its answer was lost"


def _was_refused(situation: Situation) -> bool:
    """Whether a person's retry is why it is looked for, and no answer was ever lost."""
    return situation.target.reason == RETRIED and situation.part.unknown_count == 0


def _keep_looking(
    target: Target, *, at: datetime, looks_done: int, looks_failed: int, holds: bool = False
) -> Move:
    """Stay unknown. The first finished look frees the account: its other targets need not wait for all looks."""
    changes: Mapping[str, object] = {
        "looks_done": looks_done,
        "looks_failed": looks_failed,
        "holds_account": holds,
    }
    return Move(
        to=S.UNKNOWN_OUTCOME,
        reason=target.reason,
        detail=target.detail,
        next_kind=NextKind.LOOK,
        next_at=at,
        changes=changes,
        event="target.looked",
    )


def _stay_published(target: Target, *, at: datetime | None, looks_failed: int) -> Move:
    return Move(
        to=S.PUBLISHED,
        reason=target.reason,
        detail=target.detail,
        next_kind=None if at is None else NextKind.LOOK,
        next_at=at,
        changes={"looks_failed": looks_failed},
        event="target.looked",
    )
