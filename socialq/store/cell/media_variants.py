"""`media_variants`: what was made of a file for platforms that don't take it as it is. Rows never change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from socialq.store.sessions import Row, Session

COLUMNS: Final = "media_id, recipe, storage_key, mime_type, byte_size, sha256, width, height, problem"

_INSERT = """
INSERT INTO cell.media_variants (tenant_id, media_id, recipe, storage_key, mime_type, byte_size, sha256, width,
                                 height, problem)
VALUES (%(tenant_id)s, %(media_id)s, %(recipe)s, %(storage_key)s, %(mime_type)s, %(byte_size)s, %(sha256)s,
        %(width)s, %(height)s, %(problem)s)
ON CONFLICT (media_id, recipe) DO NOTHING
"""


def keep(session: Session, values: Mapping[str, Any]) -> None:
    """Insert a variant; the first of a recipe stays, since it may be approved already."""
    session.run(_INSERT, values)


def of_media(session: Session, ids: Sequence[UUID]) -> list[Row]:
    """Read the variants of files."""
    query = f"SELECT {COLUMNS} FROM cell.media_variants WHERE media_id = ANY(%(ids)s::uuid[]) ORDER BY recipe"
    return session.all(query, {"ids": list(ids)})
