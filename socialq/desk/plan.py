"""Creating a post with its time, in one transaction: written, approved, scheduled, or not there at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from socialq.desk.approve import approve_new
from socialq.desk.compose import Composed, check, write_all
from socialq.desk.content import NOBODY, NONE_OWN
from socialq.desk.schedule import Slot, set_times, slot_of
from socialq.desk.tenants import cell_of
from socialq.desk.wake import wake_relay
from socialq.providers.registry import adapter_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.desk.compose import Draft
    from socialq.desk.content import OwnOptions, OwnParts, PartInput
    from socialq.domain.local_time import Resolved
    from socialq.providers.base import Adapter
    from socialq.store.sessions import Session
    from socialq.store.stores import Stores


def plan_post(
    stores: Stores,
    *,
    tenant: UUID,
    client: UUID,
    account_ids: Sequence[UUID],
    parts: Sequence[PartInput],
    first_comment: str | None = None,
    own: OwnParts = NOBODY,
    own_options: OwnOptions = NONE_OWN,
    options: Mapping[str, Any] | None = None,
    labels: Sequence[str] = (),
    resolved: Resolved,
    now: datetime,
    grace_minutes: float = 15.0,
    publish_by_hours: float = 24.0,
    actor: str,
    adapter_of: Callable[[str], Adapter] = adapter_for,
) -> Composed:
    """Create, approve and schedule a post for a client without an approval workflow; see `compose.create_post`.

    Raises `InputRefused` with every problem; then nothing was written. The relay is woken if it is due soon.
    """
    slot = slot_of(resolved, now=now, grace_minutes=grace_minutes, publish_by_hours=publish_by_hours)
    cell = cell_of(stores, tenant)
    with cell.app.transaction(tenant=tenant, actor=actor) as session:
        draft = check(
            session,
            client=client,
            account_ids=account_ids,
            parts=parts,
            first_comment=first_comment,
            own=own,
            own_options=own_options,
            options=options or {},
            labels=labels,
            adapter_of=adapter_of,
        )
        (composed,) = plan_all(session, [(draft, slot)], tenant=tenant, actor=actor)
    wake_relay(cell, composed.targets, now=now)
    return composed


def plan_all(
    session: Session, drafts: Sequence[tuple[Draft, Slot]], *, tenant: UUID, actor: str
) -> list[Composed]:
    """Write, approve and schedule checked posts as part of the caller's transaction, set by set."""
    written = write_all(session, [draft for draft, _ in drafts], tenant=tenant, actor=actor)
    ready = approve_new(session, written, tenant=tenant, approved_by=actor)
    slots = {post.post_id: slot for post, (_, slot) in zip(written, drafts, strict=True)}
    planned = set_times(
        session, [(target, slots[target.post_id]) for target in ready], tenant=tenant, actor=actor
    )
    now_is = {target.id: target for target in planned}
    return [
        Composed(
            post_id=post.post_id,
            version_id=post.version_id,
            client_id=post.client_id,
            content_hash=post.content_hash,
            targets=tuple(now_is[target.id] for target in post.targets),
        )
        for post in written
    ]
