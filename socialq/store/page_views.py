"""Read-only queries of the web's page of targets, beside those of `views`. Each takes a tenant's session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.store.sessions import Session

_STATUSES: Final = """
SELECT post_id, array_agg(status ORDER BY publish_at, id) AS statuses
FROM cell.post_targets WHERE post_id = ANY(%(ids)s::uuid[]) GROUP BY post_id
"""


def statuses_of_posts(session: Session, post_ids: Sequence[UUID]) -> dict[UUID, list[str]]:
    """Read the statuses of all targets of each post, also of those that are on another page."""
    rows = session.all(_STATUSES, {"ids": list(post_ids)}) if post_ids else []
    return {row["post_id"]: row["statuses"] for row in rows}
