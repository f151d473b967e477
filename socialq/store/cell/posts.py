"""`posts`: what people write, before it is pinned to versions and accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import Row, Session

COLUMNS: Final = "tenant_id, id, client_id, approved_version_id, labels, import_key, created_by, created_at"

_INSERT = """
INSERT INTO cell.posts (tenant_id, id, client_id, labels, import_key, created_by)
VALUES (%(tenant_id)s, %(id)s, %(client_id)s, %(labels)s::text[], %(import_key)s, %(created_by)s)
"""

_APPROVE = """
UPDATE cell.posts p SET approved_version_id = a.version_id
FROM unnest(%(post_ids)s::uuid[], %(version_ids)s::uuid[]) AS a (post_id, version_id)
WHERE p.id = a.post_id
"""

_TAKE_IMPORT = "SELECT pg_try_advisory_xact_lock(hashtextextended('import:' || %(tenant_id)s, 0)) AS taken"

# Cancelled ones count too: a row that was withdrawn must not come back by importing the file again.
_IMPORTED = """
SELECT t.account_id, t.publish_at,
       ARRAY(SELECT part ->> 'text' FROM jsonb_array_elements(v.content -> 'parts') AS part
             WHERE part ->> 'role' IS DISTINCT FROM 'comment') AS texts
FROM cell.post_targets t
JOIN cell.posts p ON p.id = t.post_id AND p.import_key IS NOT NULL
JOIN cell.post_versions v ON v.post_id = t.post_id AND v.number = 1
WHERE t.publish_at BETWEEN %(first)s AND %(last)s AND t.account_id = ANY(%(account_ids)s::uuid[])
"""


def insert(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert posts: tenant_id, id, client_id, labels, import_key, created_by."""
    session.many(_INSERT, rows)


def by_id(session: Session, post_id: UUID) -> Row | None:
    """Read one post without locking it."""
    return session.one(f"SELECT {COLUMNS} FROM cell.posts WHERE id = %(id)s", {"id": post_id})


def lock(session: Session, post_id: UUID) -> Row | None:
    """Read one post and lock its row: first in the lock order, before its targets."""
    return session.one(
        f"SELECT {COLUMNS} FROM cell.posts WHERE id = %(id)s FOR NO KEY UPDATE", {"id": post_id}
    )


def approve(session: Session, versions: Mapping[UUID, UUID]) -> None:
    """Note the approved version of each post, by post id."""
    session.run(_APPROVE, {"post_ids": list(versions), "version_ids": list(versions.values())})


def withdraw_approval(session: Session, post_id: UUID) -> None:
    """Let the approval lapse: the content has changed."""
    session.run("UPDATE cell.posts SET approved_version_id = NULL WHERE id = %(id)s", {"id": post_id})


def take_import(session: Session, tenant_id: UUID) -> bool:
    """Take the tenant's right to import until the transaction ends; False when another import has it."""
    row = session.one(_TAKE_IMPORT, {"tenant_id": str(tenant_id)})
    return row is not None and bool(row["taken"])


def known_import_keys(session: Session, keys: Sequence[str]) -> set[str]:
    """Say which of `keys` are those of posts that were imported already."""
    rows = session.all(
        "SELECT import_key FROM cell.posts WHERE import_key = ANY(%(keys)s::text[])", {"keys": list(keys)}
    )
    return {row["import_key"] for row in rows}


def imported_between(
    session: Session, *, account_ids: Sequence[UUID], first: datetime, last: datetime
) -> list[Row]:
    """Read what imports planned on accounts in a span: account_id, publish_at, texts as first written.

    The first comment is none of them: a row is the same row with another one.
    """
    return session.all(_IMPORTED, {"account_ids": list(account_ids), "first": first, "last": last})
