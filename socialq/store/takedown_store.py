"""Takedowns on the cells' databases. Implements `socialq.pipeline.takedown.Takedowns`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from socialq.domain.ids import new_id
from socialq.store.cell import post_targets, takedowns
from socialq.store.central import alarms

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.domain.outcomes import Evidence
    from socialq.domain.targets import Move, Target
    from socialq.store.sessions import Database
    from socialq.store.stores import Stores


class PostgresTakedowns:
    """Each method is one transaction of its own."""

    def __init__(self, stores: Stores, *, life_seconds: float = 120.0) -> None:
        """Use `stores`; a try that nobody ended for `life_seconds` counts as lost."""
        self._stores = stores
        self._life_seconds = life_seconds

    def live(self, target: Target) -> list[tuple[int, str]]:
        """Read what is live of a target: part and remote id, the last part first."""
        with self._app(target).transaction(tenant=target.tenant_id) as session:
            return [(row["part_no"], row["remote_id"]) for row in takedowns.live(session, target.id)]

    def begin(
        self, target: Target, *, part_no: int, remote_id: str, asked_by: str, reason: str
    ) -> UUID | None:
        """Commit a try before the platform is asked; None: another one is under way, or the target has changed."""
        values: dict[str, Any] = {
            "tenant_id": target.tenant_id,
            "id": new_id(),
            "target_id": target.id,
            "part_no": part_no,
            "remote_id": remote_id,
            "asked_by": asked_by,
            "reason": reason,
        }
        with self._app(target).transaction(tenant=target.tenant_id, actor=asked_by) as session:
            locked = post_targets.lock(session, target.id)
            # Somebody moved it since it was read: a part may be on its way under the one that would go.
            unchanged = locked is not None and (locked.seq, locked.status) == (target.seq, target.status)
            begun = unchanged and takedowns.begin(session, values, life_seconds=self._life_seconds)
        return values["id"] if begun else None

    def end(self, target: Target, takedown_id: UUID, *, state: str, evidence: Evidence) -> None:
        """Record how a try ended."""
        with self._app(target).transaction(tenant=target.tenant_id) as session:
            takedowns.end(session, takedown_id, state=state, evidence=evidence)

    def tell(self, target: Target, move: Move, *, actor: str) -> bool:
        """Record in the target's history what was taken down; False where its row has changed meanwhile."""
        with self._app(target).transaction(tenant=target.tenant_id, actor=actor) as session:
            moved = post_targets.apply(session, target, move)
            left = [row["part_no"] for row in takedowns.live(session, target.id)]
        if moved is not None and len(left) == len(set(left)):
            # No part is there twice any more.
            alarms.clear(self._stores.central, key=f"target:{target.id}")
        return moved is not None

    def _app(self, target: Target) -> Database:
        return self._stores.cell_of(target.tenant_id).app
