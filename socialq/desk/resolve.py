"""Deciding: a person retries, cancels, or marks as published one target.

Arrives: a target's id and what the person wants. Leaves: the move, committed with its outbox event, or a
refusal that says what to do instead. What must stay true: a target in flight is never taken from its worker;
what may be live is sent again only because a person decided so, and the history says it.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NoReturn, Protocol, assert_never

from psycopg.errors import UniqueViolation

from socialq.desk.links import FIELD as LINK_FIELD
from socialq.desk.links import RemotePost, remote_post
from socialq.desk.refusals import no_target, refusal
from socialq.desk.tenants import cell_of
from socialq.desk.wake import wake_relay
from socialq.domain import sent_again
from socialq.domain.keys import publication_key
from socialq.domain.outcomes import CannotTell, NotStanding, Standing
from socialq.domain.states import CANCELLABLE, RETRYABLE, TargetStatus
from socialq.domain.targets import Move
from socialq.providers.registry import UnknownPlatform, adapter_for
from socialq.store.cell import accounts, post_targets, posts, settlements, takedowns, target_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.errors import InputRefused
    from socialq.domain.outcomes import Reading
    from socialq.domain.targets import PartState, Target
    from socialq.store.sessions import Row, Session
    from socialq.store.stores import Stores

S = TargetStatus

_LONGEST_REASON: Final = 500

_NEVER_SENT: Final = frozenset({S.DRAFT, S.INVALID, S.READY, S.SCHEDULED})
"""Without an attempt nothing of these can be on the platform: marking one would lose a post that never went out."""


class CancelResult(StrEnum):
    """What cancelling came to."""

    CANCELLED = "cancelled"
    """Nothing of it will be sent."""
    REQUESTED = "requested"
    """It is in flight: it is cancelled if it turns out not to have gone out."""


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
        moved = _applied(post_targets.apply(session, target, move))
    wake_relay(cell, [moved], now=now)
    return moved


def cancel(stores: Stores, *, tenant: UUID, target_id: UUID, reason: str, actor: str) -> CancelResult:
    """Withdraw a target, or, while it is in flight, note that it is to be withdrawn if it hasn't gone out."""
    why = reason.strip()[:_LONGEST_REASON]
    with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
        target = post_targets.lock(session, target_id)
        if target is None:
            raise no_target(target_id)
        if target.status in CANCELLABLE:
            parts = target_parts.full_parts(session, target_id)
            move = Move(
                to=S.CANCELLED,
                reason="cancelled",
                detail=_cancel_detail(why, parts),
                event="target.cancelled",
            )
            _applied(post_targets.apply(session, target, move))
            return CancelResult.CANCELLED
        match target.status:
            case S.PUBLISHING | S.UNKNOWN_OUTCOME:
                post_targets.request_cancel(session, target_id, reason=why or "cancel requested")
                return CancelResult.REQUESTED
            case S.PUBLISHED:
                problem = "is published, and can't be called back"
                raise refusal("target", target_id, problem, "take it down: `socialq target take-down`")
            case S.CANCELLED:
                raise refusal("target", target_id, "is cancelled already", "nothing is left to do")
            case S.INVALID:
                problem = "was never accepted for sending"
                raise refusal("target", target_id, problem, "edit its post, or leave it")
            case _:
                raise AssertionError(f"{target.status} is cancellable")


class Reader(Protocol):
    """Asks platforms for single posts."""

    def read(self, *, tenant_id: UUID, target_id: UUID, remote_id: str) -> Reading:
        """Say whether a post is there, and of the target's account."""


def mark_published(
    stores: Stores,
    *,
    tenant: UUID,
    target_id: UUID,
    link_or_id: str,
    now: datetime,
    actor: str,
    reader: Reader | None = None,
) -> Target:
    """Record that a target is live, on a person's word: with the link or id of its first part.

    The platform is asked by `reader`, between two transactions: what is not there, or another's, is refused. What
    can't be read is taken on the person's word, as all is without a reader, and `detail` says so. Of a thread only
    that part is recorded as seen; `detail` says that the others were not checked.
    """
    app = cell_of(stores, tenant).app
    with app.transaction(tenant=tenant, actor=actor) as session:
        _, post = _markable(session, target_id, link_or_id)
    not_verified = "" if reader is None else _not_verified(reader, tenant, target_id, post)
    with app.transaction(tenant=tenant, actor=actor) as session:
        # The target may have moved while the platform was asked: everything is checked again.
        target, post = _markable(session, target_id, link_or_id)
        parts = target_parts.full_parts(session, target_id)
        first = _record_first_part(session, target, parts[0], post, now=now)
        said = f"marked as published by {actor}{not_verified}"
        moved = _applied(
            post_targets.apply(session, target, _published_move(target, parts, now=now, said=said))
        )
        key = publication_key(moved.id, moved.key_instant or now, moved.version_id)
        settlements.publish(session, target=moved, publication_key=key, first=first)
    return moved


def _markable(session: Session, target_id: UUID, link_or_id: str) -> tuple[Target, RemotePost]:
    """Lock a target that may be marked as published, and read which post of its account is meant."""
    target = post_targets.lock(session, target_id)
    if target is None:
        raise no_target(target_id)
    if target.status is S.PUBLISHED:
        raise refusal("target", target_id, "is published already", "nothing is left to do")
    if target.status is S.PUBLISHING:
        problem = "is being sent at this moment"
        raise refusal("target", target_id, problem, "wait for the outcome, then look again")
    if target.status in _NEVER_SENT and target.attempt_count == 0:
        problem = "was never sent, so it can't be live by us"
        raise refusal("target", target_id, problem, "cancel it if its post is live by another way")
    return target, _named_post(link_or_id, _account_of(session, target))


def _not_verified(reader: Reader, tenant: UUID, target_id: UUID, post: RemotePost) -> str:
    """Ask the platform for a post: raises where it is not the account's, returns why it could not be read."""
    reading = reader.read(tenant_id=tenant, target_id=target_id, remote_id=post.remote_id)
    match reading:
        case Standing():
            return ""
        case NotStanding(problem=problem):
            way_out = (
                "open the post on the account's page and give its link; if it is new, try again in a minute"
            )
            raise refusal(LINK_FIELD, post.permalink or post.remote_id, problem, way_out)
        case CannotTell(failure=failure):
            evidence = failure.evidence
            return f"; not verified: {evidence.message or evidence.code}"
        case _:
            assert_never(reading)


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
    account = _account_of(session, target)
    name = f"{account['platform']}:{account['handle']}"
    if account["status"] != "active":
        problem = f"can't be sent: the account {name} {_WHY_NOT_ACTIVE[account['status']]}"
        raise refusal("target", target.id, problem, "connect the account again (account add), then retry")
    post = posts.by_id(session, target.post_id)
    if post is None or post["approved_version_id"] != target.version_id:
        raise refusal("target", target.id, "is not approved as it stands", "approve its post, then retry")
    return account


_WHY_NOT_ACTIVE: Final = {
    "needs_reconnect": "needs to be connected again",
    "disabled": "is disabled",
}


def _cancel_detail(why: str, parts: Sequence[PartState]) -> str | None:
    live = sum(part.live for part in parts)
    said = [why] if why else []
    if live:
        said.append(f"{live} of {len(parts)} parts are live already and stay")
    elif any(part.unresolved for part in parts):
        said.append("it may be live: the answer to its request was lost")
    return "; ".join(said) or None


def _record_first_part(
    session: Session, target: Target, part: PartState, post: RemotePost, *, now: datetime
) -> PartState:
    if part.remote_id is not None and part.remote_id != post.remote_id:
        problem = f"is not the post that was seen: part 1 is live as {part.permalink or part.remote_id}"
        raise refusal(LINK_FIELD, post.permalink or post.remote_id, problem, "give that one")
    if not settlements.see(session, target=target, part_no=1, remote_id=post.remote_id, source="person"):
        problem = "belongs to another post that went out from here"
        raise refusal(LINK_FIELD, post.permalink or post.remote_id, problem, "give this post's own link")
    target_parts.accept(
        session,
        target_id=target.id,
        part_no=1,
        remote_id=post.remote_id,
        permalink=post.permalink,
        remote_ref={},
        accepted_at=now,
    )
    return next(found for found in target_parts.full_parts(session, target.id) if found.part_no == 1)


def _published_move(target: Target, parts: Sequence[PartState], *, now: datetime, said: str) -> Move:
    unseen = [part.part_no for part in parts if part.part_no > 1 and not part.live]
    detail = said
    if unseen:
        numbers = ", ".join(str(number) for number in unseen)
        detail += f"; part {numbers} of {len(parts)} was not checked"
    return Move(
        to=S.PUBLISHED,
        reason="marked_published",
        detail=detail,
        changes={"published_at": now, "key_instant": target.key_instant or target.publish_at or now},
        event="target.published",
    )


def _account_of(session: Session, target: Target) -> Row:
    (account,) = accounts.by_ids(session, [target.account_id])
    return account


def _named_post(link_or_id: str, account: Row) -> RemotePost:
    try:
        adapter = adapter_for(account["platform"])
        forms, naming = adapter.post_forms, adapter.post_naming
    except UnknownPlatform:
        forms, naming = (), ""
    return remote_post(
        link_or_id,
        base_url=account["base_url"],
        handle=account["handle"],
        remote_user_id=account["remote_user_id"],
        forms=forms,
        naming=naming,
    )


def _applied(moved: Target | None) -> Target:
    """Return the moved target; its row was locked, so nobody can have changed it."""
    if moved is None:
        _lost()
    return moved


def _lost() -> NoReturn:
    raise AssertionError("a locked target changed under its lock")
