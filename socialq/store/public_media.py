"""Which file a public link gives, while its target is under way.

Arrives: what a link's token names. Leaves: where the bytes are, or None: it is over. What must stay true: nothing is
given that the target's current version doesn't send on the target's account, and nothing once the target is final.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.stores import Stores

_FIND: Final = """
SELECT COALESCE(f.storage_key, m.storage_key) AS storage_key, COALESCE(f.mime_type, m.mime_type) AS mime_type,
       COALESCE(f.byte_size, m.byte_size) AS byte_size
FROM cell.post_targets t
JOIN cell.post_versions v ON v.id = t.version_id
JOIN cell.media m ON m.id = %(media_id)s AND m.id = ANY (v.media_ids) AND m.status = 'ready'
LEFT JOIN LATERAL (
    SELECT * FROM cell.media_variants x
    WHERE x.media_id = m.id AND x.sha256 = %(sha256)s AND x.sha256 <> m.sha256 LIMIT 1) f ON true
WHERE t.id = %(target_id)s
  AND t.status IN ('scheduled', 'retry_scheduled', 'publishing', 'unknown_outcome', 'needs_attention',
                   'needs_reconnect')
  AND COALESCE(v.content #>> ARRAY['files', t.account_id::text, m.id::text], m.sha256) = %(sha256)s
  AND COALESCE(f.sha256, m.sha256) = %(sha256)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFile:
    """A file that may be given to whoever has the link."""

    storage_key: str
    mime_type: str
    byte_size: int


def find(
    stores: Stores, *, tenant_id: UUID, target_id: UUID, media_id: UUID, sha256: str
) -> PublicFile | None:
    """Return the file, or None where the target is final, has another version now, or is gone."""
    values = {"target_id": target_id, "media_id": media_id, "sha256": sha256}
    with stores.cell_of(tenant_id).app.transaction(tenant=tenant_id) as session:
        row = session.one(_FIND, values)
    return None if row is None else PublicFile(**row)
