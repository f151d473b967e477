"""The claim, the mark, and the lease: hop 4's statements on `post_targets`.

The claim is one statement in one pipelined transaction: it re-checks every guard that needs no network,
compares seq, takes token and lease, holds the account (a partial unique index, so that the second of two
racing claims fails), inserts the attempt, and, where nothing is left to prepare, marks the part as well.

The mark is compare-and-set on token, unexpired lease, `publish_by`, not cancelled, and no evidence that the
part is live already. Only after it has committed may the request leave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any
    from uuid import UUID

    from socialq.domain.work import ClaimRequest
    from socialq.store.sessions import Statement

_CLAIM = """
WITH claimed AS (
    UPDATE cell.post_targets t
    SET status = 'publishing', reason = NULL, detail = NULL, holds_account = true,
        lease_token = %(token)s, lease_until = clock_timestamp() + %(lease_seconds)s * interval '1 second',
        attempt_count = t.attempt_count + 1, prepare_token = NULL, prepare_until = NULL,
        key_instant = CASE WHEN %(mark)s THEN COALESCE(t.key_instant, t.publish_at) ELSE t.key_instant END,
        updated_at = now()
    FROM cell.accounts a, cell.tenant_state s, cell.posts p
    WHERE t.id = %(target_id)s AND t.seq = %(seq)s AND t.version_id = %(version_id)s
      AND t.status IN ('scheduled', 'retry_scheduled')
      AND NOT t.cancel_requested
      AND t.publish_by > clock_timestamp()
      AND s.tenant_id = t.tenant_id AND s.status = 'active' AND s.stopped_at IS NULL
      AND s.origin = cell.identity()
      AND (s.monthly_limit IS NULL OR s.monthly_limit > (
          SELECT count(*) FROM cell.publications u
          WHERE u.tenant_id = t.tenant_id AND u.published_at >= date_trunc('month', now(), 'UTC')) + (
          SELECT count(*) FROM cell.post_targets f
          WHERE f.tenant_id = t.tenant_id AND f.status IN ('publishing', 'unknown_outcome')))
      AND p.id = t.post_id AND p.approved_version_id = t.version_id
      AND a.id = t.account_id AND a.status = 'active' AND a.scopes @> %(required_scopes)s
      AND (a.token_expires_at IS NULL OR a.token_expires_at > clock_timestamp())
      AND (a.hold_until IS NULL OR a.hold_until <= clock_timestamp())
      AND NOT EXISTS (
          SELECT FROM cell.media m WHERE m.id = ANY (%(media_ids)s::uuid[]) AND m.status <> 'ready')
      AND NOT EXISTS (
          SELECT FROM cell.target_parts e
          WHERE e.target_id = t.id
            AND (e.remote_id IS NULL AND e.marked_at IS NOT NULL AND NOT e.mark_cleared
                 OR e.part_no = %(part_no)s AND (e.remote_id IS NOT NULL OR EXISTS (
                     SELECT FROM cell.sightings g WHERE g.target_id = t.id AND g.part_no = e.part_no))))
    RETURNING t.tenant_id, t.id, t.attempt_count, t.lease_until, t.key_instant, t.next_at, t.publish_at
), attempt AS (
    INSERT INTO cell.publishing_attempts (tenant_id, target_id, attempt_no, idempotency_key, token, state, worker,
                                          part_no, due_at, claimed_at, marked_at)
    SELECT tenant_id, id, attempt_count,
           encode(sha256(convert_to(
               tenant_id || ':' || id || ':' || %(version_id)s || ':' || attempt_count, 'UTF8')), 'hex'),
           %(token)s, 'in_flight', %(worker)s, %(part_no)s, COALESCE(next_at, publish_at), clock_timestamp(),
           CASE WHEN %(mark)s THEN clock_timestamp() END
    FROM claimed
), marked AS (
    UPDATE cell.target_parts tp
    SET marked_at = clock_timestamp(), marked_attempt = c.attempt_count, mark_cleared = false,
        first_marked_at = COALESCE(tp.first_marked_at, clock_timestamp())
    FROM claimed c
    WHERE %(mark)s AND tp.target_id = c.id AND tp.part_no = %(part_no)s AND tp.remote_id IS NULL
    RETURNING tp.target_id
)
SELECT attempt_count, lease_until, key_instant, EXISTS (SELECT FROM marked) AS marked FROM claimed
"""

_MARK = """
WITH held AS (
    UPDATE cell.post_targets t
    SET key_instant = COALESCE(t.key_instant, t.publish_at),
        lease_until = clock_timestamp() + %(lease_seconds)s * interval '1 second', updated_at = now()
    WHERE t.id = %(target_id)s AND t.status = 'publishing' AND t.lease_token = %(token)s
      AND t.lease_until > clock_timestamp() AND t.publish_by > clock_timestamp() AND NOT t.cancel_requested
      AND NOT EXISTS (
          SELECT FROM cell.sightings g WHERE g.target_id = t.id AND g.part_no = %(part_no)s)
    RETURNING t.id, t.attempt_count, t.key_instant, t.lease_until
), marked AS (
    UPDATE cell.target_parts tp
    SET marked_at = clock_timestamp(), marked_attempt = h.attempt_count, mark_cleared = false,
        first_marked_at = COALESCE(tp.first_marked_at, clock_timestamp())
    FROM held h
    WHERE tp.target_id = h.id AND tp.part_no = %(part_no)s AND tp.remote_id IS NULL
    RETURNING tp.target_id
), attempt AS (
    UPDATE cell.publishing_attempts p SET marked_at = clock_timestamp(), part_no = %(part_no)s
    FROM held h, marked m
    WHERE p.target_id = h.id AND p.attempt_no = h.attempt_count
)
SELECT h.key_instant, h.lease_until, h.attempt_count, true AS marked FROM held h JOIN marked m ON m.target_id = h.id
"""

_STORE_PREPARED = """
WITH held AS (
    UPDATE cell.post_targets
    SET lease_until = clock_timestamp() + %(lease_seconds)s * interval '1 second', updated_at = now()
    WHERE id = %(target_id)s AND status = 'publishing' AND lease_token = %(token)s
    RETURNING id
)
UPDATE cell.target_parts tp SET prepared = tp.prepared || %(result)s
FROM held h WHERE tp.target_id = h.id AND tp.part_no = %(part_no)s
RETURNING tp.target_id
"""

_LIMIT_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('monthly:' || %(tenant_id)s, 0))"


def claim(request: ClaimRequest) -> list[Statement]:
    """Build the claim's statements; the last returns attempt_count, lease_until, key_instant, marked, or no row.

    Raises UniqueViolation (on `post_targets_account_held`) when another target holds the account.
    """
    parameters = {
        "target_id": request.target_id,
        "version_id": request.version_id,
        "seq": request.seq,
        "token": request.token,
        "lease_seconds": request.lease_seconds,
        "worker": request.worker,
        "part_no": request.part_no,
        "mark": request.mark,
        "required_scopes": list(request.required_scopes),
        "media_ids": list(request.media_ids),
    }
    locks: list[Statement] = [(_LIMIT_LOCK, {"tenant_id": str(request.tenant_id)})] if request.limited else []
    return [*locks, (_CLAIM, parameters)]


def mark(*, target_id: UUID, token: UUID, part_no: int, lease_seconds: float) -> Statement:
    """Build the mark: returns key_instant and the renewed lease_until, or no row when it may not be sent."""
    return _MARK, {"target_id": target_id, "token": token, "part_no": part_no, "lease_seconds": lease_seconds}


def store_prepared(
    *, target_id: UUID, token: UUID, part_no: int, result: Mapping[str, Any], lease_seconds: float
) -> Statement:
    """Build the statement that keeps a prepare step's result and renews the lease: no row, the claim is lost."""
    return _STORE_PREPARED, {
        "target_id": target_id,
        "token": token,
        "part_no": part_no,
        "result": Jsonb(dict(result)),
        "lease_seconds": lease_seconds,
    }
