"""The prepare lane on PostgreSQL. Implements `socialq.pipeline.ports.Prepares`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from socialq.store.cell import prepares
from socialq.store.patience import reaching_cell

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.targets import Target
    from socialq.store.sessions import Row, Statement
    from socialq.store.stores import Stores

_ACTOR: Final = "prepare"


class PostgresPrepares:
    """Leases and results of the prepare lane, each step one round trip."""

    def __init__(self, stores: Stores) -> None:
        """Use the tenants' cells."""
        self._stores = stores

    def take(self, target: Target, *, token: UUID, lease_seconds: float) -> int | datetime | None:
        """Take the lease; returns the tries so far, or until when another one has it, or None."""
        rows = self._run(
            target,
            prepares.take(target_id=target.id, seq=target.seq, token=token, lease_seconds=lease_seconds),
        )
        if rows:
            return int(rows[0]["prepare_tries"])
        busy = self._run(target, prepares.busy_until(target_id=target.id, seq=target.seq))
        return cast("datetime", busy[0]["prepare_until"]) if busy else None

    def store(
        self, target: Target, *, token: UUID, part_no: int, result: Mapping[str, Any], lease_seconds: float
    ) -> bool:
        """Keep a step's result."""
        statement = prepares.store(
            target_id=target.id,
            version_id=target.version_id,
            token=token,
            part_no=part_no,
            result=result,
            lease_seconds=lease_seconds,
        )
        return bool(self._run(target, statement))

    def end(self, target: Target, *, token: UUID, again_at: datetime | None) -> bool:
        """End the lease: done, or again at a time."""
        statement = prepares.end(
            target_id=target.id, version_id=target.version_id, token=token, again_at=again_at
        )
        return bool(self._run(target, statement))

    def _run(self, target: Target, statement: Statement) -> list[Row]:
        app = self._stores.cell_of(target.tenant_id).app
        with reaching_cell():
            [rows] = app.pipelined(statement, tenant=target.tenant_id, actor=_ACTOR)
        return rows
