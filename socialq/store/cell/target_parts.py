"""`target_parts`: the public pieces of a target, each with its mark and its remote id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg.types.json import Jsonb

from socialq.domain.targets import PartState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import Session

# What the machine role may see, and enough for every decision: no remote id, no text.
_SCHEDULING = """
SELECT part_no, marked_at, marked_attempt, mark_cleared, first_marked_at, unknown_count, accepted_at
FROM cell.target_parts WHERE target_id = %(target_id)s ORDER BY part_no
"""

_FULL = """
SELECT part_no, prepared, marked_at, marked_attempt, mark_cleared, first_marked_at, unknown_count, remote_id,
       remote_ref, permalink, accepted_at
FROM cell.target_parts WHERE target_id = %(target_id)s ORDER BY part_no
"""

_RESOLVE_MARK = """
UPDATE cell.target_parts
SET mark_cleared = mark_cleared OR %(clear)s,
    unknown_count = unknown_count + CASE WHEN part_no = %(part_no)s THEN %(unknown)s ELSE 0 END
WHERE target_id = %(target_id)s
  AND (part_no = %(part_no)s OR (%(clear)s AND part_no > %(part_no)s AND marked_at IS NOT NULL AND accepted_at IS NULL))
"""

_DOUBT = """
UPDATE cell.target_parts
SET mark_cleared = false
WHERE remote_id IS NULL AND target_id = %(target_id)s AND part_no = %(part_no)s
"""

_ACCEPT = """
UPDATE cell.target_parts
SET remote_id = %(remote_id)s, permalink = %(permalink)s, remote_ref = %(remote_ref)s,
    accepted_at = COALESCE(%(accepted_at)s, clock_timestamp()), first_seen_at = clock_timestamp()
WHERE target_id = %(target_id)s AND part_no = %(part_no)s AND remote_id IS NULL
"""


def scheduling_parts(session: Session, target_id: UUID) -> list[PartState]:
    """Read the parts as a decision needs them: a live part has the placeholder `(live)` as its remote id."""
    rows = session.all(_SCHEDULING, {"target_id": target_id})
    return [PartState(**row, remote_id=None if row["accepted_at"] is None else "(live)") for row in rows]


def full_parts(session: Session, target_id: UUID) -> list[PartState]:
    """Read the parts with their remote ids (tenant role only)."""
    return [PartState(**row) for row in session.all(_FULL, {"target_id": target_id})]


def resolve_mark(
    session: Session, *, target_id: UUID, part_no: int, clear: bool, count_unknown: bool
) -> None:
    """Note that a mark had no effect, or that its outcome is unknown once more.

    A part that certainly is not live has none after it that could be: their marks had no effect either.
    """
    session.run(
        _RESOLVE_MARK,
        {"target_id": target_id, "part_no": part_no, "clear": clear, "unknown": int(count_unknown)},
    )


def doubt(session: Session, *, target_id: UUID, part_no: int) -> None:
    """Let a part that was marked once be looked for again."""
    session.run(_DOUBT, {"target_id": target_id, "part_no": part_no})


def accept(
    session: Session,
    *,
    target_id: UUID,
    part_no: int,
    remote_id: str,
    permalink: str | None,
    remote_ref: Mapping[str, str],
    accepted_at: datetime | None,
) -> bool:
    """Store a part's remote id; one that is there is never replaced."""
    return (
        session.run(
            _ACCEPT,
            {
                "target_id": target_id,
                "part_no": part_no,
                "remote_id": remote_id,
                "permalink": permalink,
                "remote_ref": Jsonb(dict(remote_ref)),
                "accepted_at": accepted_at,
            },
        )
        == 1
    )
