"""`post_versions`: the immutable contents of a post."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from socialq.store.sessions import Row, Session

_INSERT = """
INSERT INTO cell.post_versions (tenant_id, id, post_id, number, content, content_hash, media_ids, created_by)
VALUES (%(tenant_id)s, %(id)s, %(post_id)s, %(number)s, %(content)s, %(content_hash)s, %(media_ids)s::uuid[],
        %(created_by)s)
"""

_LATEST = """
SELECT id, post_id, number, content, content_hash FROM cell.post_versions
WHERE post_id = %(post_id)s ORDER BY number DESC LIMIT 1
"""


def insert(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert versions: tenant_id, id, post_id, number, content, content_hash, media_ids, created_by."""
    session.many(_INSERT, [{**row, "content": Jsonb(row["content"])} for row in rows])


def latest(session: Session, post_id: UUID) -> Row | None:
    """Read the newest version of a post."""
    return session.one(_LATEST, {"post_id": post_id})
