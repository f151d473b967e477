"""Hop 2, relay: one cell's outbox events become rows of the central dispatch index.

Arrives: unrelayed events, in order. Leaves: index rows where their seq is newer, events marked relayed, the
dispatcher woken. What must stay true: rows are read as they stand now, never as an event remembers them, so
relaying twice, late or out of order is harmless; a target that is publishing is left alone, since its settle
says what comes next; an event that can't be relayed is parked with an alarm and blocks no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from socialq.domain.hops import RowsRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from socialq.domain.hops import IndexRow
    from socialq.pipeline.ports import IndexWriter, Outbox

log = structlog.get_logger(__name__)


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
        refused = self._mirror(rows, self.index.upsert)
        self.outbox.mark_relayed([event.id for event in events if event.target_id not in refused])
        self.index.wake_dispatch()
        log.debug("relayed", events=len(events), targets=len(target_ids), cell=self.outbox.name)
        return len(events) == self.batch

    def rebuild(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Mirror every target's next work anew, what is due first first; returns how many rows were read.

        Then rows that are one too many go. Nothing is taken away before what is right stands there, so posts go
        out all the while, and what moves meanwhile is mirrored by its own event.
        """
        after, total = None, 0
        while rows := self.outbox.all_rows(after=after, limit=self.batch):
            self._mirror(rows, self.index.mirror_anew)
            after, total = [row for row in rows if row.lane == "main"][-1], total + len(rows)
            if progress is not None:
                progress(total)
        self._drop_extra()
        self.index.wake_dispatch()
        return total

    def _drop_extra(self) -> None:
        """Delete rows whose target is not there, or is behind its row; finish those without next work.

        The index is read before the cell, which is the truth and only moves on: a row that is ahead of its target
        is wrong, whatever happens at the same time.
        """
        after = None
        while seen := self.index.rows_of_cell(self.outbox.name, after=after, limit=self.batch):
            ids = list(dict.fromkeys(row.target_id for row in seen))
            rows = self.outbox.rows_of(ids)
            seqs = {(row.target_id, row.lane): row.seq for row in rows}
            known = self.outbox.known_ids(ids)
            extra = [
                row
                for row in seen
                if row.target_id not in known or seqs.get((row.target_id, row.lane), row.seq) < row.seq
            ]
            if extra:
                log.warning("index_rows_dropped", rows=self.index.delete_seen(extra), cell=self.outbox.name)
            self._mirror(rows, self.index.upsert)
            after = seen[-1]

    def _mirror(self, rows: Sequence[IndexRow], write: Callable[[str, Sequence[IndexRow]], int]) -> set[UUID]:
        """Write rows; where the index refuses some, halve until only those are left, and park them."""
        if not rows:
            return set()
        try:
            write(self.outbox.name, rows)
        except RowsRefusedError as error:
            if len(rows) == 1:
                self._park(rows[0], str(error))
                return {rows[0].target_id}
            half = len(rows) // 2
            return self._mirror(rows[:half], write) | self._mirror(rows[half:], write)
        return set()

    def _park(self, row: IndexRow, failure: str) -> None:
        log.error("event_parked", target=str(row.target_id), failure=failure)
        self.outbox.park(row.target_id, failure=failure)
        self.index.alarm(
            key=f"parked:{row.target_id}",
            message=(
                f"target {row.target_id} can't be put into the dispatch index ({failure}): it does not go out until"
                " that is mended and `socialq outbox unpark` lets it be tried again"
            ),
            tenant_id=row.tenant_id,
        )
