"""`outbox_events`: what changed in scheduling, left in the same transaction as the change.

The relay takes unrelayed events in order, collapses them to their targets and reads the targets' current
rows; so an event only says *that* something changed. Events that commit out of order are no problem: what
counts is `relayed_at IS NULL`, never a position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.store.sessions import Row, Session

INSERT = """
INSERT INTO cell.outbox_events (tenant_id, target_id, seq, kind)
VALUES (%(tenant_id)s, %(target_id)s, %(seq)s, %(kind)s)
ON CONFLICT (target_id, seq) DO NOTHING
"""

_UNRELAYED = """
SELECT id, tenant_id, target_id, seq
FROM cell.outbox_events
WHERE relayed_at IS NULL AND parked_at IS NULL
ORDER BY id
LIMIT %(limit)s
"""

_MARK_RELAYED = """
UPDATE cell.outbox_events SET relayed_at = clock_timestamp()
WHERE id = ANY(%(ids)s) AND relayed_at IS NULL
"""

_PARK = """
UPDATE cell.outbox_events SET parked_at = clock_timestamp(), failure = %(failure)s
WHERE target_id = %(target_id)s AND relayed_at IS NULL AND parked_at IS NULL
"""

_PARKED = """
SELECT tenant_id, target_id, max(seq) AS seq, count(*)::integer AS events, min(created_at) AS created_at,
       min(parked_at) AS parked_at, (array_agg(failure ORDER BY id DESC))[1] AS failure
FROM cell.outbox_events WHERE relayed_at IS NULL AND parked_at IS NOT NULL
GROUP BY tenant_id, target_id ORDER BY min(parked_at), target_id LIMIT %(limit)s
"""

_UNPARK = """
UPDATE cell.outbox_events SET parked_at = NULL, failure = NULL
WHERE parked_at IS NOT NULL AND relayed_at IS NULL
  AND (%(target_id)s::uuid IS NULL OR target_id = %(target_id)s)
RETURNING target_id
"""

# Ids are given in the order of time, or nearly: a walk along them may end at the first page that has nothing old.
_PRUNE = """
WITH page AS MATERIALIZED (
    SELECT id, relayed_at, created_at < clock_timestamp() - %(days)s * interval '1 day' AS old
    FROM cell.outbox_events WHERE id > %(after)s ORDER BY id LIMIT %(limit)s
), pruned AS (
    DELETE FROM cell.outbox_events e USING page p
    WHERE e.id = p.id AND p.relayed_at < clock_timestamp() - %(days)s * interval '1 day'
    RETURNING e.id
)
SELECT (SELECT count(*) FROM pruned)::integer AS pruned, (SELECT max(id) FROM page HAVING bool_or(old)) AS next_after
"""


def leave(session: Session, *, tenant_id: UUID, target_id: UUID, seq: int, kind: str) -> None:
    """Leave one event; the same (target, seq) twice leaves one."""
    session.run(INSERT, {"tenant_id": tenant_id, "target_id": target_id, "seq": seq, "kind": kind})


def unrelayed(session: Session, *, limit: int) -> list[Row]:
    """Read the oldest unrelayed events (id, tenant_id, target_id, seq), at most `limit`."""
    return session.all(_UNRELAYED, {"limit": limit})


def mark_relayed(session: Session, ids: Sequence[int]) -> None:
    """Mark events as relayed; marking twice is harmless."""
    session.run(_MARK_RELAYED, {"ids": list(ids)})


def park(session: Session, *, target_id: UUID, failure: str) -> None:
    """Set aside every waiting event of a target that can't be relayed, so that it blocks no other."""
    session.run(_PARK, {"target_id": target_id, "failure": failure[:500]})


def parked(session: Session, *, limit: int) -> list[Row]:
    """Read the targets whose events were set aside, with why, those that have waited longest first."""
    return session.all(_PARKED, {"limit": limit})


def unpark(session: Session, *, target_id: UUID | None = None) -> list[UUID]:
    """Let parked events be relayed again, of one target or of all; returns whose."""
    return sorted({row["target_id"] for row in session.all(_UNPARK, {"target_id": target_id})})


def prune(session: Session, *, after: int, days: float, limit: int) -> tuple[int, int | None]:
    """Delete those of the next `limit` events after an id that were relayed `days` ago.

    Returns how many, and the id to go on after (None: what follows is younger). What waits or is parked stays,
    however old.
    """
    row = session.one(_PRUNE, {"after": after, "days": days, "limit": limit})
    return (0, None) if row is None else (row["pruned"], row["next_after"])
