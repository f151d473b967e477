"""`media`: the files of a client's library; the bytes are elsewhere (`media_files.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from socialq.store.sessions import Row, Session

COLUMNS: Final = (
    "tenant_id, id, client_id, file_name, storage_key, mime_type, byte_size, sha256, width, height,"
    " duration_seconds, details, alt_text, status, problem, created_at"
)

_INSERT = f"""
INSERT INTO cell.media (tenant_id, id, client_id, file_name, storage_key, mime_type, byte_size, sha256, width,
                        height, duration_seconds, details, alt_text, status)
VALUES (%(tenant_id)s, %(id)s, %(client_id)s, %(file_name)s, %(storage_key)s, %(mime_type)s, %(byte_size)s,
        %(sha256)s, %(width)s, %(height)s, %(duration_seconds)s, %(details)s, %(alt_text)s, 'uploaded')
RETURNING {COLUMNS}
"""

# Two uploads of one file at once wait for each other; the index on the checksum can't be unique, since one
# file may have several descriptions.
_LOCK_FILE = (
    "SELECT pg_advisory_xact_lock(hashtextextended('media:' || %(client_id)s || ':' || %(sha256)s, 0))"
)

_SAME = f"""
SELECT {COLUMNS} FROM cell.media
WHERE client_id = %(client_id)s AND sha256 = %(sha256)s AND alt_text = %(alt_text)s
ORDER BY status <> 'ready', created_at, id LIMIT 1
"""

# A file that is in use stays what it is: what was found harmless and ready is never put back.
_MOVE = f"""
UPDATE cell.media SET status = %(status)s, problem = %(problem)s
WHERE id = %(id)s AND status <> 'ready'
RETURNING {COLUMNS}
"""

_LIST = f"""
SELECT {COLUMNS} FROM cell.media
WHERE (%(client_id)s::uuid IS NULL OR client_id = %(client_id)s)
ORDER BY created_at DESC, id LIMIT %(limit)s
"""


def keep(session: Session, values: Mapping[str, Any]) -> Row:
    """Insert a file as `uploaded`, or return the row of the same file and description of the same client."""
    session.run(_LOCK_FILE, {"client_id": str(values["client_id"]), "sha256": values["sha256"]})
    values = {**values, "details": Jsonb(values["details"])}
    row = session.one(_SAME, values) or session.one(_INSERT, values)
    assert row is not None  # noqa: S101 - an INSERT without a condition returns its row
    return row


def move(session: Session, media_id: UUID, *, status: str, problem: str | None = None) -> Row | None:
    """Set the status of a file that is not ready yet; None where it is, or is not there."""
    return session.one(_MOVE, {"id": media_id, "status": status, "problem": problem})


def by_ids(session: Session, ids: Sequence[UUID]) -> list[Row]:
    """Read files by id; what isn't this tenant's is not there."""
    return session.all(
        f"SELECT {COLUMNS} FROM cell.media WHERE id = ANY(%(ids)s::uuid[])", {"ids": list(ids)}
    )


def newest(session: Session, *, client_id: UUID | None, limit: int) -> list[Row]:
    """Read the newest files, of one client or of all."""
    return session.all(_LIST, {"client_id": client_id, "limit": limit})
