"""The central database and the queue in memory: the dispatch index, holds, late evidence, alarms; messages.

Implements `Index`, `IndexWriter`, `IndexSeqs`, `DuePicker`, `EvidenceStore` and `Queue` of
`socialq.pipeline.ports`, with the conditions of the statements in `socialq.store.central.dispatch_index`. The
queue is only a hint, so it may lose, repeat and reorder what it is given.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from socialq.domain.breaking import Troubles
from socialq.domain.hops import Picked, QueueUnreachableError
from socialq.domain.states import NextKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random
    from uuid import UUID

    from socialq.domain.breaking import BreakerLimits, TroubleKind
    from socialq.domain.hops import IndexRow, LateEvidence, Message
    from socialq.domain.targets import Target
    from socialq.domain.work import Settled


@dataclass(slots=True, kw_only=True)
class Entry:
    """One row of the dispatch index."""

    target_id: UUID
    tenant_id: UUID
    account_id: UUID
    platform: str
    seq: int
    kind: NextKind
    due_at: datetime
    ready_at: datetime
    status: str
    waits_for_account: bool = False
    sends: int = 0
    resend_at: datetime | None = None

    def becomes(self, status: str) -> None:
        """Change the status, and forget the message that was out."""
        self.status, self.waits_for_account, self.sends, self.resend_at = status, False, 0, None


@dataclass(kw_only=True)
class Central:
    """The central database."""

    clock: Any
    entries: dict[UUID, Entry] = field(default_factory=dict)
    holds: dict[tuple[str, str], datetime] = field(default_factory=dict)
    alarms: dict[str, str] = field(default_factory=dict)
    evidence: list[LateEvidence] = field(default_factory=list)
    room: int = 6
    """How many messages may be out."""
    _evidence_made: int = 0

    def now(self) -> datetime:
        return self.clock.now()

    def _held_until(self, entry: Entry) -> datetime | None:
        now = self.now()
        keys = (
            ("account", str(entry.account_id)),
            ("platform", entry.platform),
            ("tenant", str(entry.tenant_id)),
        )
        return max((until for key in keys if (until := self.holds.get(key)) and until > now), default=None)

    def _ready_at(self, entry: Entry, *times: datetime | None) -> datetime:
        return max(time for time in (entry.due_at, self._held_until(entry), *times) if time is not None)

    # `Index`

    def finish(self, done: Settled) -> None:
        entry = self.entries.get(done.target_id)
        if entry is not None and entry.seq < done.seq:
            entry.becomes("done" if done.next_kind is None else "pending")
            entry.seq = done.seq
            entry.kind = done.next_kind or entry.kind
            entry.due_at = done.next_at or entry.due_at
            entry.ready_at = self._ready_at(entry)
        if done.holds_account:
            return
        for other in self.entries.values():
            if (
                other.account_id == done.account_id
                and other.status == "pending"
                and other.waits_for_account
                and other.target_id != done.target_id
            ):
                other.waits_for_account = False
                other.ready_at = self._ready_at(other)

    def repair(
        self,
        *,
        target: Target,
        message_seq: int,
        not_before: datetime | None = None,
        waits_for_account: bool = False,
    ) -> None:
        entry = self.entries.get(target.id)
        if entry is None or entry.seq > target.seq:
            return
        if entry.status == "enqueued" and entry.seq == target.seq and message_seq < entry.seq:
            return
        entry.becomes("done" if target.next_kind is None else "pending")
        entry.seq = target.seq
        entry.kind = target.next_kind or entry.kind
        entry.due_at = target.next_at or entry.due_at
        entry.ready_at = self._ready_at(entry, not_before)
        entry.waits_for_account = waits_for_account and target.next_kind is not None

    def hold(self, *, scope: str, key: str, until: datetime, reason: str) -> None:
        del reason
        self.holds[scope, key] = max(until, self.holds.get((scope, key), until))
        for entry in self.entries.values():
            if entry.status == "pending" and not entry.waits_for_account:
                entry.ready_at = self._ready_at(entry)

    def lift(self, scope: str, key: str) -> None:
        """A person lifts a hold early."""
        self.holds.pop((scope, key), None)
        for entry in self.entries.values():
            if entry.status == "pending" and not entry.waits_for_account:
                entry.ready_at = self._ready_at(entry)

    def alarm(self, *, key: str, message: str, tenant_id: UUID | None) -> None:
        del tenant_id
        self.alarms[key] = message

    def trouble(
        self, *, account_id: UUID, platform: str, kind: TroubleKind, limits: BreakerLimits
    ) -> Troubles:
        """Nothing is counted: the faults of a run are so many that every account would be held all the while."""
        del account_id, platform, kind, limits
        return Troubles(of_account=0, accounts_of_platform=0)

    # `IndexWriter` and `IndexSeqs`

    def upsert(self, cell: str, rows: Sequence[IndexRow]) -> int:
        del cell
        return sum(self._upsert(row) for row in rows)

    def _upsert(self, row: IndexRow) -> bool:
        entry = self.entries.get(row.target_id)
        if entry is not None and entry.seq >= row.seq:
            return False
        made = Entry(
            target_id=row.target_id,
            tenant_id=row.tenant_id,
            account_id=row.account_id,
            platform=row.platform,
            seq=row.seq,
            kind=row.kind or NextKind.PUBLISH,
            due_at=row.due_at or self.now(),
            ready_at=self.now(),
            status="done" if row.kind is None else "pending",
        )
        made.ready_at = self._ready_at(made)
        self.entries[row.target_id] = made
        return True

    def wake_dispatch(self) -> None:
        """The simulation's dispatcher needs no waking."""

    def seqs_of(self, target_ids: Sequence[UUID]) -> Mapping[UUID, tuple[int, str]]:
        known = [self.entries[target_id] for target_id in target_ids if target_id in self.entries]
        return {entry.target_id: (entry.seq, entry.status) for entry in known}

    # `DuePicker`

    def enqueued(self) -> int:
        return sum(entry.status == "enqueued" for entry in self.entries.values())

    def pick(self, *, limit: int) -> Picked:
        now = self.now()
        places = min(limit, self.room - self.enqueued())
        busy = {entry.account_id for entry in self.entries.values() if entry.status == "enqueued"}
        due = [
            entry for entry in self.entries.values() if entry.status == "pending" and entry.ready_at <= now
        ]
        due.sort(key=lambda entry: (entry.kind is not NextKind.LOOK, entry.ready_at, entry.target_id))
        rows = []
        for entry in due:
            if len(rows) >= places or entry.account_id in busy:
                continue
            busy.add(entry.account_id)
            if (until := self._held_until(entry)) is not None:
                entry.ready_at = until
                continue
            entry.status, entry.waits_for_account = "enqueued", False
            entry.sends += 1
            entry.resend_at = now + timedelta(seconds=15)
            rows.append(_as_row(entry))
        return Picked(rows=rows, more=False, full=places <= 0, held_back=False, next_in_seconds=None)

    def put_back(self, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            entry = self.entries.get(row["target_id"])
            if entry is not None and entry.seq == row["seq"] and entry.status == "enqueued":
                sends = entry.sends
                entry.becomes("pending")
                entry.sends = max(0, sends - 1)
                entry.ready_at = self._ready_at(entry)

    def silent(self, *, limit: int) -> Sequence[Mapping[str, Any]]:
        now, rows = self.now(), []
        for entry in self.entries.values():
            if (
                len(rows) < limit
                and entry.status == "enqueued"
                and entry.resend_at
                and entry.resend_at <= now
            ):
                wait_seconds = min(15 * 2.0 ** min(entry.sends, 20), 600)
                entry.sends += 1
                entry.resend_at = now + timedelta(seconds=wait_seconds)
                rows.append(_as_row(entry))
        return rows


@dataclass(frozen=True)
class Evidence:
    """`EvidenceStore`: acceptances whose cell was away."""

    central: Central

    def keep(self, evidence: LateEvidence) -> None:
        self.central._evidence_made += 1
        self.central.evidence.append(replace(evidence, id=self.central._evidence_made))

    def of_target(self, target_id: UUID) -> Sequence[LateEvidence]:
        return [one for one in self.central.evidence if one.target_id == target_id]

    def of_cell(self, cell: str, *, limit: int) -> Sequence[LateEvidence]:
        del cell
        return self.central.evidence[:limit]

    def mark_applied(self, evidence: Sequence[LateEvidence]) -> None:
        gone = {one.id for one in evidence}
        self.central.evidence = [one for one in self.central.evidence if one.id not in gone]


@dataclass(kw_only=True)
class LossyQueue:
    """A queue that loses, repeats and reorders messages, until it is `calm`."""

    rng: Random
    tell: Callable[[str], None]
    messages: list[Message] = field(default_factory=list)
    seen: list[Message] = field(default_factory=list)
    """Old messages, which may come once more."""
    calm: bool = False

    def send(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if not self.calm and self.rng.random() < 0.02:
                self.tell("the queue can't be reached")
                raise QueueUnreachableError("away")
            self.messages.append(message)

    def length(self) -> int:
        return len(self.messages)

    def take(self) -> Message | None:
        """Hand out a message, mostly the oldest; one that is taken may come again."""
        if self.calm:
            return self.messages.pop(0) if self.messages else None
        if self.seen and self.rng.random() < 0.1:
            return self.rng.choice(self.seen)
        if not self.messages:
            return None
        oldest = self.rng.random() < 0.8
        message = self.messages.pop(0 if oldest else self.rng.randrange(len(self.messages)))
        if self.rng.random() < 0.2:
            self.seen = [*self.seen[-7:], message]
        return message

    def lose(self) -> None:
        """Lose one message, or all."""
        if self.messages and self.rng.random() < 0.7:
            self.messages.pop(self.rng.randrange(len(self.messages)))
        else:
            self.messages.clear()


def _as_row(entry: Entry) -> dict[str, Any]:
    return {
        "target_id": entry.target_id,
        "lane": "main",
        "tenant_id": entry.tenant_id,
        "seq": entry.seq,
        "kind": entry.kind.value,
        "sends": entry.sends,
        "ready_at": entry.ready_at,
    }
