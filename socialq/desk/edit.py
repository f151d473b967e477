"""Editing: a new version of a post, and its targets that have not gone out become drafts of it.

What must stay true: the approval lapses with the content it was given for; nothing is edited under a worker's
hands, nor where a part is live or may be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from socialq.desk.compose import check, version_row
from socialq.desk.content import NOBODY, NONE_OWN
from socialq.desk.outgoing import same_for
from socialq.desk.refusals import refusal, unknown
from socialq.desk.tenants import cell_of
from socialq.domain.contents import parts_of
from socialq.domain.ids import new_id
from socialq.domain.keys import content_hash
from socialq.domain.states import TERMINAL, TargetStatus
from socialq.domain.targets import Move
from socialq.providers.registry import adapter_for
from socialq.store.cell import many_targets, post_targets, post_versions, posts, target_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from socialq.desk.content import Content, OwnOptions, OwnParts, PartInput
    from socialq.domain.targets import Target
    from socialq.providers.base import Adapter
    from socialq.store.sessions import Session
    from socialq.store.stores import Stores

_IN_FLIGHT = frozenset({TargetStatus.PUBLISHING, TargetStatus.UNKNOWN_OUTCOME})


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The new version, and the targets that are drafts of it now."""

    version_id: UUID
    number: int
    targets: tuple[Target, ...]


def edit_post(
    stores: Stores,
    *,
    tenant: UUID,
    post_id: UUID,
    parts: Sequence[PartInput],
    first_comment: str | None = None,
    own: OwnParts = NOBODY,
    own_options: OwnOptions = NONE_OWN,
    options: Mapping[str, Any] | None = None,
    actor: str,
    adapter_of: Callable[[str], Adapter] = adapter_for,
) -> Edited:
    """Give a post new content, all of it: what is left out is gone. The same changes nothing, approval included.

    What is said of accounts on which it is over already (published, cancelled) is passed over.
    """
    with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
        post = posts.lock(session, post_id)
        newest = post_versions.latest(session, post_id)
        if post is None or newest is None:
            raise unknown("post", post_id, what="post")
        targets, over = _editable(session, post_id)
        draft = check(
            session,
            client=post["client_id"],
            account_ids=[target.account_id for target in targets],
            parts=parts,
            first_comment=first_comment,
            own={of: parts for of, parts in own.items() if of not in over},
            own_options={of: chosen for of, chosen in own_options.items() if of not in over},
            options=options or {},
            adapter_of=adapter_of,
        )
        concerned = [target.account_id for target in targets]
        if draft.content.hash == content_hash(same_for(newest["content"], concerned)):
            return Edited(version_id=newest["id"], number=newest["number"], targets=())
        for target in targets:
            _refuse_fewer(draft.content, target, before=newest["content"])
        version_id, number = new_id(), newest["number"] + 1
        row = version_row(
            draft.content, tenant=tenant, post_id=post_id, version_id=version_id, actor=actor, number=number
        )
        post_versions.insert(session, [row])
        posts.withdraw_approval(session, post_id)
        moved = _drafts_of(session, targets, version_id, content=draft.content, tenant=tenant)
    return Edited(version_id=version_id, number=number, targets=tuple(moved))


def _refuse_fewer(content: Content, target: Target, *, before: Mapping[str, Any]) -> None:
    """A part that was there stays: what is known of it must not be lost."""
    had = len(parts_of(before, target.account_id))
    if content.part_count(target.account_id) < had:
        problem = f"has fewer parts than before ({had})"
        raise refusal("text", "", problem, "cancel this post and write a new one")


def _editable(session: Session, post_id: UUID) -> tuple[list[Target], frozenset[UUID]]:
    """Lock the post's targets; return those that an edit changes and the accounts of the others, or refuse it."""
    targets = post_targets.lock_of_post(session, post_id)
    open_targets = [target for target in targets if target.status not in TERMINAL]
    over = {target.account_id for target in targets} - {target.account_id for target in open_targets}
    if not open_targets:
        raise refusal("post", post_id, "has nothing left that could be edited", "write a new post")
    for target in open_targets:
        if target.status in _IN_FLIGHT:
            problem = f"is being sent now (target {target.id})"
            raise refusal("post", post_id, problem, "wait for the outcome, then edit it")
        parts = target_parts.full_parts(session, target.id)
        if any(part.live for part in parts):
            problem = f"is partly live (target {target.id})"
            raise refusal("post", post_id, problem, "retry or cancel that target first")
        if any(part.unresolved for part in parts):
            problem = f"may be live (target {target.id})"
            raise refusal("post", post_id, problem, "retry, cancel or mark that target published first")
    return open_targets, frozenset(over)


def _drafts_of(
    session: Session, targets: Sequence[Target], version_id: UUID, *, content: Content, tenant: UUID
) -> list[Target]:
    """Make the targets drafts of the new version, without a time, a key or a history of tries."""
    many_targets.start_anew(session, [target.id for target in targets])
    counts = {target.id: content.part_count(target.account_id) for target in targets}
    many_targets.add_parts(session, counts, tenant_id=tenant)
    move = Move(
        to=TargetStatus.DRAFT,
        reason="edited",
        changes={
            "version_id": version_id,
            "publish_at": None,
            "publish_by": None,
            "key_instant": None,
            "tries_spent": 0,
            "cancel_requested": False,
            "lost_at": None,
            "looks_done": 0,
            "looks_failed": 0,
        },
        event="target.edited",
    )
    moved = [post_targets.apply(session, target, move) for target in targets]
    return [target for target in moved if target is not None]
