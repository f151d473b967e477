"""`webhooks` and `webhook_deliveries`: who is told of a tenant's events, and each telling.

The machine makes deliveries and takes them in turn, without seeing where they go; address and secret are read as the
tenant that they are of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from socialq.store.sessions import Row, Session, Statement

_INSERT: Final = """
INSERT INTO cell.webhooks (tenant_id, id, url, secret, host, events, created_by)
VALUES (%(tenant_id)s, %(id)s, %(url)s, %(secret)s, %(host)s, %(events)s, %(created_by)s)
"""

_LIST: Final = """
SELECT w.id, w.host, w.events, w.created_by, w.created_at, w.disabled_at,
       count(d.id) FILTER (WHERE d.state = 'waiting')::integer AS waiting,
       count(d.id) FILTER (WHERE d.state = 'delivered')::integer AS delivered,
       count(d.id) FILTER (WHERE d.state = 'given_up')::integer AS given_up,
       (array_agg(d.failure ORDER BY d.happened_at DESC) FILTER (WHERE d.failure IS NOT NULL))[1] AS last_failure
FROM cell.webhooks w LEFT JOIN cell.webhook_deliveries d ON d.webhook_id = w.id
GROUP BY w.id ORDER BY w.created_at, w.id
"""

_DISABLE: Final = "UPDATE cell.webhooks SET disabled_at = now() WHERE id = %(id)s AND disabled_at IS NULL"

# A post is told of with the last event of its targets, once all of them rest. Whichever consumer reads that event, and
# whenever: there is one last event, and it is the same for everybody. `post.published` is told once for all time.
_EXPAND: Final = """
INSERT INTO cell.webhook_deliveries (tenant_id, webhook_id, event, event_key, history_id, target_id, post_id,
                                     happened_at)
SELECT e.tenant_id, w.id, n.name, n.key, e.id, e.target_id, t.post_id, e.at
FROM cell.events e
JOIN cell.webhooks w ON w.tenant_id = e.tenant_id AND w.disabled_at IS NULL AND w.created_at <= e.at
JOIN cell.post_targets t ON t.id = e.target_id
CROSS JOIN LATERAL (
    SELECT e.name, e.name || ':' || e.id AS key
    UNION ALL
    SELECT p.name, p.name || ':' || CASE WHEN p.name = 'post.published' THEN t.post_id::text ELSE e.id::text END
    FROM (
        SELECT CASE WHEN bool_and(o.status IN ('published', 'cancelled')) THEN 'post.published'
                    WHEN bool_or(o.status = 'published' OR o.status = 'failed' AND EXISTS (
                        SELECT FROM cell.target_parts l WHERE l.target_id = o.id AND l.accepted_at IS NOT NULL))
                    THEN 'post.partially_failed' ELSE 'post.failed' END AS name
        FROM cell.post_targets o WHERE o.post_id = t.post_id
        HAVING bool_and(o.status IN ('published', 'failed', 'cancelled')) AND NOT bool_and(o.status = 'cancelled')) p
    WHERE NOT EXISTS (
        SELECT FROM cell.post_targets o JOIN cell.events l ON l.target_id = o.id
        WHERE o.post_id = t.post_id AND (l.xact, l.id) > (e.xact, e.id))
) n
WHERE e.id = ANY (%(ids)s) AND (w.events = '{}' OR n.name = ANY (w.events))
ON CONFLICT (webhook_id, event_key) DO NOTHING
"""

# A few of each webhook, the first of every one before the second of any: whoever has a backlog delays its own. What
# happened to a target is told before what that means for its post (`post_target.…` before `post.…`).
# Taken for a while: who dies leaves them.
_TAKE: Final = """
UPDATE cell.webhook_deliveries d
SET tries = d.tries + 1, next_try_at = clock_timestamp() + %(seconds)s * interval '1 second'
FROM (
    SELECT n.id, n.place
    FROM cell.webhooks w
    CROSS JOIN LATERAL (
        SELECT f.id, f.next_try_at,
               row_number() OVER (ORDER BY f.next_try_at, f.history_id, f.event DESC) AS place
        FROM (
            SELECT o.id, o.next_try_at, o.history_id, o.event FROM cell.webhook_deliveries o
            WHERE o.webhook_id = w.id AND o.state = 'waiting' AND o.next_try_at <= now()
            ORDER BY o.next_try_at, o.history_id, o.event DESC LIMIT %(each)s FOR UPDATE SKIP LOCKED) f) n
    WHERE NOT w.id = ANY (%(resting)s)
    ORDER BY n.place, n.next_try_at LIMIT %(limit)s) due
WHERE d.id = due.id
RETURNING d.tenant_id, d.id, d.webhook_id, d.event, d.target_id, d.post_id, d.happened_at, d.tries, due.place
"""

_PRUNE: Final = """
DELETE FROM cell.webhook_deliveries WHERE id IN (
    SELECT id FROM cell.webhook_deliveries
    WHERE state <> 'waiting' AND event <> 'post.published' AND finished_at < now() - %(days)s * interval '1 day'
    ORDER BY finished_at LIMIT %(limit)s)
"""

_SETTLE: Final = """
UPDATE cell.webhook_deliveries
SET state = %(state)s, http_status = %(http_status)s, failure = %(failure)s,
    finished_at = CASE WHEN %(state)s <> 'waiting' THEN clock_timestamp() END,
    next_try_at = clock_timestamp() + %(again_seconds)s * interval '1 second'
WHERE id = %(id)s AND state = 'waiting'
"""

_PUT_BACK: Final = """
UPDATE cell.webhook_deliveries
SET tries = tries - 1, next_try_at = clock_timestamp() + %(again_seconds)s * interval '1 second'
WHERE id = %(id)s AND state = 'waiting'
"""

_WHERE_TO: Final = """
SELECT w.url, w.secret, w.disabled_at, a.platform || ':' || a.handle AS account, t.status, t.reason, p.permalink
FROM cell.webhooks w
JOIN cell.post_targets t ON t.id = %(target_id)s
JOIN cell.accounts a ON a.id = t.account_id
LEFT JOIN cell.target_parts p ON p.target_id = t.id AND p.part_no = 1
WHERE w.id = %(webhook_id)s
"""


def insert(session: Session, values: Mapping[str, Any]) -> None:
    """Add one; `url` and `secret` are encrypted."""
    session.run(_INSERT, values)


def list_all(session: Session) -> list[Row]:
    """List a tenant's webhooks with how their deliveries stand."""
    return session.all(_LIST)


def disable(session: Session, webhook_id: UUID) -> bool:
    """Switch one off; False: there is none, or it is off."""
    return session.run(_DISABLE, {"id": webhook_id}) == 1


def expand(session: Session, history_ids: Sequence[int]) -> int:
    """Make the deliveries of events, each once; returns how many."""
    return session.run(_EXPAND, {"ids": list(history_ids)})


def take(session: Session, *, limit: int, each: int, seconds: float, resting: Sequence[UUID]) -> list[Row]:
    """Take deliveries that are due for `seconds`, `each` of a webhook at most, none of the webhooks `resting`.

    Returned in the order of their places within their webhook: the first of every webhook first.
    """
    rows = session.all(_TAKE, {"limit": limit, "each": each, "seconds": seconds, "resting": list(resting)})
    return sorted(rows, key=lambda row: int(row["place"]))


def prune(session: Session, *, days: float, limit: int) -> int:
    """Delete deliveries that ended more than `days` ago; returns how many went.

    What was told of whole posts stays: it is told once for all time, and the row is what says that it was.
    """
    return session.run(_PRUNE, {"days": days, "limit": limit})


def settle(
    delivery_id: UUID, *, state: str, http_status: int | None, failure: str | None, again_seconds: float
) -> Statement:
    """Build the statement that records what a try came to; `state`: waiting, delivered or given_up."""
    return _SETTLE, {
        "id": delivery_id,
        "state": state,
        "http_status": http_status,
        "failure": failure,
        "again_seconds": again_seconds,
    }


def put_back(delivery_id: UUID, *, again_seconds: float) -> Statement:
    """Build the statement that gives a delivery back untried."""
    return _PUT_BACK, {"id": delivery_id, "again_seconds": again_seconds}


def where_to(session: Session, *, webhook_id: UUID, target_id: UUID) -> Row | None:
    """Read address and secret (encrypted), and what is told of the target."""
    return session.one(_WHERE_TO, {"webhook_id": webhook_id, "target_id": target_id})
