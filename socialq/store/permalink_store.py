"""The addresses of live parts on the cells' databases. Implements `socialq.pipeline.permalinks.Links`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.store.cell import permalinks

if TYPE_CHECKING:
    from socialq.domain.targets import Target
    from socialq.store.stores import Stores


class PostgresLinks:
    """Each method is one transaction of its own."""

    def __init__(self, stores: Stores) -> None:
        """Use `stores`."""
        self._stores = stores

    def missing(self, target: Target) -> list[tuple[int, str]]:
        """List the live parts of a published target without an address: number and remote id."""
        app = self._stores.cell_of(target.tenant_id).app
        [rows] = app.pipelined(permalinks.missing(target.id), tenant=target.tenant_id)
        return [(row["part_no"], row["remote_id"]) for row in rows]

    def keep(self, target: Target, part_no: int, permalink: str) -> None:
        """Store an address; one that is there is never replaced."""
        app = self._stores.cell_of(target.tenant_id).app
        app.pipelined(permalinks.keep(target.id, part_no, permalink), tenant=target.tenant_id)

    def note_tried(self, target: Target, part_no: int) -> None:
        """Count a question that told nothing."""
        app = self._stores.cell_of(target.tenant_id).app
        app.pipelined(permalinks.tried(target.id, part_no), tenant=target.tenant_id)
