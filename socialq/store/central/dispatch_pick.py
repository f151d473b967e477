"""What the dispatcher takes from `publish_dispatch_index`: picks, messages sent again, rows put back.

Bounds arrive; rows that became `enqueued` leave. What must stay true: a row is enqueued before its message is
sent; picks are fair across tenants; what a pick reads is bounded, however much is due, held, or waits for an
account or a platform that is busy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg.types.json import Jsonb

from socialq.store.central.dispatch_index import HELD_UNTIL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.store.sessions import Row, Session, Statement

# Who gets a place. Rows that are due and whose account has nothing out yet are ranked within their tenant, and
# first places go before second ones: one tenant's thousand posts don't delay another's one. Bounds: `room` in
# the queue, a share of it for each tenant, and for each platform as many messages that have been out for more
# than a second as `slow_cap`, so that a platform that hangs takes only its share of the workers.
#
# Order by the index on (ready_at, target_id) as long as everything that is due fits into `scan` rows. Where it
# does not, the oldest rows may all be one tenant's: then tenants are walked one by one, on (tenant_id,
# ready_at), and each gives its first rows. Of those, the ones that can't go (their account or platform is busy)
# are put off, so that the next pick sees what is behind them: an account's next ones come when it is freed, or
# ten seconds later; a slow platform's, seconds later. SKIP LOCKED: a second dispatcher takes other rows.
#
# Held rows have a later `ready_at`, all but those that were mirrored by a statement that began before their hold
# was set. The few rows that would go out are therefore asked once more, and pushed to their hold's end.
_PICK = f"""
WITH RECURSIVE saturated AS MATERIALIZED (
    SELECT count(*) = %(scan)s AS yes FROM (
        SELECT FROM central.publish_dispatch_index
        WHERE lane = %(lane)s AND status = 'pending' AND ready_at <= now() ORDER BY ready_at LIMIT %(scan)s) s
), out AS MATERIALIZED (
    SELECT tenant_id, platform, enqueued_at FROM central.publish_dispatch_index
    WHERE lane = %(lane)s AND status = 'enqueued'
), room AS MATERIALIZED (
    SELECT GREATEST(0, LEAST(%(limit)s, %(max_enqueued)s - count(*))) AS places FROM out
), slow AS MATERIALIZED (
    SELECT platform FROM out WHERE enqueued_at < now() - interval '1 second'
    GROUP BY platform HAVING count(*) >= %(slow_cap)s
), tenants AS (
    SELECT (SELECT i.tenant_id FROM central.publish_dispatch_index i
            WHERE i.lane = %(lane)s AND i.status = 'pending' ORDER BY i.tenant_id LIMIT 1) AS tenant_id
    WHERE (SELECT yes FROM saturated)
    UNION ALL
    SELECT (SELECT i.tenant_id FROM central.publish_dispatch_index i
            WHERE i.lane = %(lane)s AND i.status = 'pending' AND i.tenant_id > t.tenant_id ORDER BY i.tenant_id LIMIT 1)
    FROM tenants t WHERE t.tenant_id IS NOT NULL
), due AS MATERIALIZED (
    (SELECT i.target_id, i.lane, i.tenant_id, i.account_id, i.platform, i.ready_at, i.kind
     FROM central.publish_dispatch_index i
     WHERE NOT (SELECT yes FROM saturated) AND i.lane = %(lane)s AND i.status = 'pending' AND i.ready_at <= now()
     ORDER BY i.ready_at, i.target_id
     LIMIT %(scan)s)
    UNION ALL
    SELECT r.* FROM tenants t CROSS JOIN LATERAL (
        SELECT i.target_id, i.lane, i.tenant_id, i.account_id, i.platform, i.ready_at, i.kind
        FROM central.publish_dispatch_index i
        WHERE i.lane = %(lane)s AND i.tenant_id = t.tenant_id AND i.status = 'pending' AND i.ready_at <= now()
        ORDER BY i.ready_at
        LIMIT GREATEST(20, %(scan)s / (SELECT count(*) FROM tenants))) r
), judged AS MATERIALIZED (
    SELECT d.*, d.platform IN (SELECT platform FROM slow) AS slow,
           EXISTS (SELECT FROM central.publish_dispatch_index e
                   WHERE e.account_id = d.account_id AND e.lane = %(lane)s AND e.status = 'enqueued') AS busy
    FROM due d
), first_of_account AS MATERIALIZED (
    -- A look goes before a publish of its account: it may be what the publish waits for.
    SELECT DISTINCT ON (account_id) * FROM judged WHERE NOT slow AND NOT busy
    ORDER BY account_id, kind = 'look' DESC, ready_at, target_id
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY tenant_id ORDER BY ready_at, target_id) AS place
    FROM first_of_account
), chosen AS MATERIALIZED (
    SELECT r.target_id, r.lane FROM ranked r
    LEFT JOIN (SELECT tenant_id, count(*) AS messages FROM out GROUP BY tenant_id) o USING (tenant_id)
    WHERE r.place + COALESCE(o.messages, 0) <= %(tenant_cap)s
    ORDER BY r.place, r.ready_at, r.target_id
    LIMIT (SELECT places FROM room)
), locked AS MATERIALIZED (
    SELECT i.target_id, i.lane, {HELD_UNTIL.format(row="i", kind="i.kind")} AS held_until
    FROM central.publish_dispatch_index i JOIN chosen c USING (target_id, lane)
    WHERE i.status = 'pending' AND i.ready_at <= now()
    FOR UPDATE OF i SKIP LOCKED
), pushed AS (
    UPDATE central.publish_dispatch_index i SET ready_at = l.held_until, updated_at = now()
    FROM locked l
    WHERE i.target_id = l.target_id AND i.lane = l.lane AND l.held_until IS NOT NULL
), in_the_way AS MATERIALIZED (
    SELECT i.target_id, i.lane, j.busy
    FROM central.publish_dispatch_index i JOIN judged j USING (target_id, lane)
    WHERE (SELECT yes FROM saturated) AND (j.busy OR j.slow) AND j.kind <> 'look'
      AND i.status = 'pending' AND i.ready_at <= now()
    FOR UPDATE OF i SKIP LOCKED
), put_off AS (
    UPDATE central.publish_dispatch_index i
    SET ready_at = now() + CASE WHEN w.busy THEN interval '10 seconds' ELSE interval '5 seconds' END,
        waits_for_account = w.busy, updated_at = now()
    FROM in_the_way w
    WHERE i.target_id = w.target_id AND i.lane = w.lane
), picked AS (
    UPDATE central.publish_dispatch_index i
    SET status = 'enqueued', waits_for_account = false, sends = i.sends + 1, enqueued_at = now(),
        resend_at = now() + %(resend_seconds)s * interval '1 second', updated_at = now()
    FROM locked l
    WHERE i.target_id = l.target_id AND i.lane = l.lane AND l.held_until IS NULL
    RETURNING i.target_id, i.lane, i.tenant_id, i.seq, i.kind, i.ready_at
)
SELECT p.*, s.yes AS saturated, r.places, EXISTS (SELECT FROM in_the_way) AS put_off,
       (SELECT count(*) FROM first_of_account) > (SELECT count(*) FROM chosen)
       OR EXISTS (SELECT FROM slow)
       OR EXISTS (SELECT FROM locked WHERE held_until IS NOT NULL) AS held_back
FROM saturated s CROSS JOIN room r LEFT JOIN picked p ON true
"""

_ENQUEUED = """
SELECT count(*) AS enqueued FROM central.publish_dispatch_index WHERE lane = %(lane)s AND status = 'enqueued'
"""

_NEXT_READY = """
SELECT extract(epoch FROM min(ready_at) - clock_timestamp())::float8 AS seconds
FROM central.publish_dispatch_index
WHERE lane = %(lane)s AND status = 'pending' AND ready_at > now()
"""

_PUT_BACK = f"""
UPDATE central.publish_dispatch_index i
SET status = 'pending', ready_at = GREATEST(i.due_at, {HELD_UNTIL.format(row="i", kind="i.kind")}), enqueued_at = NULL,
    resend_at = NULL, sends = GREATEST(i.sends - 1, 0), updated_at = now()
FROM jsonb_to_recordset(%(rows)s) AS r (target_id uuid, lane text, seq bigint)
WHERE i.target_id = r.target_id AND i.lane = r.lane AND i.seq = r.seq AND i.status = 'enqueued'
"""

# Doubling: 15 s, 30 s, … at most ten minutes. A row that is answered meanwhile is not enqueued any more.
_RESEND = """
WITH silent AS MATERIALIZED (
    SELECT target_id, lane FROM central.publish_dispatch_index
    WHERE lane = %(lane)s AND status = 'enqueued' AND resend_at <= now()
    ORDER BY resend_at
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
)
UPDATE central.publish_dispatch_index i
SET sends = i.sends + 1,
    resend_at = now() + LEAST(%(base_seconds)s * 2.0 ^ LEAST(i.sends, 20), %(cap_seconds)s) * interval '1 second',
    updated_at = now()
FROM silent s
WHERE i.target_id = s.target_id AND i.lane = s.lane
RETURNING i.target_id, i.lane, i.tenant_id, i.seq, i.kind, i.sends, i.ready_at
"""


def pick(
    *,
    lane: str,
    limit: int,
    scan: int,
    max_enqueued: int,
    tenant_cap: int,
    slow_cap: int,
    resend_seconds: float,
) -> Statement:
    """Build the pick: pending and due rows become enqueued.

    Each row of the answer is what a message needs, with `saturated` (more was due than `scan`), `places` (room
    there was in the queue), `put_off` (rows that stood in the way do so no more) and `held_back` (a bound kept
    something that is due from being picked); where nothing was picked there is one row with a NULL target_id.
    """
    return _PICK, {
        "lane": lane,
        "limit": limit,
        "scan": scan,
        "max_enqueued": max_enqueued,
        "tenant_cap": tenant_cap,
        "slow_cap": slow_cap,
        "resend_seconds": resend_seconds,
    }


def enqueued(*, lane: str) -> Statement:
    """Build the count of enqueued rows of a lane."""
    return _ENQUEUED, {"lane": lane}


def next_ready(*, lane: str) -> Statement:
    """Build the question how many seconds from now the next row is ready; NULL where there is none."""
    return _NEXT_READY, {"lane": lane}


def put_back(session: Session, rows: Sequence[Row]) -> int:
    """Make rows pending again whose messages could not be sent."""
    keys = [{"target_id": str(row["target_id"]), "lane": row["lane"], "seq": row["seq"]} for row in rows]
    return session.run(_PUT_BACK, {"rows": Jsonb(keys)})


def resend(session: Session, *, lane: str, limit: int, base_seconds: float, cap_seconds: float) -> list[Row]:
    """Take enqueued rows that nobody answered, to send their message again."""
    return session.all(
        _RESEND, {"lane": lane, "limit": limit, "base_seconds": base_seconds, "cap_seconds": cap_seconds}
    )
