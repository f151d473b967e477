"""Prune: takes out what is over, so that hot tables stay small.

Arrives: time, a few times an hour. Leaves: no index rows that were done long ago, no outbox events that were
relayed long ago, no deliveries to webhooks that ended long ago, no heartbeats of workers that are gone. What must
stay true: nothing goes that anybody may still need, since pending, enqueued, waiting and parked rows stay whatever
their age, and a target that moves again brings its index row back from the cell; each batch is a short transaction
of its own; a run ends in time, and the next one goes on; a cell that can't be reached keeps no other from being
pruned.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from socialq.store.cell import outbox_events, webhooks
from socialq.store.central import consents, dispatch_index, heartbeats, troubles
from socialq.store.patience import PASSING

if TYPE_CHECKING:
    from socialq.store.stores import Stores

log = structlog.get_logger(__name__)

_WORKERS_GONE_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prune:
    """Prunes the central database and every cell. Any number may run at once."""

    stores: Stores
    done_days: float
    """How long index rows are kept once they are done."""
    outbox_days: float
    """How long events are kept once they are relayed."""
    deliveries_days: float
    """How long deliveries to webhooks are kept once they ended."""
    batch: int = 2000
    run_seconds: float = 30.0
    """No new batch begins after this; what is left is the next run's."""

    def prune(self) -> dict[str, int]:
        """Prune for a while; returns how many rows went, by kind."""
        ends_at = time.monotonic() + self.run_seconds
        pruned = {"index_rows": self._index(ends_at), "outbox_events": 0, "deliveries": 0}
        for cell in self.stores.cell_names():
            try:
                pruned["outbox_events"] += self._outbox(cell, ends_at)
                pruned["deliveries"] += self._deliveries(cell, ends_at)
            except PASSING as error:
                log.warning("prune_missed", cell=cell, error=type(error).__name__)
        with self.stores.central.transaction(actor="prune") as session:
            pruned["heartbeats"] = heartbeats.forget_workers(session, after_seconds=_WORKERS_GONE_SECONDS)
            pruned["consents"] = consents.prune(session)
            pruned["troubles"] = troubles.prune(session)
        if any(pruned.values()):
            log.info("pruned", **pruned)
        return pruned

    def _index(self, ends_at: float) -> int:
        total = 0
        while time.monotonic() < ends_at:
            with self.stores.central.transaction(actor="prune") as session:
                gone = dispatch_index.prune_done(session, days=self.done_days, limit=self.batch)
            total += gone
            if gone < self.batch:
                break
        return total

    def _outbox(self, cell: str, ends_at: float) -> int:
        """Walk the oldest events, page by page, as long as pages hold something old."""
        machine = self.stores.cell(cell).machine
        total, after = 0, 0
        while time.monotonic() < ends_at:
            with machine.transaction(actor="prune") as session:
                gone, next_after = outbox_events.prune(
                    session, after=after, days=self.outbox_days, limit=self.batch
                )
            total += gone
            if next_after is None:
                break
            after = next_after
        return total

    def _deliveries(self, cell: str, ends_at: float) -> int:
        machine = self.stores.cell(cell).machine
        total = 0
        while time.monotonic() < ends_at:
            with machine.transaction(actor="prune") as session:
                gone = webhooks.prune(session, days=self.deliveries_days, limit=self.batch)
            total += gone
            if gone < self.batch:
                break
        return total
