"""`post_targets`, many at a time: inserting, locking and moving in one statement each.

What `post_targets.apply` does for one target, for as many as an import or a post on many accounts has. None
of them is in flight: nobody's lease is given up here. Callers hold the rows' locks, or have just made them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
UPDATE cell.target_parts
SET prepared = '{}', marked_at = NULL, marked_attempt = NULL, mark_cleared = false, first_marked_at = NULL,
    unknown_count = 0
WHERE target_id = ANY(%(ids)s::uuid[]) AND remote_id IS NULL
"""

_MOVE = f"""
WITH asked AS (
    SELECT * FROM unnest(
        %(ids)s::uuid[], %(seqs)s::bigint[], %(sources)s::text[], %(statuses)s::text[], %(reasons)s::text[],
        %(details)s::text[], %(next_kinds)s::text[], %(next_ats)s::timestamptz[],
        %(publish_ats)s::timestamptz[], %(publish_bys)s::timestamptz[], %(events)s::text[])
    AS a (id, seq, source, status, reason, detail, next_kind, next_at, publish_at, publish_by, event)
), moved AS (
    UPDATE cell.post_targets t
    SET status = a.status, reason = a.reason, detail = a.detail, next_kind = a.next_kind, next_at = a.next_at,
        publish_at = COALESCE(a.publish_at, t.publish_at), publish_by = COALESCE(a.publish_by, t.publish_by),
        seq = t.seq + 1, updated_at = now()
    FROM asked a
    WHERE t.id = a.id AND t.seq = a.seq AND t.status = a.source AND t.lease_token IS NULL
    RETURNING {_RETURNED}, a.event
), told AS (
    INSERT INTO cell.outbox_events (tenant_id, target_id, seq, kind)
    SELECT tenant_id, id, seq, event FROM moved
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
    moved = {row["id"]: target_of(row) for row in session.all(_MOVE, _arrays(moves))}
    return [moved[target.id] for target, _ in moves if target.id in moved]


def _arrays(moves: Sequence[tuple[Target, Move]]) -> dict[str, list[Any]]:
    return {
        "ids": [target.id for target, _ in moves],
        "seqs": [target.seq for target, _ in moves],
        "sources": [target.status.value for target, _ in moves],
        "statuses": [move.to.value for _, move in moves],
        "reasons": [move.reason for _, move in moves],
        "details": [move.detail for _, move in moves],
        "next_kinds": [None if move.next_kind is None else move.next_kind.value for _, move in moves],
        "next_ats": [move.next_at for _, move in moves],
        "publish_ats": [move.changes.get("publish_at") for _, move in moves],
        "publish_bys": [move.changes.get("publish_by") for _, move in moves],
        "events": [move.event for _, move in moves],
    }
