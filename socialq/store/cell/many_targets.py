"""`post_targets`, many at a time: inserting, locking and moving in one statement each.

What `post_targets.apply` does for one target, for as many as an import or a post on many accounts has. None
of them is in flight: nobody's lease is given up here. Callers hold the rows' locks, or have just made them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

from socialq.domain.states import check_move
from socialq.store.cell.post_targets import COLUMNS, target_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from socialq.domain.targets import Move, Target
    from socialq.store.sessions import Session

_MOVABLE: Final = frozenset({"publish_at", "publish_by"})
"""Columns that a move of many may set; a move of one may set more (`post_targets.apply`)."""

_RETURNED: Final = ", ".join(f"t.{column.strip()}" for column in COLUMNS.split(","))

_INSERT = f"""
INSERT INTO cell.post_targets AS t (tenant_id, id, post_id, account_id, platform, version_id, status)
SELECT %(tenant_id)s, id, post_id, account_id, platform, version_id, 'draft'
FROM unnest(%(ids)s::uuid[], %(post_ids)s::uuid[], %(account_ids)s::uuid[], %(platforms)s::text[],
            %(version_ids)s::uuid[])
    AS n (id, post_id, account_id, platform, version_id)
RETURNING {_RETURNED}
"""

_INSERT_PARTS = """
INSERT INTO cell.target_parts (tenant_id, target_id, part_no)
SELECT %(tenant_id)s, n.target_id, part_no
FROM unnest(%(target_ids)s::uuid[], %(counts)s::integer[]) AS n (target_id, parts),
     generate_series(1, n.parts) AS part_no
ON CONFLICT (target_id, part_no) DO NOTHING
"""

_LOCK = f"""
SELECT {COLUMNS} FROM cell.post_targets
WHERE id = ANY(%(ids)s::uuid[]) ORDER BY id FOR NO KEY UPDATE
"""

_START_ANEW = """
WITH unprepared AS (
    UPDATE cell.post_targets
    SET prepared_version_id = NULL, prepare_next_at = NULL, prepare_tries = 0, prepare_token = NULL,
        prepare_until = NULL
    WHERE id = ANY(%(ids)s::uuid[])
)
UPDATE cell.target_parts
SET prepared = '{}', marked_at = NULL, marked_attempt = NULL, mark_cleared = false, first_marked_at = NULL,
    unknown_count = 0
WHERE target_id = ANY(%(ids)s::uuid[]) AND remote_id IS NULL
"""

# The moves come as one JSON object by target id, not as a table to join: joined, and without statistics yet,
# a fresh database's planner compares every row with every move (measured: 1.3 s for 1,500 moves, now 0.06 s).
_MOVE = f"""
WITH moved AS (
    UPDATE cell.post_targets t
    SET (status, reason, detail, next_kind, next_at, publish_at, publish_by) = (
            SELECT m ->> 'status', m ->> 'reason', m ->> 'detail', m ->> 'next_kind',
                   (m ->> 'next_at')::timestamptz,
                   COALESCE((m ->> 'publish_at')::timestamptz, t.publish_at),
                   COALESCE((m ->> 'publish_by')::timestamptz, t.publish_by)
            FROM (SELECT %(moves)s::jsonb -> t.id::text AS m) asked),
        seq = t.seq + 1, updated_at = now()
    WHERE t.id = ANY(%(ids)s::uuid[]) AND t.lease_token IS NULL
      AND t.seq = (%(moves)s::jsonb -> t.id::text ->> 'seq')::bigint
      AND t.status = %(moves)s::jsonb -> t.id::text ->> 'source'
    RETURNING {_RETURNED}
), told AS (
    INSERT INTO cell.outbox_events (tenant_id, target_id, seq, kind)
    SELECT tenant_id, id, seq, %(moves)s::jsonb -> id::text ->> 'event' FROM moved
    ON CONFLICT (target_id, seq) DO NOTHING
)
SELECT {COLUMNS} FROM moved
"""


def insert(session: Session, rows: Sequence[Mapping[str, Any]], *, tenant_id: UUID) -> list[Target]:
    """Insert drafts (id, post_id, account_id, platform, version_id, parts: how many) with their parts."""
    made = session.all(
        _INSERT,
        {
            "tenant_id": tenant_id,
            "ids": [row["id"] for row in rows],
            "post_ids": [row["post_id"] for row in rows],
            "account_ids": [row["account_id"] for row in rows],
            "platforms": [row["platform"] for row in rows],
            "version_ids": [row["version_id"] for row in rows],
        },
    )
    add_parts(session, {row["id"]: row["parts"] for row in rows}, tenant_id=tenant_id)
    by_id = {row["id"]: target_of(row) for row in made}
    return [by_id[row["id"]] for row in rows]


def add_parts(session: Session, counts: Mapping[UUID, int], *, tenant_id: UUID) -> None:
    """See that each target has the parts 1 to n, by target id."""
    session.run(
        _INSERT_PARTS,
        {"tenant_id": tenant_id, "target_ids": list(counts), "counts": list(counts.values())},
    )


def start_anew(session: Session, ids: Sequence[UUID]) -> None:
    """Forget what was prepared and tried for parts of which nothing is live: their content has changed."""
    session.run(_START_ANEW, {"ids": list(ids)})


def lock(session: Session, ids: Sequence[UUID]) -> list[Target]:
    """Lock targets in the order of their ids (the lock order of the house); others' are not there."""
    return [target_of(row) for row in session.all(_LOCK, {"ids": list(ids)})]


def apply(session: Session, moves: Sequence[tuple[Target, Move]]) -> list[Target]:
    """Apply each move to the row its target was read from, each with its outbox event.

    Returns the targets as they stand now, in the order of `moves`, without those whose rows have changed
    meanwhile. A column that `changes` doesn't name, or names as None, stays as it is.
    """
    for target, move in moves:
        if move.to is not target.status:
            check_move(target.status, move.to)
        if unknown := set(move.changes) - _MOVABLE:
            raise ValueError(f"not columns that a move of many may change: {sorted(unknown)}")
    asked = {str(target.id): _asked(target, move) for target, move in moves}
    rows = session.all(_MOVE, {"ids": [target.id for target, _ in moves], "moves": Jsonb(asked)})
    moved = {row["id"]: target_of(row) for row in rows}
    return [moved[target.id] for target, _ in moves if target.id in moved]


def _asked(target: Target, move: Move) -> dict[str, Any]:
    instants = {name: move.changes.get(name) for name in _MOVABLE} | {"next_at": move.next_at}
    return {
        "seq": target.seq,
        "source": target.status,
        "status": move.to,
        "reason": move.reason,
        "detail": move.detail,
        "next_kind": move.next_kind,
        "event": move.event,
        **{name: None if at is None else at.isoformat() for name, at in instants.items()},
    }
