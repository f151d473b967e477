"""`publish_dispatch_index`: the next work of every target, mirrored from the cells.

Hop 2 writes it, hop 3 picks from it, hop 5 finishes its rows. It is never the truth: a claim compares seq in
the cell, and the table can be rebuilt from there. `ready_at` is the due time or the end of the longest hold
that applies, whichever is later, so that held rows cost the pick nothing. Only this database's clock decides
what is due. What the dispatcher takes from it stands in `dispatch_pick`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.work import Settled
    from socialq.store.sessions import Session, Statement

CHANNEL: Final = "socialq_dispatch"
"""Notified on the central database when a row may be ready earlier than the dispatcher thinks."""

HELD_UNTIL: Final = """
    (SELECT max(h.until) FROM central.holds h
     WHERE h.until > now() AND (h.holds_looks OR {kind} IS DISTINCT FROM 'look')
       AND (h.scope, h.key) IN (('account', {row}.account_id::text), ('app', {row}.provider_app_id::text),
                                ('platform', {row}.platform), ('cell', {row}.cell),
                                ('tenant', {row}.tenant_id::text)))
"""
"""The end of the longest hold that applies to a row's next work, NULL where there is none; in SQL."""

# Lock order: by target_id, so that two relays of one cell never wait for each other in a circle.
_UPSERT = f"""
WITH incoming AS (
    SELECT r.* FROM jsonb_to_recordset(%(rows)s) AS r (
        target_id uuid, lane text, tenant_id uuid, cell text, account_id uuid, platform text,
        provider_app_id uuid, seq bigint, kind text, due_at timestamptz, publish_by timestamptz, done boolean)
)
INSERT INTO central.publish_dispatch_index AS x (
    target_id, lane, tenant_id, cell, account_id, platform, provider_app_id, seq, kind, due_at, ready_at,
    publish_by, status)
SELECT i.target_id, i.lane, i.tenant_id, i.cell, i.account_id, i.platform, i.provider_app_id, i.seq,
       COALESCE(i.kind, 'publish'), COALESCE(i.due_at, now()),
       GREATEST(COALESCE(i.due_at, now()), {HELD_UNTIL.format(row="i", kind="i.kind")}),
       i.publish_by, CASE WHEN i.done THEN 'done' ELSE 'pending' END
FROM incoming i
ORDER BY i.target_id, i.lane
ON CONFLICT (target_id, lane) DO UPDATE
SET seq = excluded.seq, kind = excluded.kind, due_at = excluded.due_at, ready_at = excluded.ready_at,
    publish_by = excluded.publish_by, status = excluded.status, cell = excluded.cell,
    provider_app_id = excluded.provider_app_id, waits_for_account = false, sends = 0, enqueued_at = NULL,
    resend_at = NULL, updated_at = now()
WHERE excluded.seq > x.seq
RETURNING target_id
"""

# Finish by compare-and-set on seq, and free who waits for the accounts, in one statement for many targets. Only
# the first few of those that wait: one will take the account, and ten thousand need not be written for that. What
# is not freed comes by itself, seconds later.
_FINISH = f"""
WITH settled AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(rows)s) AS r (
        target_id uuid, lane text, account_id uuid, new_seq bigint, kind text, due_at timestamptz,
        frees_account boolean)
), in_order AS MATERIALIZED (
    -- The relay's order: two of them never wait for each other in a circle.
    SELECT i.target_id, i.lane FROM central.publish_dispatch_index i JOIN settled s USING (target_id, lane)
    ORDER BY i.target_id, i.lane FOR UPDATE OF i
), finished AS (
    UPDATE central.publish_dispatch_index i
    SET seq = s.new_seq, kind = COALESCE(s.kind, i.kind),
        status = CASE WHEN s.kind IS NULL THEN 'done' ELSE 'pending' END,
        due_at = COALESCE(s.due_at, i.due_at),
        ready_at = GREATEST(COALESCE(s.due_at, i.due_at), {HELD_UNTIL.format(row="i", kind="s.kind")}),
        waits_for_account = false, sends = 0, enqueued_at = NULL, resend_at = NULL, updated_at = now()
    FROM settled s JOIN in_order o USING (target_id, lane)
    WHERE i.target_id = s.target_id AND i.lane = s.lane AND i.seq < s.new_seq
), freed AS (
    UPDATE central.publish_dispatch_index i
    SET ready_at = GREATEST(i.due_at, {HELD_UNTIL.format(row="i", kind="i.kind")}), waits_for_account = false,
        updated_at = now()
    FROM (SELECT DISTINCT account_id FROM settled WHERE frees_account) s
    CROSS JOIN LATERAL (
        SELECT w.target_id, w.lane FROM central.publish_dispatch_index w
        WHERE w.account_id = s.account_id AND w.status = 'pending' AND w.waits_for_account
          AND NOT EXISTS (SELECT FROM settled o WHERE o.target_id = w.target_id)
        ORDER BY w.due_at, w.target_id
        LIMIT 3) first
    WHERE i.target_id = first.target_id AND i.lane = first.lane AND i.status = 'pending' AND i.waits_for_account
    RETURNING i.target_id
)
SELECT EXISTS (SELECT FROM freed) OR EXISTS (
    SELECT FROM settled s JOIN central.publish_dispatch_index w ON w.account_id = s.account_id
    WHERE s.frees_account AND w.status = 'pending' AND w.ready_at <= now()) AS somebody_waits,
    clock_timestamp() AS read_at
"""

# After a refused claim the row is set from the cell as it stands, also at an equal seq.
_REPAIR = f"""
UPDATE central.publish_dispatch_index i
SET seq = %(seq)s, kind = COALESCE(%(kind)s, i.kind),
    status = CASE WHEN %(kind)s::text IS NULL THEN 'done' ELSE 'pending' END,
    due_at = COALESCE(%(due_at)s, i.due_at),
    ready_at = GREATEST(COALESCE(%(due_at)s, i.due_at), %(not_before)s,
                        {HELD_UNTIL.format(row="i", kind="%(kind)s::text")}),
    publish_by = COALESCE(%(publish_by)s, i.publish_by), waits_for_account = %(waits_for_account)s,
    sends = 0, enqueued_at = NULL, resend_at = NULL, updated_at = now()
WHERE i.target_id = %(target_id)s AND i.lane = %(lane)s AND i.seq <= %(seq)s
  AND NOT (i.status = 'enqueued' AND i.seq = %(seq)s AND %(message_seq)s < i.seq)
"""

_SEQS = """
SELECT target_id, seq, status FROM central.publish_dispatch_index
WHERE target_id = ANY (%(target_ids)s) AND lane = 'main'
"""

# Only rows that the hold or its end moves are touched. One that waits for its account goes on waiting for it.
_HELD_READY_AT: Final = f"""
GREATEST(CASE WHEN i.waits_for_account THEN i.ready_at ELSE i.due_at END, {HELD_UNTIL.format(row="i", kind="i.kind")})
"""

_REAPPLY_HOLDS = f"""
WITH moved AS MATERIALIZED (
    SELECT i.target_id, i.lane, {_HELD_READY_AT} AS held_ready_at
    FROM central.publish_dispatch_index i
    WHERE i.status = 'pending' AND i.{{column}} = %(key)s AND i.target_id > %(after)s
      AND (i.due_at < %(until)s OR i.ready_at > i.due_at)
      AND i.ready_at IS DISTINCT FROM {_HELD_READY_AT}
    ORDER BY i.target_id LIMIT %(limit)s
    FOR UPDATE OF i SKIP LOCKED
)
UPDATE central.publish_dispatch_index i SET ready_at = m.held_ready_at, updated_at = now()
FROM moved m WHERE i.target_id = m.target_id AND i.lane = m.lane AND i.status = 'pending'
RETURNING i.target_id
"""

# A row that was written while a hold was being lifted keeps the hold's end: nothing else would let it go.
_LET_GO = f"""
WITH kept AS MATERIALIZED (
    SELECT i.target_id, i.lane, {_HELD_READY_AT} AS held_ready_at
    FROM central.publish_dispatch_index i
    WHERE i.status = 'pending' AND i.ready_at > i.due_at AND i.ready_at > now() + interval '5 minutes'
      AND NOT i.waits_for_account AND i.ready_at > {_HELD_READY_AT}
    LIMIT %(limit)s
    FOR UPDATE OF i SKIP LOCKED
)
UPDATE central.publish_dispatch_index i SET ready_at = k.held_ready_at, updated_at = now()
FROM kept k WHERE i.target_id = k.target_id AND i.lane = k.lane AND i.status = 'pending'
RETURNING i.target_id
"""

# Done rows are not looked at by any hop: an event of the target brings its row back as the cell has it then. Both
# lanes of a target go only when both are done.
_PRUNE_DONE = """
DELETE FROM central.publish_dispatch_index
WHERE (target_id, lane) IN (
    SELECT d.target_id, d.lane FROM central.publish_dispatch_index d
    WHERE d.status = 'done' AND d.updated_at < now() - %(days)s * interval '1 day'
      AND NOT EXISTS (
          SELECT FROM central.publish_dispatch_index o WHERE o.target_id = d.target_id AND o.status <> 'done')
    ORDER BY d.updated_at
    LIMIT %(limit)s
    FOR UPDATE OF d SKIP LOCKED)
  AND status = 'done'
"""


def upsert(session: Session, rows: Sequence[dict[str, Any]]) -> int:
    """Mirror targets' current rows where their seq is newer; returns how many changed.

    A row: target_id, lane, tenant_id, cell, account_id, platform, provider_app_id, seq, kind, due_at,
    publish_by, done. Ids as text and instants as ISO text.
    """
    return len(session.all(_UPSERT, {"rows": Jsonb(list(rows))}))


def finish(settled: Sequence[Settled], *, lane: str = "main") -> Statement:
    """Build the finish of settled targets; returns whether somebody waits for one of their accounts."""
    newest = {one.target_id: one for one in sorted(settled, key=lambda one: one.seq)}
    rows = [
        {
            "target_id": str(one.target_id),
            "lane": lane,
            "account_id": str(one.account_id),
            "new_seq": one.seq,
            "kind": None if one.next_kind is None else one.next_kind.value,
            "due_at": None if one.next_at is None else one.next_at.isoformat(),
            "frees_account": not one.holds_account,
        }
        for one in newest.values()
    ]
    return _FINISH, {"rows": Jsonb(rows)}


def repair(
    *,
    target_id: UUID,
    seq: int,
    message_seq: int,
    kind: str | None,
    due_at: datetime | None,
    publish_by: datetime | None,
    not_before: datetime | None = None,
    waits_for_account: bool = False,
    lane: str = "main",
) -> Statement:
    """Build the repair of a row from the cell's truth."""
    return _REPAIR, {
        "target_id": target_id,
        "lane": lane,
        "seq": seq,
        "message_seq": message_seq,
        "kind": kind,
        "due_at": due_at,
        "publish_by": publish_by,
        "not_before": not_before,
        "waits_for_account": waits_for_account and kind is not None,
    }


def seqs_of(session: Session, target_ids: Sequence[UUID]) -> dict[UUID, tuple[int, str]]:
    """Read seq and status of rows by target."""
    return {
        row["target_id"]: (row["seq"], row["status"])
        for row in session.all(_SEQS, {"target_ids": target_ids})
    }


def reapply_holds(
    session: Session, *, column: str, key: str, until: datetime, after: UUID, limit: int
) -> list[UUID]:
    """Compute `ready_at` anew for a batch of pending rows of one scope that it moves; returns their ids in order.

    `column` is one of this module's scopes' columns: account_id, provider_app_id, platform, cell, tenant_id.
    Rows that are due after `until` are not moved by a hold that ends then.
    """
    if column not in {"account_id", "provider_app_id", "platform", "cell", "tenant_id"}:
        raise ValueError(f"no scope has a column {column!r}")
    parameters = {"key": key, "until": until, "after": after, "limit": limit}
    return sorted(row["target_id"] for row in session.all(_REAPPLY_HOLDS.format(column=column), parameters))


def let_go(session: Session, *, limit: int) -> int:
    """Let rows go that are kept by a hold that is no more; returns how many."""
    return len(session.all(_LET_GO, {"limit": limit}))


def prune_done(session: Session, *, days: float, limit: int) -> int:
    """Delete up to `limit` rows that have been done for `days`; returns how many."""
    return session.run(_PRUNE_DONE, {"days": days, "limit": limit})
