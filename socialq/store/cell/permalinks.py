"""`target_parts.permalink`, where the answer to a publish step told none.

The row in `publications` is as it was when the target was settled, and is never changed: who shows an address reads
the part's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID

    from socialq.store.sessions import Statement

_MISSING: Final = """
SELECT p.part_no, p.remote_id FROM cell.target_parts p
JOIN cell.post_targets t ON t.id = p.target_id
WHERE p.target_id = %(target_id)s AND p.lacks_permalink AND t.status = 'published'
ORDER BY p.part_no
"""

_KEEP: Final = """
UPDATE cell.target_parts SET permalink = %(permalink)s
WHERE target_id = %(target_id)s AND part_no = %(part_no)s AND lacks_permalink
"""

_TRIED: Final = """
UPDATE cell.target_parts SET permalink_tries = permalink_tries + 1
WHERE target_id = %(target_id)s AND part_no = %(part_no)s AND lacks_permalink
"""

# By the machine, which sees neither remote ids nor addresses. Reads the small index of parts that lack one. Each
# question waits longer than the one before it, and an account that must wait or be connected again is not asked with.
_DUE: Final = """
SELECT p.tenant_id, p.target_id FROM cell.target_parts p
JOIN cell.post_targets t ON t.id = p.target_id
JOIN cell.accounts a ON a.id = t.account_id
WHERE p.lacks_permalink AND p.permalink_tries < %(most_tries)s
  AND p.accepted_at < clock_timestamp() - %(first_seconds)s * power(5, p.permalink_tries) * interval '1 second'
  AND t.status = 'published' AND t.platform = ANY (%(platforms)s)
  AND a.status = 'active' AND (a.hold_until IS NULL OR a.hold_until <= clock_timestamp())
GROUP BY p.tenant_id, p.target_id
ORDER BY min(p.permalink_tries), min(p.accepted_at), p.target_id
LIMIT %(most)s
"""


def missing(target_id: UUID) -> Statement:
    """Build the list of a published target's parts that lack an address."""
    return _MISSING, {"target_id": target_id}


def keep(target_id: UUID, part_no: int, permalink: str) -> Statement:
    """Build the store of an address where there is none."""
    return _KEEP, {"target_id": target_id, "part_no": part_no, "permalink": permalink}


def tried(target_id: UUID, part_no: int) -> Statement:
    """Build the count of one question."""
    return _TRIED, {"target_id": target_id, "part_no": part_no}


def due(*, platforms: Collection[str], most_tries: int, first_seconds: float, most: int) -> Statement:
    """Build the list of targets (tenant, target) whose addresses are to be asked for, for the machine role."""
    return _DUE, {
        "platforms": sorted(platforms),
        "most_tries": most_tries,
        "first_seconds": first_seconds,
        "most": most,
    }
