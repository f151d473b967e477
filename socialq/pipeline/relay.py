"""Hop 2, relay: one cell's outbox events become rows of the central dispatch index.

Arrives: unrelayed events, in order. Leaves: index rows where their seq is newer, events marked relayed, the
dispatcher woken. What must stay true: rows are read as they stand now, never as an event remembers them, so
relaying twice, late or out of order is harmless; a target that is publishing is left alone, since its settle
says what comes next; an event that can't be relayed is parked with an alarm and blocks no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from socialq.domain.hops import RowsRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from socialq.domain.hops import IndexRow
    from socialq.pipeline.ports import IndexWriter, Outbox

log = structlog.get_logger(__name__)

_BEFORE_EVERY_ID: Final = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """Relays one cell. Any number may run at once."""

    outbox: Outbox
    index: IndexWriter
    batch: int

    def scan(self) -> bool:
        """Relay one batch; True: there may be more right now."""
        events = self.outbox.unrelayed(limit=self.batch)
        if not events:
            return False
        target_ids = list(dict.fromkeys(event.target_id for event in events))
        rows = self.outbox.rows_of(target_ids)
        refused = self._mirror(rows)
        self.outbox.mark_relayed([event.id for event in events if event.target_id not in refused])
        self.index.wake_dispatch()
        log.debug("relayed", events=len(events), targets=len(target_ids), cell=self.outbox.name)
        return len(events) == self.batch

    def rebuild(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Mirror every target's next work anew, in the order of their ids; returns how many rows were read."""
        after, total = _BEFORE_EVERY_ID, 0
        while rows := self.outbox.all_rows(after=after, limit=self.batch):
            self._mirror(rows)
            after, total = rows[-1].target_id, total + len(rows)
            if progress is not None:
                progress(total)
        self.index.wake_dispatch()
        return total

    def _mirror(self, rows: Sequence[IndexRow]) -> set[UUID]:
        """Upsert rows; where the index refuses some, halve until only those are left, and park them."""
        if not rows:
            return set()
        try:
            self.index.upsert(self.outbox.name, rows)
        except RowsRefusedError as error:
            if len(rows) == 1:
                self._park(rows[0], str(error))
                return {rows[0].target_id}
            half = len(rows) // 2
            return self._mirror(rows[:half]) | self._mirror(rows[half:])
        return set()

    def _park(self, row: IndexRow, failure: str) -> None:
        log.error("event_parked", target=str(row.target_id), failure=failure)
        self.outbox.park(row.target_id, failure=failure)
        self.index.alarm(
            key=f"parked:{row.target_id}",
            message=f"target {row.target_id} can't be put into the dispatch index: {failure}",
            tenant_id=row.tenant_id,
        )
