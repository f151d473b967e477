"""A cell in memory as relay and sweep see it: what `MachineCell` does, with the same conditions.

Implements `Outbox` and `Overdue` of `socialq.pipeline.ports`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from socialq.domain.hops import Event, IndexRow
from socialq.domain.states import CLAIMABLE, TargetStatus
from tests.simulation.cell import settled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.outcomes import Evidence
    from socialq.domain.settlement import Decision
    from socialq.domain.targets import PartState, Target
    from socialq.domain.work import Settled
    from tests.simulation.cell import Cell

    Decide = Callable[[Target, Sequence[PartState], datetime], Decision]

S = TargetStatus
_LOST_A_WHILE_AGO: Final = timedelta(seconds=10)
_PAST_THE_LEASE: Final = timedelta(seconds=1)


@dataclass(frozen=True)
class Machine:
    """The machine role's view of a cell."""

    cell: Cell

    @property
    def name(self) -> str:
        return self.cell.name

    def unrelayed(self, *, limit: int) -> list[Event]:
        return self.cell.events[:limit]

    def rows_of(self, target_ids: Sequence[UUID]) -> list[IndexRow]:
        rows = [self.cell.targets[target_id] for target_id in target_ids]
        return [index_row(row) for row in rows if row.status is not S.PUBLISHING]

    def mark_relayed(self, event_ids: Sequence[int]) -> None:
        gone = set(event_ids)
        self.cell.events = [event for event in self.cell.events if event.id not in gone]

    def ended_leases(self, *, limit: int) -> list[Target]:
        over = self.cell.now() - _PAST_THE_LEASE
        ended = [
            row
            for row in self.cell.targets.values()
            if row.status is S.PUBLISHING and row.lease_until is not None and row.lease_until < over
        ]
        return ended[:limit]

    def past_publish_by(self, *, limit: int) -> list[Target]:
        now = self.cell.now()
        late = [
            row
            for row in self.cell.targets.values()
            if row.status in CLAIMABLE and row.publish_by is not None and row.publish_by <= now
        ]
        return late[:limit]

    def overdue_rows(self, *, after: IndexRow | None, limit: int) -> list[IndexRow]:
        del limit
        before = self.cell.now() - _LOST_A_WHILE_AGO
        rows = [
            index_row(row)
            for row in self.cell.targets.values()
            if row.next_kind is not None
            and row.next_at is not None
            and row.next_at < before
            and row.status is not S.PUBLISHING
        ]
        return rows if after is None else []

    def settle(self, target: Target, decide: Decide, *, evidence: Evidence) -> Settled | None:
        """`MachineCell.settle`."""
        del evidence
        row, parts = self.cell.targets[target.id], self.cell.parts[target.id]
        unchanged = (row.seq, row.status, row.lease_token, row.lease_until) == (
            target.seq,
            target.status,
            target.lease_token,
            target.lease_until,
        )
        if self.cell.asks("sweep: as read") and not unchanged:
            return None
        decision = decide(row, parts, self.cell.now())
        part = next((part for part in parts if not part.live), parts[-1])
        moved = self.cell.decided(row, part.part_no, decision, by_machine=True)
        if moved is None:
            return None
        if row.lease_token is not None:
            self.cell.attempts[row.id, row.attempt_count] = decision.attempt_state
        return settled(moved, decision.alarm)


def index_row(row: Target) -> IndexRow:
    """A target's next work as the relay reads it."""
    return IndexRow(
        target_id=row.id,
        tenant_id=row.tenant_id,
        account_id=row.account_id,
        platform=row.platform,
        provider_app_id=None,
        seq=row.seq,
        kind=row.next_kind,
        due_at=row.next_at,
        publish_by=row.publish_by,
    )
