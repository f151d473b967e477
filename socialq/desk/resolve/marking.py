"""Marking as published: a person says that a target is live, and the platform is asked about it.

A link or an id arrives; the published target, or a refusal, leaves. What must stay true: no post is recorded that
another target owns or that the platform says is another account's; no transaction is open while it is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, assert_never

from socialq.desk.links import FIELD as LINK_FIELD
from socialq.desk.links import RemotePost, remote_post
from socialq.desk.refusals import no_target, refusal
from socialq.desk.resolve.locked import account_of, applied
from socialq.desk.tenants import cell_of
from socialq.domain.by_hand import NEVER_SENT, published_move
from socialq.domain.keys import publication_key
from socialq.domain.outcomes import CannotTell, NotStanding, Standing
from socialq.domain.states import TargetStatus
from socialq.providers.registry import UnknownPlatform, adapter_for
from socialq.store.cell import post_targets, settlements, target_parts

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.outcomes import Reading
    from socialq.domain.targets import PartState, Target
    from socialq.store.sessions import Row, Session
    from socialq.store.stores import Stores

S = TargetStatus


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
        moved = applied(
            post_targets.apply(session, target, published_move(target, parts, now=now, said=said))
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
    if target.status in NEVER_SENT and target.attempt_count == 0:
        problem = "was never sent, so it can't be live by us"
        raise refusal("target", target_id, problem, "cancel it if its post is live by another way")
    return target, _named_post(link_or_id, account_of(session, target))


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
