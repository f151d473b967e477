"""Late evidence on the central database. Implements `socialq.pipeline.ports.EvidenceStore`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from socialq.domain.hops import LateEvidence
from socialq.store.central import late_evidence
from socialq.store.patience import with_patience

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.store.sessions import Row
    from socialq.store.stores import Stores

_PATIENCE_SECONDS: Final = 60.0


class PostgresEvidence:
    """Keeps acceptances centrally while their cell is away."""

    def __init__(self, stores: Stores) -> None:
        """Use the central database of `stores`."""
        self._stores = stores

    def keep(self, evidence: LateEvidence) -> None:
        """Keep one; tried for a while, since this is the only place that knows."""
        cell = self._stores.cell_name_of(evidence.tenant_id)

        def step() -> None:
            with self._stores.central.transaction(actor="worker") as session:
                late_evidence.keep(session, evidence, cell=cell)

        with_patience(step, seconds=_PATIENCE_SECONDS)

    def of_target(self, target_id: UUID) -> list[LateEvidence]:
        """Read what waits for one target."""
        with self._stores.central.transaction(actor="worker") as session:
            return [_evidence_of(row) for row in late_evidence.of_target(session, target_id)]

    def of_cell(self, cell: str, *, limit: int) -> list[LateEvidence]:
        """Read what waits for a cell."""
        with self._stores.central.transaction(actor="sweep") as session:
            return [_evidence_of(row) for row in late_evidence.of_cell(session, cell, limit=limit)]

    def mark_applied(self, evidence: Sequence[LateEvidence]) -> None:
        """Note that these are recorded."""
        with self._stores.central.transaction(actor="worker") as session:
            late_evidence.mark_applied(session, [one.id for one in evidence])


def _evidence_of(row: Row) -> LateEvidence:
    return LateEvidence(**{name: value for name, value in row.items() if name != "cell"})
