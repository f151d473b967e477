"""Sweep: closes every gap that a crash, a lost message or a lost database can leave.

Arrives: time. Leaves: targets whose lease is over, settled by their mark; targets past `publish_by`, failed
as expired; messages that nobody answered, sent again; next work that the index does not know, mirrored. What
must stay true: each is compare-and-set on the row as it was read, so any number of sweeps may run at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from socialq.domain.hops import CellUnreachableError, QueueUnreachableError
from socialq.domain.outcomes import Evidence
from socialq.domain.settlement import Decision, Situation, after_lease_end, expired
from socialq.pipeline.dispatch import message_of
from socialq.pipeline.settle import apply_evidence, follow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.hops import IndexRow
    from socialq.domain.settlement import Rules
    from socialq.domain.targets import PartState, Target
    from socialq.pipeline.ports import (
        DuePicker,
        EvidenceStore,
        Index,
        IndexSeqs,
        IndexWriter,
        Overdue,
        Queue,
        Targets,
    )
    from socialq.providers.base import Adapter

log = structlog.get_logger(__name__)

_BATCH: Final = 500
_AUDIT_PAGE: Final = 5000
_SENDS_THAT_ALARM: Final = 5
_WORKER_LOST: Final = Evidence(
    code="worker.lost", message="the worker stopped before it could record an answer"
)
_EXPIRED: Final = Evidence(code="expired", message="the publish-by time passed")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSweep:
    """Sweeps one cell."""

    overdue: Overdue
    index: Index
    index_writer: IndexWriter
    index_seqs: IndexSeqs
    adapter_for: Callable[[str], Adapter]
    rules: Rules

    def sweep(self) -> dict[str, int]:
        """Close the cell's gaps; returns what was done, by kind."""
        return {
            "leases_ended": self._end_leases(),
            "expired": self._expire(),
            "re_emitted": self._re_emit(self.overdue.overdue_rows(after=None, limit=_BATCH)),
        }

    def _end_leases(self) -> int:
        return sum(
            self._settle(target, self._after_lease) for target in self.overdue.ended_leases(limit=_BATCH)
        )

    def _expire(self) -> int:
        return sum(
            self._settle(target, self._expired) for target in self.overdue.past_publish_by(limit=_BATCH)
        )

    def _settle(self, target: Target, decide: Callable[[Situation], Decision]) -> bool:
        def on(locked: Target, parts: Sequence[PartState], now: datetime) -> Decision:
            return decide(self._situation(locked, parts, now))

        evidence = _EXPIRED if target.lease_token is None else _WORKER_LOST
        try:
            settled = self.overdue.settle(target, on, evidence=evidence)
        except CellUnreachableError:
            # No target's fault: the relay raises the cell's alarm, and the next sweep is soon.
            raise
        except Exception as error:
            # One target that can't be settled must not keep all others from being swept.
            log.exception("sweep_failed", target=str(target.id))
            message = f"target {target.id} can't be swept: {type(error).__name__}"
            self.index.alarm(key=f"sweep:{target.id}", message=message, tenant_id=target.tenant_id)
            return False
        if settled is None:
            return False
        log.warning("swept", target=str(target.id), was=target.status, now=settled.status)
        follow(self.index, target.tenant_id, settled)
        return True

    def _after_lease(self, situation: Situation) -> Decision:
        return after_lease_end(situation, self.rules)

    @staticmethod
    def _expired(situation: Situation) -> Decision:
        return expired(situation)

    def _situation(self, target: Target, parts: Sequence[PartState], now: datetime) -> Situation:
        part = next((part for part in parts if not part.live), parts[-1])
        # Whether this account can be looked through is not for the machine role to see: the look finds out.
        finder = self.adapter_for(target.platform).finder
        return Situation(
            target=target,
            part=part,
            any_live=any(part.live for part in parts),
            parts_after=sum(other.part_no > part.part_no for other in parts),
            now=now,
            lag_seconds=None if finder is None else finder.lag.total_seconds(),
        )

    def audit(self) -> int:
        """Mirror overdue work that the index has not, or has only in an older state; returns how much.

        Goes through all that is overdue, however much of it is just waiting for a hold to end.
        """
        found, after = 0, None
        while rows := self.overdue.overdue_rows(after=after, limit=_AUDIT_PAGE):
            found += self._re_emit(rows)
            after = [row for row in rows if row.lane == "main"][-1]
        return found

    def _re_emit(self, rows: Sequence[IndexRow]) -> int:
        known = self.index_seqs.seqs_of([row.target_id for row in rows]) if rows else {}
        missing = [row for row in rows if known.get(row.target_id, (-1, ""))[0] < row.seq]
        if missing:
            log.warning("re_emitted", rows=len(missing), cell=self.overdue.name)
            self.index_writer.upsert(self.overdue.name, missing)
            self.index_writer.wake_dispatch()
        return len(missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSweep:
    """Sends messages again that nobody answered."""

    due: DuePicker
    queue: Queue
    index: Index

    def sweep(self) -> int:
        """Send silent rows' messages again; returns how many.

        Only while the queue is shorter than the count of rows that are out: else the messages are all there,
        and the workers are just behind.
        """
        try:
            if self.queue.length() >= self.due.enqueued():
                return 0
            rows = self.due.silent(limit=_BATCH)
            if rows:
                self.queue.send([message_of(row) for row in rows])
        except QueueUnreachableError as error:
            log.warning("queue_unreachable", error=str(error))
            return 0
        for row in rows:
            if row["sends"] >= _SENDS_THAT_ALARM:
                self.index.alarm(
                    key=f"resend:{row['target_id']}",
                    message=f"target {row['target_id']} was sent {row['sends']} times and no worker answered",
                    tenant_id=row["tenant_id"],
                )
        if rows:
            log.warning("re_sent", rows=len(rows))
        return len(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSweep:
    """Records in a cell that is back what was kept centrally while it was away."""

    targets: Targets
    index: Index
    evidence: EvidenceStore

    def sweep(self, cell: str) -> int:
        """Record everything that waits for `cell`; returns for how many targets."""
        waiting = {(one.tenant_id, one.target_id) for one in self.evidence.of_cell(cell, limit=_BATCH)}
        done = 0
        for tenant_id, target_id in sorted(waiting):
            done += self._record(tenant_id, target_id)
        return done

    def _record(self, tenant_id: UUID, target_id: UUID) -> bool:
        try:
            work = self.targets.load(tenant_id, target_id)
            if work is None:
                self.evidence.mark_applied(self.evidence.of_target(target_id))
                return False
            return apply_evidence(self.targets, self.index, self.evidence, work)
        except CellUnreachableError:
            raise
        except Exception as error:
            # One acceptance that can't be recorded keeps no other from being recorded.
            log.exception("evidence_not_recorded", target=str(target_id))
            message = f"a late acceptance of target {target_id} can't be recorded: {type(error).__name__}"
            self.index.alarm(key=f"evidence:{target_id}", message=message, tenant_id=tenant_id)
            return False
