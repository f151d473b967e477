"""`approvals`: who approved which version, for which client, with which content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from socialq.store.sessions import Session

_INSERT = """
INSERT INTO cell.approvals (tenant_id, version_id, client_id, content_hash, approved_by)
SELECT %(tenant_id)s, version_id, client_id, content_hash, %(approved_by)s
FROM unnest(%(version_ids)s::uuid[], %(client_ids)s::uuid[], %(hashes)s::text[])
    AS a (version_id, client_id, content_hash)
ON CONFLICT (version_id, client_id) DO NOTHING
"""


def insert(
    session: Session, rows: Sequence[Mapping[str, Any]], *, tenant_id: object, approved_by: str
) -> None:
    """Record approvals: version_id, client_id, content_hash; the first approval of a version stands."""
    session.run(
        _INSERT,
        {
            "tenant_id": tenant_id,
            "approved_by": approved_by,
            "version_ids": [row["version_id"] for row in rows],
            "client_ids": [row["client_id"] for row in rows],
            "hashes": [row["content_hash"] for row in rows],
        },
    )
