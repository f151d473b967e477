"""What the alarms read: the schedule itself, as the cells and the central database have it.

Through the machine and the central role: ids, states and instants of all tenants. Names and links, which an alarm
shows to the operator, are read as the tenant that they are of. What must stay true: nothing is asked of any job; ages
are by the databases' clocks; the statements walk indexes, however many rows wait for a hold or for next week.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from socialq.store.central import heartbeats, holds, index_counts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from uuid import UUID

    from socialq.store.sessions import CellDatabases, Database, Row, Session

# Work whose time has passed and that nobody has a reason not to have done: not held, its tenant and account at work,
# its account not taken by a target that is itself in time. `holds` are those that end late enough to count.
_LATE: Final = """
SELECT t.tenant_id, t.id AS target_id, t.post_id, t.account_id, t.platform, t.status, t.next_kind AS kind, t.seq,
       extract(epoch FROM clock_timestamp()
               - CASE WHEN t.status = 'publishing' THEN t.lease_until ELSE t.next_at END)::float8 AS late_seconds
FROM cell.post_targets t
JOIN cell.accounts a ON a.id = t.account_id
JOIN cell.tenant_state s ON s.tenant_id = t.tenant_id
CROSS JOIN LATERAL (SELECT clock_timestamp() - %(seconds)s * interval '1 second' AS before) l
WHERE t.next_kind IS NOT NULL AND t.next_at < l.before
  AND (t.status <> 'publishing' OR t.lease_until < l.before)
  AND NOT (t.next_kind = 'publish'
           AND (s.status <> 'active' OR s.stopped_at IS NOT NULL OR a.status = 'disabled'))
  AND (a.hold_until IS NULL OR a.hold_until < l.before)
  AND NOT (t.tenant_id::text = ANY (%(tenants)s) OR t.account_id::text = ANY (%(accounts)s)
           OR t.platform = ANY (%(platforms)s) OR a.provider_app_id::text = ANY (%(apps)s))
  AND NOT EXISTS (
      SELECT FROM cell.post_targets o
      WHERE o.account_id = t.account_id AND o.holds_account AND o.id <> t.id
        AND CASE WHEN o.status = 'publishing' THEN o.lease_until ELSE o.next_at END > l.before)
ORDER BY t.next_at
LIMIT %(limit)s
"""

_TWICE: Final = """
SELECT DISTINCT s.tenant_id, s.target_id, t.post_id, t.account_id
FROM cell.sightings s
JOIN cell.post_targets t ON t.id = s.target_id
WHERE (s.first_seen_at > now() - %(seconds)s * interval '1 second' OR s.target_id = ANY (%(known)s))
  AND (SELECT count(*) FROM cell.sightings o WHERE o.target_id = s.target_id AND o.part_no = s.part_no) > 1
LIMIT %(limit)s
"""

_COPIES: Final = """
SELECT s.part_no, s.remote_id, p.permalink
FROM cell.sightings s
LEFT JOIN cell.target_parts p ON p.target_id = s.target_id AND p.part_no = s.part_no AND p.remote_id = s.remote_id
WHERE s.target_id = %(id)s AND NOT EXISTS (
    SELECT FROM cell.takedowns d
    WHERE d.target_id = s.target_id AND d.remote_id = s.remote_id AND d.state = 'taken_down')
ORDER BY s.part_no, p.permalink IS NULL, s.first_seen_at
"""

_UNUSABLE: Final = """
SELECT tenant_id, id AS account_id, platform, status, token_expires_at FROM cell.accounts
WHERE status = 'needs_reconnect'
   OR (status = 'active' AND platform = ANY (%(endless)s)
       AND token_expires_at < clock_timestamp() + %(ahead_seconds)s * interval '1 second')
"""

_NEXT_POSTS: Final = """
SELECT account_id, min(due_at) AS next_at, count(*)::integer AS posts FROM central.publish_dispatch_index
WHERE account_id = ANY (%(ids)s) AND lane = 'main' AND kind = 'publish' AND status = 'pending'
GROUP BY account_id
"""

_RESENT: Final = """
SELECT target_id, tenant_id, account_id, sends,
       extract(epoch FROM clock_timestamp() - enqueued_at)::float8 AS out_seconds
FROM central.publish_dispatch_index
WHERE status = 'enqueued' AND sends >= %(sends)s ORDER BY sends DESC, target_id LIMIT %(limit)s
"""

_WAITING: Final = """
SELECT count(*)::integer AS posts FROM central.publish_dispatch_index
WHERE status = 'pending' AND lane = 'main' AND kind = 'publish' AND {column} = %(key)s
"""

_IN_INDEX: Final = """
SELECT target_id, seq, status, sends, ready_at <= now() AS ready FROM central.publish_dispatch_index
WHERE lane = 'main' AND target_id = ANY (%(ids)s)
"""

_ACCOUNT_NAMES: Final = """
SELECT id, platform || ':' || handle AS name FROM cell.accounts WHERE id = ANY (%(ids)s)
"""

_COLUMN_OF_SCOPE: Final = {"account": "account_id", "app": "provider_app_id", "platform": "platform"}
_HELD: Final = """
SELECT scope, key FROM central.holds
WHERE until > clock_timestamp() - %(seconds)s * interval '1 second'
"""


def late(cell: CellDatabases, *, seconds: float, held: Sequence[Row], limit: int) -> list[Row]:
    """Read targets whose next work is overdue by `seconds` without a reason; `held` is what `held` returned."""
    if ("cell", cell.name) in {(row["scope"], row["key"]) for row in held}:
        return []
    values = {
        f"{scope}s": [row["key"] for row in held if row["scope"] == scope]
        for scope in ("tenant", "account", "platform", "app")
    }
    return cell.machine.autocommit(_LATE, {"seconds": seconds, "limit": limit, **values})


def held(central: Database, *, seconds: float) -> list[Row]:
    """Read what is held, or was until `seconds` ago: scope and key."""
    return central.autocommit(_HELD, {"seconds": seconds})


def twice(cell: CellDatabases, *, seconds: float, known: Collection[UUID], limit: int) -> list[Row]:
    """Read targets with two ids for one part, of those seen in the last `seconds` or `known` already."""
    return cell.machine.autocommit(_TWICE, {"seconds": seconds, "known": list(known), "limit": limit})


def copies(cell: CellDatabases, *, tenant_id: UUID, target_id: UUID) -> list[Row]:
    """Read the ids of a target's parts that are live as far as is known, with the links there are."""
    with cell.app.transaction(tenant=tenant_id, actor="watch") as session:
        return session.all(_COPIES, {"id": target_id})


def unusable_accounts(cell: CellDatabases, *, endless: Collection[str], ahead_seconds: float) -> list[Row]:
    """Read accounts that must be connected again, now or, on platforms that refresh nothing, before long."""
    return cell.machine.autocommit(_UNUSABLE, {"endless": list(endless), "ahead_seconds": ahead_seconds})


def next_posts(central: Database, account_ids: Collection[UUID]) -> dict[UUID, Row]:
    """Read when each account's next post is due, and how many wait; an account without any is left out."""
    if not account_ids:
        return {}
    rows = central.autocommit(_NEXT_POSTS, {"ids": list(account_ids)})
    return {row["account_id"]: row for row in rows}


def resent(central: Database, *, sends: int, limit: int) -> list[Row]:
    """Read messages that were sent that often and not answered."""
    return central.autocommit(_RESENT, {"sends": sends, "limit": limit})


def waiting(central: Database, *, scope: str, key: str) -> int:
    """Count the posts that a hold of an account, app or platform keeps."""
    column = _COLUMN_OF_SCOPE[scope]
    return int(central.autocommit(_WAITING.format(column=column), {"key": key})[0]["posts"])


def in_index(central: Database, target_ids: Collection[UUID]) -> dict[UUID, Row]:
    """Read how targets stand in the dispatch index."""
    rows = central.autocommit(_IN_INDEX, {"ids": list(target_ids)})
    return {row["target_id"]: row for row in rows}


def account_names(cell: CellDatabases, *, tenant_id: UUID, account_ids: Collection[UUID]) -> dict[UUID, str]:
    """Read `platform:handle` of a tenant's accounts."""
    with cell.app.transaction(tenant=tenant_id, actor="watch") as session:
        return {row["id"]: row["name"] for row in session.all(_ACCOUNT_NAMES, {"ids": list(account_ids)})}


def central_state(session: Session) -> tuple[Row, list[Row], list[Row]]:
    """Read the index's counts, every heartbeat and every hold, as of one moment."""
    return index_counts.read(session), heartbeats.read_all(session), holds.current(session)
