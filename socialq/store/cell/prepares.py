"""The prepare lane's statements on `post_targets` and `target_parts`.

Its lease is its own and stands in nobody's way: a publish that claims the target meanwhile makes every statement
here touch no row, and does what is missing by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import Statement

_TAKE = """
UPDATE cell.post_targets
SET prepare_token = %(token)s, prepare_until = clock_timestamp() + %(lease_seconds)s * interval '1 second'
WHERE id = %(target_id)s AND seq = %(seq)s AND status IN ('scheduled', 'retry_scheduled')
  AND prepared_version_id IS DISTINCT FROM version_id
  AND (prepare_until IS NULL OR prepare_until < clock_timestamp())
RETURNING prepare_tries
"""

_BUSY = """
SELECT prepare_until FROM cell.post_targets
WHERE id = %(target_id)s AND seq = %(seq)s AND status IN ('scheduled', 'retry_scheduled')
  AND prepared_version_id IS DISTINCT FROM version_id AND prepare_until > clock_timestamp()
"""

_STORE = """
WITH held AS (
    UPDATE cell.post_targets
    SET prepare_until = clock_timestamp() + %(lease_seconds)s * interval '1 second'
    WHERE id = %(target_id)s AND prepare_token = %(token)s AND status IN ('scheduled', 'retry_scheduled')
      AND version_id = %(version_id)s
    RETURNING id
)
UPDATE cell.target_parts tp SET prepared = tp.prepared || %(result)s
FROM held h WHERE tp.target_id = h.id AND tp.part_no = %(part_no)s AND tp.remote_id IS NULL
RETURNING tp.target_id
"""

_END = """
UPDATE cell.post_targets
SET prepare_token = NULL, prepare_until = NULL,
    prepared_version_id = CASE WHEN %(again_at)s::timestamptz IS NULL THEN version_id ELSE prepared_version_id END,
    prepare_next_at = %(again_at)s, prepare_tries = prepare_tries + 1
WHERE id = %(target_id)s AND prepare_token = %(token)s AND version_id = %(version_id)s
RETURNING id
"""


def take(*, target_id: UUID, seq: int, token: UUID, lease_seconds: float) -> Statement:
    """Build the lease of a prepare: returns the tries so far; no row: not wanted, or another is at it."""
    return _TAKE, {"target_id": target_id, "seq": seq, "token": token, "lease_seconds": lease_seconds}


def busy_until(*, target_id: UUID, seq: int) -> Statement:
    """Build the question until when another one's lease lasts; no row: there is nothing to wait for."""
    return _BUSY, {"target_id": target_id, "seq": seq}


def store(
    *,
    target_id: UUID,
    version_id: UUID,
    token: UUID,
    part_no: int,
    result: Mapping[str, Any],
    lease_seconds: float,
) -> Statement:
    """Build the statement that keeps a step's result; no row: the publish has begun, or the lease is lost."""
    return _STORE, {
        "target_id": target_id,
        "version_id": version_id,
        "token": token,
        "part_no": part_no,
        "result": Jsonb(dict(result)),
        "lease_seconds": lease_seconds,
    }


def end(*, target_id: UUID, version_id: UUID, token: UUID, again_at: datetime | None) -> Statement:
    """Build the end of a prepare: done for this version, or again at a time."""
    return _END, {"target_id": target_id, "version_id": version_id, "token": token, "again_at": again_at}
