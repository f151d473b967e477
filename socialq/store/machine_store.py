"""What relay, dispatch and sweep need, on PostgreSQL: cells through the machine role, the index through its own.

Implements `Outbox`, `Overdue`, `IndexWriter`, `DuePicker` and `IndexSeqs` of `socialq.pipeline.ports`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from socialq.domain.hops import Event, IndexRow, Mirrored, Picked, RowsRefusedError
from socialq.domain.states import NextKind
from socialq.domain.work import Settled
from socialq.store.cell import outbox_events, post_targets, settlements
from socialq.store.central import alarms, dispatch_index, dispatch_pick, index_rebuild
from socialq.store.index_store import DISPATCH_CHANNEL
from socialq.store.patience import reaching_cell, with_patience

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from socialq.domain.hops import Lane
    from socialq.domain.outcomes import Evidence
    from socialq.domain.settlement import Decision
    from socialq.domain.targets import PartState, Target
    from socialq.store.sessions import CellDatabases, Row
    from socialq.store.stores import Stores

    Decide = Callable[[Target, Sequence[PartState], datetime], Decision]

_NIL: Final = UUID(int=0)

_LET_GO_AT_ONCE: Final = 5000
_UPSERT_PATIENCE_SECONDS: Final = 5.0
_NOTICE_SECONDS: Final = 120.0
"""A text that is due sooner is not checked ahead: this is longer than the lease of a refresh."""

_SCAN_FACTOR: Final = 5
"""Up to this many times the batch the pick takes rows in the order of their times; beyond, tenant by tenant."""

# Two lanes of one target: its next work, and ahead of it whatever can be prepared. `prepares` says that the
# platform and the version have something to prepare at all, `prepare_at` when, NULL once it is done or too late.
# A text of most platforms is just checked: where there may be something to ask, or where its token would have to be
# refreshed at the slot, and never on short notice, so that nobody holds a refresh's lease at the slot. One that was
# withdrawn has a row to finish.
_SELECT: Final = """
SELECT t.id AS target_id, t.tenant_id, t.account_id, t.platform, a.provider_app_id, t.seq, t.next_kind AS kind,
       t.next_at AS due_at, t.publish_by,
       p.ahead IS NOT NULL AS prepares,
       CASE WHEN p.ahead IS NOT NULL AND t.status IN ('scheduled', 'retry_scheduled')
                 AND t.prepared_version_id IS DISTINCT FROM t.version_id
            THEN GREATEST(t.next_at - p.ahead * interval '1 second', t.prepare_next_at) END AS prepare_at
FROM cell.post_targets t
JOIN cell.accounts a ON a.id = t.account_id
JOIN cell.post_versions v ON v.id = t.version_id
CROSS JOIN LATERAL (
    SELECT (%(aheads)s::jsonb ->> CASE
        WHEN v.media_ids <> '{}' THEN t.platform
        WHEN %(aheads)s::jsonb ? (t.platform || ' text') THEN t.platform || ' text'
        WHEN t.next_at <= now() + %(notice_seconds)s * interval '1 second' THEN NULL
        WHEN %(aheads)s::jsonb ? (t.platform || ' check') THEN t.platform || ' check'
        WHEN t.next_at IS NULL
             OR a.token_expires_at <= t.next_at + (%(tokens)s::jsonb ->> t.platform)::float8 * interval '1 second'
            THEN t.platform || ' token' END)::float8 AS ahead
) p
"""

_ROWS_OF = f"{_SELECT} WHERE t.id = ANY (%(target_ids)s) AND t.status <> 'publishing'"

_ALL_ROWS = f"""
{_SELECT}
WHERE t.next_kind IS NOT NULL AND t.status <> 'publishing'
  AND (t.next_at, t.id) > (COALESCE(%(after_at)s, '-infinity'::timestamptz), %(after_id)s)
ORDER BY t.next_at, t.id
LIMIT %(limit)s
"""

_KNOWN_IDS = "SELECT id FROM cell.post_targets WHERE id = ANY (%(target_ids)s)"

# A little past the lease's end: the holder's own settle gets to go first. `now()`, here and below, since an index
# is not searched for `clock_timestamp()`: that read every row that waits.
_ENDED_LEASES = f"""
SELECT {post_targets.COLUMNS} FROM cell.post_targets
WHERE status = 'publishing' AND lease_until < now() - interval '1 second'
ORDER BY lease_until LIMIT %(limit)s
"""

_PAST_PUBLISH_BY = f"""
SELECT {post_targets.COLUMNS} FROM cell.post_targets
WHERE status IN ('scheduled', 'retry_scheduled') AND publish_by <= now()
ORDER BY publish_by LIMIT %(limit)s
"""

_OVERDUE = f"""
{_SELECT}
WHERE t.next_kind IS NOT NULL AND t.next_at < now() - interval '10 seconds' AND t.status <> 'publishing'
  AND (t.next_at, t.id) > (COALESCE(%(after_at)s, '-infinity'::timestamptz), %(after_id)s)
ORDER BY t.next_at, t.id LIMIT %(limit)s
"""


class MachineCell:
    """One cell's outbox and scheduling columns. Implements `Outbox` and `Overdue`."""

    def __init__(
        self,
        databases: CellDatabases,
        *,
        prepare_ahead_seconds: Mapping[str, float] | None = None,
        token_ahead_seconds: Mapping[str, float] | None = None,
    ) -> None:
        """Use the machine role of the cell's database; say by platform how far ahead posts are prepared.

        Texts by `<platform> text`, by `<platform> check` where it is only worth it if there is time, or by
        `<platform> token`: if the token ends less than `token_ahead_seconds` after the slot.
        """
        self.name = databases.name
        self._machine = databases.machine
        self._ahead = {
            "aheads": Jsonb(dict(prepare_ahead_seconds or {})),
            "tokens": Jsonb(dict(token_ahead_seconds or {})),
            "notice_seconds": _NOTICE_SECONDS,
        }

    def unrelayed(self, *, limit: int) -> list[Event]:
        """Read the oldest unrelayed events."""
        with self._machine.transaction(actor="relay") as session:
            rows = outbox_events.unrelayed(session, limit=limit)
        return [Event(id=row["id"], target_id=row["target_id"]) for row in rows]

    def rows_of(self, target_ids: Sequence[UUID]) -> list[IndexRow]:
        """Read targets' current next work."""
        return self._rows(_ROWS_OF, {"target_ids": list(target_ids)})

    def all_rows(self, *, after: IndexRow | None, limit: int) -> list[IndexRow]:
        """Read next work in the order of its time."""
        return self._rows(_ALL_ROWS, {**_after(after), "limit": limit})

    def known_ids(self, target_ids: Sequence[UUID]) -> set[UUID]:
        """Say which targets there are."""
        with self._machine.transaction(actor="relay") as session:
            return {row["id"] for row in session.all(_KNOWN_IDS, {"target_ids": list(target_ids)})}

    def overdue_rows(self, *, after: IndexRow | None, limit: int) -> list[IndexRow]:
        """Read next work that should have been dispatched a while ago, in the order of its time."""
        return self._rows(_OVERDUE, {**_after(after), "limit": limit})

    def mark_relayed(self, event_ids: Sequence[int]) -> None:
        """Mark events as relayed."""
        with self._machine.transaction(actor="relay") as session:
            outbox_events.mark_relayed(session, event_ids)

    def park(self, target_id: UUID, *, failure: str) -> None:
        """Set aside a target's waiting events."""
        with self._machine.transaction(actor="relay") as session:
            outbox_events.park(session, target_id=target_id, failure=failure)

    def parked(self, *, limit: int) -> list[Row]:
        """Read the targets whose events were set aside, with why."""
        with self._machine.transaction(actor="relay") as session:
            return outbox_events.parked(session, limit=limit)

    def unpark(self, target_id: UUID | None = None) -> list[UUID]:
        """Let parked events be relayed again, of one target or of all; returns whose."""
        with self._machine.transaction(actor="relay") as session:
            return outbox_events.unpark(session, target_id=target_id)

    def ended_leases(self, *, limit: int) -> list[Target]:
        """Read targets whose lease is over."""
        return self._targets(_ENDED_LEASES, limit)

    def past_publish_by(self, *, limit: int) -> list[Target]:
        """Read waiting targets whose publish-by time has passed."""
        return self._targets(_PAST_PUBLISH_BY, limit)

    def settle(self, target: Target, decide: Decide, *, evidence: Evidence) -> Settled | None:
        """Settle one by decision, if its row is still as it was read."""
        with reaching_cell(), self._machine.transaction(actor="sweep") as session:
            locked = settlements.lock(session, target.id)
            if locked is None:
                return None
            current, parts, now = locked
            unchanged = (
                current.seq == target.seq
                and current.status is target.status
                and current.lease_token == target.lease_token
                and current.lease_until == target.lease_until
            )
            if not unchanged:
                return None
            decision = decide(current, parts, now)
            part = next((part for part in parts if not part.live), parts[-1])
            moved = settlements.apply(session, current, part, decision, by_machine=True)
            if moved is None:
                return None
            if current.lease_token is not None:
                settlements.end_attempt(
                    session,
                    target_id=current.id,
                    attempt_no=current.attempt_count,
                    state=decision.attempt_state,
                    evidence=evidence,
                    by_machine=True,
                )
        return Settled(
            target_id=moved.id,
            account_id=moved.account_id,
            status=moved.status,
            seq=moved.seq,
            next_kind=moved.next_kind,
            next_at=moved.next_at,
            holds_account=moved.holds_account,
            alarm=decision.alarm,
        )

    def _rows(self, sql: str, params: Mapping[str, Any]) -> list[IndexRow]:
        with self._machine.transaction(actor="relay") as session:
            found = session.all(sql, {**params, **self._ahead})
        return [index_row for row in found for index_row in _index_rows(row)]

    def _targets(self, sql: str, limit: int) -> list[Target]:
        with self._machine.transaction(actor="sweep") as session:
            return [post_targets.target_of(row) for row in session.all(sql, {"limit": limit})]


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchBounds:
    """How much may be out at once, and when an unanswered message is sent again."""

    max_enqueued: int = 2000
    """Messages out and unanswered, in all."""
    tenant_cap: int = 1000
    """Of those, one tenant's."""
    slow_cap: int = 24
    """Of those, one platform's that have been out for more than a second; at this many no more are sent."""
    resend_base_seconds: float = 15.0
    resend_cap_seconds: float = 600.0


class CentralIndex:
    """The dispatch index as relay, dispatch and sweep use it."""

    def __init__(self, stores: Stores, *, bounds: DispatchBounds, lane: Lane = "main") -> None:
        """Use the central database of `stores`; pick, count and send again in one lane."""
        self._central = stores.central
        self._bounds = bounds
        self._lane = lane

    def upsert(self, cell: str, rows: Sequence[IndexRow]) -> int:
        """Mirror rows where their seq is newer. Raises `RowsRefusedError`; then nothing was written."""
        values = [_index_values(cell, row) for row in rows]

        def step() -> int:
            with self._central.transaction(actor="relay") as session:
                return dispatch_index.upsert(session, values)

        try:
            return with_patience(step, seconds=_UPSERT_PATIENCE_SECONDS)
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            raise RowsRefusedError(str(error)) from error

    def mirror_anew(self, cell: str, rows: Sequence[IndexRow]) -> int:
        """Mirror rows, and set right those of the same seq. Raises `RowsRefusedError`; then nothing was written."""
        values = [_index_values(cell, row) for row in rows]

        def step() -> int:
            with self._central.transaction(actor="rebuild") as session:
                return index_rebuild.mirror_anew(session, values)

        try:
            return with_patience(step, seconds=_UPSERT_PATIENCE_SECONDS)
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            raise RowsRefusedError(str(error)) from error

    def rows_of_cell(self, cell: str, *, after: Mirrored | None, limit: int) -> list[Mirrored]:
        """Read a cell's rows whose message is not out, in the order of ids and lanes."""
        place = (_NIL, "") if after is None else (after.target_id, after.lane)
        with self._central.transaction(actor="rebuild") as session:
            rows = index_rebuild.rows_of_cell(session, cell=cell, after=place, limit=limit)
        return [Mirrored(**row) for row in rows]

    def delete_seen(self, rows: Sequence[Mirrored]) -> int:
        """Delete rows that are still as they were seen; returns how many."""
        with self._central.transaction(actor="rebuild") as session:
            return index_rebuild.delete_seen(session, [asdict(row) for row in rows])

    def wake_dispatch(self) -> None:
        """Tell the dispatcher to look again."""
        self._central.notify(DISPATCH_CHANNEL)

    def alarm(self, *, key: str, message: str, tenant_id: UUID | None) -> None:
        """Raise an alarm."""
        alarms.raise_alarm(self._central, key=key, message=message, tenant_id=tenant_id)

    def enqueued(self) -> int:
        """Count messages that are out and unanswered."""
        [rows] = self._central.pipelined(dispatch_pick.enqueued(lane=self._lane))
        return int(rows[0]["enqueued"])

    def pick(self, *, limit: int) -> Picked:
        """Make due rows enqueued, and ask when the next one is ready, in one round trip."""
        statement = dispatch_pick.pick(
            lane=self._lane,
            limit=limit,
            scan=limit * _SCAN_FACTOR,
            max_enqueued=self._bounds.max_enqueued,
            tenant_cap=self._bounds.tenant_cap,
            slow_cap=self._bounds.slow_cap,
            resend_seconds=self._bounds.resend_base_seconds,
        )
        answer, following = self._central.pipelined(
            statement, dispatch_pick.next_ready(lane=self._lane), actor="dispatch"
        )
        rows = sorted(
            (row for row in answer if row["target_id"] is not None), key=lambda row: row["ready_at"]
        )
        seconds = following[0]["seconds"]
        return Picked(
            rows=rows,
            more=bool(answer[0]["put_off"])
            or (bool(rows) and (bool(answer[0]["saturated"]) or len(rows) == limit)),
            full=answer[0]["places"] == 0,
            held_back=bool(answer[0]["held_back"]),
            next_in_seconds=None if seconds is None else float(seconds),
        )

    def put_back(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Make rows pending again."""
        with self._central.transaction(actor="dispatch") as session:
            dispatch_pick.put_back(session, [dict(row) for row in rows])

    def silent(self, *, limit: int) -> list[Row]:
        """Take enqueued rows that nobody answered in time."""
        with self._central.transaction(actor="sweep") as session:
            return dispatch_pick.resend(
                session,
                lane=self._lane,
                limit=limit,
                base_seconds=self._bounds.resend_base_seconds,
                cap_seconds=self._bounds.resend_cap_seconds,
            )

    def seqs_of(self, target_ids: Sequence[UUID]) -> dict[UUID, tuple[int, str]]:
        """Read seq and status by target."""
        with self._central.transaction(actor="sweep") as session:
            return dispatch_index.seqs_of(session, list(target_ids))

    def let_go(self) -> int:
        """Let rows go that are kept by a hold that is no more; returns how many."""
        with self._central.transaction(actor="audit") as session:
            return dispatch_index.let_go(session, limit=_LET_GO_AT_ONCE)

    def forget_cell(self, cell: str) -> int:
        """Delete every row of a cell: only while nothing of it may go out."""
        with self._central.transaction(actor="rebuild") as session:
            return index_rebuild.forget_cell(session, cell)


def _after(row: IndexRow | None) -> dict[str, Any]:
    """Spell where a page begins that follows a row in the order of time."""
    return {
        "after_at": None if row is None else row.due_at,
        "after_id": _NIL if row is None else row.target_id,
    }


def _index_rows(row: Row) -> list[IndexRow]:
    """Read one target as its rows of the index: the main lane, then the prepare lane where there is one."""
    prepares, prepare_at = row.pop("prepares"), row.pop("prepare_at")
    kind = row["kind"]
    main = IndexRow(**{**row, "kind": None if kind is None else NextKind(kind)})
    if not prepares:
        return [main]
    ahead = replace(
        main, lane="prepare", kind=None if prepare_at is None else NextKind.PREPARE, due_at=prepare_at
    )
    return [main, ahead]


def _index_values(cell: str, row: IndexRow) -> dict[str, Any]:
    return {
        "target_id": str(row.target_id),
        "lane": row.lane,
        "tenant_id": str(row.tenant_id),
        "cell": cell,
        "account_id": str(row.account_id),
        "platform": row.platform,
        "provider_app_id": None if row.provider_app_id is None else str(row.provider_app_id),
        "seq": row.seq,
        "kind": None if row.kind is None else row.kind.value,
        "due_at": None if row.due_at is None else row.due_at.isoformat(),
        "publish_by": None if row.publish_by is None else row.publish_by.isoformat(),
        "done": row.kind is None,
    }
