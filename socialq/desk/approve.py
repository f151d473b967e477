"""Approving: a version of a post may go out, and its valid drafts become ready.

A client without an approval workflow, which is every client so far, approves by creating. What must stay
true: only the newest version is approved, with the hash of what was seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.desk.refusals import refusal, unknown
from socialq.desk.tenants import cell_of
from socialq.domain.states import TargetStatus
from socialq.domain.targets import Move
from socialq.store.cell import approvals, many_targets, post_targets, post_versions, posts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.desk.compose import Composed
    from socialq.domain.targets import Target
    from socialq.store.sessions import Session
    from socialq.store.stores import Stores

_READY = Move(to=TargetStatus.READY, event="target.approved")


def approve(
    stores: Stores, *, tenant: UUID, post_id: UUID, version_id: UUID, approved_by: str
) -> list[Target]:
    """Approve a version, which must be the newest; returns the targets that became ready."""
    with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=approved_by) as session:
        return approve_within(session, post_id=post_id, version_id=version_id, approved_by=approved_by)


def approve_within(session: Session, *, post_id: UUID, version_id: UUID, approved_by: str) -> list[Target]:
    """Approve a version as part of the caller's transaction. Approving it twice changes nothing."""
    post = posts.lock(session, post_id)
    if post is None:
        raise unknown("post", post_id, what="post")
    targets = post_targets.lock_of_post(session, post_id)
    newest = post_versions.latest(session, post_id)
    if newest is None or newest["id"] != version_id:
        problem = "is not the newest version of the post"
        raise refusal("version", version_id, problem, "look at the newest version and approve that")
    record = {
        "version_id": version_id,
        "client_id": post["client_id"],
        "content_hash": newest["content_hash"],
    }
    approvals.insert(session, [record], tenant_id=post["tenant_id"], approved_by=approved_by)
    posts.approve(session, {post_id: version_id})
    drafts = [
        target
        for target in targets
        if target.status is TargetStatus.DRAFT and target.version_id == version_id
    ]
    return many_targets.apply(session, [(target, _READY) for target in drafts])


def approve_new(
    session: Session, composed: Sequence[Composed], *, tenant: UUID, approved_by: str
) -> list[Target]:
    """Approve posts that this transaction has just written: nobody else sees them, so nothing is locked."""
    records = [
        {"version_id": post.version_id, "client_id": post.client_id, "content_hash": post.content_hash}
        for post in composed
    ]
    approvals.insert(session, records, tenant_id=tenant, approved_by=approved_by)
    posts.approve(session, {post.post_id: post.version_id for post in composed})
    return many_targets.apply(session, [(target, _READY) for post in composed for target in post.targets])
