"""`publish_dispatch_index`, made anew: rows set right from the cell, and rows that are one too many deleted.

Nothing is taken away before what is right stands there: a rebuild never keeps a post from going out. A row whose
message is out is left alone; the answer to it repairs the row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

from socialq.store.central import dispatch_index

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.store.sessions import Row, Session

# Of the same seq and yet another work, or already done: no hop leaves such a row. It goes, and the upsert that
# follows in the same transaction writes it as the cell has it.
_DELETE_WRONG: Final = """
DELETE FROM central.publish_dispatch_index x
USING jsonb_to_recordset(%(rows)s) AS r (
    target_id uuid, lane text, seq bigint, kind text, due_at timestamptz, done boolean)
WHERE x.target_id = r.target_id AND x.lane = r.lane AND x.seq = r.seq AND x.status <> 'enqueued' AND NOT r.done
  AND (x.status = 'done' OR x.kind <> r.kind OR x.due_at <> r.due_at OR x.ready_at < x.due_at)
"""

_ROWS_OF_CELL: Final = """
SELECT target_id, lane, seq FROM central.publish_dispatch_index
WHERE cell = %(cell)s AND (status <> 'enqueued' OR %(out_too)s) AND (target_id, lane) > (%(after_id)s, %(after_lane)s)
ORDER BY target_id, lane LIMIT %(limit)s
"""

# Compared with the seq that was seen: whatever has been written since is somebody else's, and newer.
_DELETE_SEEN: Final = """
DELETE FROM central.publish_dispatch_index x
USING jsonb_to_recordset(%(rows)s) AS r (target_id uuid, lane text, seq bigint)
WHERE x.target_id = r.target_id AND x.lane = r.lane AND x.seq = r.seq AND x.status <> 'enqueued'
"""

_FORGET_CELL: Final = "DELETE FROM central.publish_dispatch_index WHERE cell = %(cell)s"


def mirror_anew(session: Session, rows: Sequence[dict[str, Any]]) -> int:
    """Mirror rows as `dispatch_index.upsert` does, and set right those of the same seq; returns how many changed."""
    session.run(_DELETE_WRONG, {"rows": Jsonb(list(rows))})
    return dispatch_index.upsert(session, rows)


def rows_of_cell(
    session: Session, *, cell: str, after: tuple[UUID, str], limit: int, out_too: bool = False
) -> list[Row]:
    """Read a cell's rows (target_id, lane, seq) in the order of ids and lanes; `out_too`: also what is out."""
    after_id, after_lane = after
    values = {
        "cell": cell,
        "after_id": after_id,
        "after_lane": after_lane,
        "limit": limit,
        "out_too": out_too,
    }
    return session.all(_ROWS_OF_CELL, values)


def delete_seen(session: Session, rows: Sequence[Row]) -> int:
    """Delete rows that are still as they were seen; returns how many."""
    seen = [{"target_id": str(row["target_id"]), "lane": row["lane"], "seq": row["seq"]} for row in rows]
    return session.run(_DELETE_SEEN, {"rows": Jsonb(seen)})


def forget_cell(session: Session, cell: str) -> int:
    """Delete every row of a cell, those whose message is out too: only while nothing of it may go out."""
    return session.run(_FORGET_CELL, {"cell": cell})
