"""Retrying: a person has a target sent again, looked for first where that can be.

A target's id arrives; the target as scheduled, or a refusal, leaves. What must stay true: what may be live is sent
again without a look only on a person's word, or where nobody can look.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final, assert_never

from psycopg.errors import UniqueViolation

from socialq.desk.refusals import no_target, refusal
from socialq.desk.resolve.locked import account_of, applied
from socialq.desk.tenants import cell_of
from socialq.desk.wake import wake_relay
from socialq.domain import sent_again
from socialq.domain.states import RETRYABLE, TargetStatus
from socialq.providers.registry import adapter_for
from socialq.store.cell import post_targets, posts, takedowns, target_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.errors import InputRefused
    from socialq.domain.targets import PartState, Target
    from socialq.store.sessions import Row, Session
    from socialq.store.stores import Stores

S = TargetStatus

_WHY_NOT_ACTIVE: Final = {
    "needs_reconnect": "needs to be connected again",
    "disabled": "is disabled",
}


def retry(
    stores: Stores,
    *,
    tenant: UUID,
    target_id: UUID,
    now: datetime,
    publish_by_hours: float = 24.0,
    look_first: bool = True,
    scheduled_looks: int = 3,
    actor: str,
) -> Target:
    """Send a target again, now; its retry budget starts anew. `detail` of the answer says what was decided.

    What was asked of the platform before is looked for first, where it can be: it is sent only if it is not live.
    Without `look_first`, or where nobody can look, it is sent at once, on the person's word. One of unknown outcome
    is looked for at once. `scheduled_looks` is how many looks prove absence. `publish_by` moves to
    `publish_by_hours` from `now` (aware) if it has passed. The publication key stays.
    """
    cell = cell_of(stores, tenant)
    with _one_at_a_time(target_id), cell.app.transaction(tenant=tenant, actor=actor) as session:
        target = post_targets.lock(session, target_id)
        if target is None:
            raise no_target(target_id)
        if target.status not in RETRYABLE and target.status is not S.UNKNOWN_OUTCOME:
            raise _not_retryable(target)
        _check_not_taken_down(session, target_id)
        account = _check_sendable(session, target)
        parts = target_parts.full_parts(session, target_id)
        last_moment = now + timedelta(hours=publish_by_hours)
        sought = sent_again.to_look_for(target, parts) if look_first and _can_look(account) else None
        if sought is not None:
            target_parts.doubt(session, target_id=target_id, part_no=sought.part_no)
            move = sent_again.looked_for_first(
                target, sought, now=now, last_moment=last_moment, scheduled_looks=scheduled_looks
            )
        elif target.status is S.UNKNOWN_OUTCOME:
            raise _not_retryable(target)
        else:
            unresolved = _resolved(session, target, parts)
            move = sent_again.at_once(target, unresolved, now=now, last_moment=last_moment)
        moved = applied(post_targets.apply(session, target, move))
    wake_relay(cell, [moved], now=now)
    return moved


@contextmanager
def _one_at_a_time(target_id: UUID) -> Iterator[None]:
    """Refuse a look that would hold an account that another target holds: the index over the holders says so."""
    try:
        yield
    except UniqueViolation as error:
        if error.diag.constraint_name != "post_targets_account_held":
            raise
        problem = (
            "can't be looked for at this moment: another post of its account is being sent or looked for"
        )
        raise refusal("target", target_id, problem, "wait a minute, then retry") from error


def _can_look(account: Row) -> bool:
    scopes = frozenset(account["scopes"] or ())
    adapter = adapter_for(account["platform"])
    return adapter.finder_of(remote_user_id=account["remote_user_id"], scopes=scopes) is not None


def _resolved(session: Session, target: Target, parts: Sequence[PartState]) -> list[PartState]:
    """Clear the marks that nobody has resolved, on a person's word, and return them."""
    unresolved = [part for part in parts if part.unresolved]
    for part in unresolved:
        target_parts.resolve_mark(
            session, target_id=target.id, part_no=part.part_no, clear=True, count_unknown=False
        )
    return unresolved


def _check_not_taken_down(session: Session, target_id: UUID) -> None:
    """What a person took down is not built on: the rest would stand under a post that is gone."""
    taken_down, in_flight = takedowns.touched(session, target_id)
    if in_flight:
        raise refusal(
            "target", target_id, "is being taken down at this moment", "wait, then look at it again"
        )
    if taken_down:
        raise refusal("target", target_id, "was taken down, a part of it at least", "write a new post")


def _not_retryable(target: Target) -> InputRefused:
    """Say why a target isn't sent again, and what to do instead."""
    match target.status:
        case S.UNKNOWN_OUTCOME:
            problem = "may be live, and is being looked for"
            way_out = "wait for the outcome, or mark it published if you see it"
        case S.PUBLISHED:
            problem, way_out = "is published: sending it again would post it twice", "write a new post"
        case S.CANCELLED:
            problem, way_out = "is cancelled", "write a new post"
        case S.PUBLISHING:
            problem, way_out = "is being sent at this moment", "wait for the outcome"
        case S.SCHEDULED | S.RETRY_SCHEDULED:
            problem, way_out = "is going to be sent anyway", "wait, or reschedule it"
        case S.DRAFT | S.INVALID | S.READY:
            problem, way_out = "was never scheduled", "approve its post and schedule it"
        case S.FAILED | S.NEEDS_ATTENTION | S.NEEDS_RECONNECT:
            raise AssertionError(f"{target.status} is retryable")
        case _:
            assert_never(target.status)
    return refusal("target", target.id, problem, way_out)


def _check_sendable(session: Session, target: Target) -> Row:
    """Refuse a retry that the guards would stop at once; returns the account's row.

    The post is only read: it comes before targets in the lock order. An edit that waits for this target's
    lock finds it scheduled then, and makes it a draft again.
    """
    account = account_of(session, target)
    name = f"{account['platform']}:{account['handle']}"
    if account["status"] != "active":
        problem = f"can't be sent: the account {name} {_WHY_NOT_ACTIVE[account['status']]}"
        raise refusal("target", target.id, problem, "connect the account again (account add), then retry")
    post = posts.by_id(session, target.post_id)
    if post is None or post["approved_version_id"] != target.version_id:
        raise refusal("target", target.id, "is not approved as it stands", "approve its post, then retry")
    return account
