"""`holds`: times before which nothing goes out on an account, through an app, on a platform, of a cell or tenant.

Several sources may hold the same thing at once: a person, a platform's rate limit, a cell that is down, a state of
the tenant or the account. The latest end counts; each source lifts its own and no other.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

from socialq.store.central import alarms, dispatch_index, troubles

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from socialq.store.sessions import Database, Row, Session

Scope = Literal["account", "app", "platform", "cell", "tenant"]
Source = Literal[
    "person",
    "platform",
    "restricted",
    "breaker",
    "cell_down",
    "suspended",
    "stopped",
    "disabled",
    "monthly_limit",
]

STATES: Final[frozenset[Source]] = frozenset({"suspended", "stopped", "disabled", "monthly_limit"})
"""Sources that follow a state: their holds end with it. What they keep from going out may still be looked for."""

ALL_SOURCES: Final[frozenset[Source]] = STATES | {"person", "platform", "restricted", "breaker", "cell_down"}

_LOOKS_GO_ON: Final = STATES | {"restricted", "breaker"}
"""`restricted`: the platform takes no more posts for a while, and still tells which are live; so after a breaker."""

ENDLESS: Final = datetime(9000, 1, 1, tzinfo=UTC)
"""The end of a hold that lasts until it is lifted."""

_COLUMN_OF_SCOPE: Final = {
    "account": "account_id",
    "app": "provider_app_id",
    "platform": "platform",
    "cell": "cell",
    "tenant": "tenant_id",
}
_NIL: Final = UUID(int=0)
_BATCH: Final = 5000
_BEFORE_EVERYTHING: Final = datetime(1970, 1, 1, tzinfo=UTC)

# A later end wins, with its reason: two answers that race never shorten a hold.
_SET = """
INSERT INTO central.holds AS h (scope, key, source, until, holds_looks, reason, set_by)
SELECT %(scope)s, k.key, %(source)s, %(until)s, %(holds_looks)s, %(reason)s, %(set_by)s
FROM unnest(%(keys)s::text[]) AS k (key)
ON CONFLICT (scope, key, source) DO UPDATE
SET until = GREATEST(h.until, excluded.until), set_at = now(),
    reason = CASE WHEN excluded.until >= h.until THEN excluded.reason ELSE h.reason END,
    set_by = CASE WHEN excluded.until >= h.until THEN excluded.set_by ELSE h.set_by END
RETURNING until, reason
"""

_COVERED = """
SELECT 1 FROM central.holds
WHERE scope = %(scope)s AND key = %(key)s AND source = %(source)s AND until >= %(until)s
"""

_LIFT = """
DELETE FROM central.holds
WHERE scope = %(scope)s AND key = ANY (%(keys)s::text[]) AND source = ANY (%(sources)s::text[])
"""

_OF = """
SELECT source, reason, until FROM central.holds
WHERE scope = %(scope)s AND key = %(key)s AND until > now() ORDER BY until DESC
"""

_CURRENT = """
SELECT scope, key, source, until, reason, set_by, set_at FROM central.holds
WHERE until > now() ORDER BY until, scope, key
"""

# Rows that a hold keeps from going out in time: said at once, not when they expire.
_OUTLASTED = """
SELECT count(*) AS rows FROM central.publish_dispatch_index
WHERE status = 'pending' AND {column} = %(key)s AND kind = 'publish' AND publish_by <= %(until)s
"""

_OUT = """
SELECT count(*) AS rows FROM central.publish_dispatch_index
WHERE status = 'enqueued' AND lane = 'main' AND {column} = %(key)s
"""

_CLEAR_ALARMS = """
UPDATE central.alarms a SET resolved_at = now()
WHERE a.resolved_at IS NULL AND a.key LIKE 'hold:%%'
  AND NOT EXISTS (SELECT FROM central.holds h WHERE h.until > now() AND a.key = 'hold:' || h.scope || ':' || h.key)
"""


def set_hold(
    database: Database,
    *,
    scope: Scope,
    key: str,
    until: datetime,
    reason: str,
    set_by: str,
    source: Source = "person",
) -> int:
    """Hold a scope until an instant and push its pending rows there, in batches of their own transactions.

    Returns how many posts it outlasts: their publish-by time comes before its end. That raises an alarm, too.
    """
    held = _write(
        database, scope=scope, keys=[key], until=until, reason=reason, set_by=set_by, source=source
    )[0]
    longer = held["until"] > until
    until, reason = held["until"], held["reason"]
    if not longer:
        _reapply(database, scope=scope, key=key, until=until)
    statement = _OUTLASTED.format(column=_COLUMN_OF_SCOPE[scope])
    outlasted = int(database.autocommit(statement, {"key": key, "until": until})[0]["rows"])
    if outlasted:
        ends = "until it is lifted" if until >= ENDLESS else f"until {until:%Y-%m-%d %H:%M} UTC"
        message = (
            f"{outlasted} posts will expire: the hold on {scope} {key} ({reason}) lasts {ends},"
            " past their publish-by times"
        )
        alarms.raise_alarm(database, key=f"hold:{scope}:{key}", message=message)
    return outlasted


def now(database: Database) -> datetime:
    """Read the time by which holds end: that of the central database, not of whoever sets one."""
    at: datetime = database.autocommit("SELECT clock_timestamp() AS at")[0]["at"]
    return at


def set_many(
    database: Database,
    *,
    scope: Scope,
    keys: Sequence[str],
    until: datetime,
    reason: str,
    set_by: str,
    source: Source,
    cell: str,
) -> None:
    """Hold many tenants or accounts of one cell at once; its rows are walked once for all of them."""
    _write(database, scope=scope, keys=keys, until=until, reason=reason, set_by=set_by, source=source)
    _reapply(database, scope="cell", key=cell, until=until)


def is_covered(database: Database, *, scope: Scope, key: str, until: datetime, source: Source) -> bool:
    """Say whether this source's hold lasts that long already: setting it again would walk its rows for nothing."""
    return bool(database.autocommit(_COVERED, {"scope": scope, "key": key, "until": until, "source": source}))


def lift(
    database: Database, *, scope: Scope, key: str, actor: str, sources: Collection[Source] | None = None
) -> bool:
    """End holds early and let their rows go at their own times; False where there was none of these sources."""
    wanted: Collection[str] = ALL_SOURCES if sources is None else sources
    with database.transaction(actor=actor) as session:
        lifted = session.run(_LIFT, {"scope": scope, "keys": [key], "sources": sorted(wanted)}) > 0
        if lifted and "breaker" in wanted:
            # Whoever lifts it has looked: one more failure must not be one too many.
            troubles.forget(session, scope=scope, key=key)
    if lifted:
        _reapply(database, scope=scope, key=key, until=_BEFORE_EVERYTHING)
        clear_ended_alarms(database)
        database.notify(dispatch_index.CHANNEL)
    return lifted


def lift_many(
    database: Database, *, scope: Scope, keys: Sequence[str], actor: str, source: Source, cell: str
) -> None:
    """End many holds of one cell at once."""
    with database.transaction(actor=actor) as session:
        session.run(_LIFT, {"scope": scope, "keys": list(keys), "sources": [source]})
    _reapply(database, scope="cell", key=cell, until=_BEFORE_EVERYTHING)
    clear_ended_alarms(database)
    database.notify(dispatch_index.CHANNEL)


def of(database: Database, *, scope: Scope, key: str) -> list[Row]:
    """Read what holds something now (source, reason, until), the longest first."""
    return database.autocommit(_OF, {"scope": scope, "key": key})


def out_already(database: Database, *, scope: Scope, key: str) -> int:
    """Count the messages of a scope that are out: a hold does not call them back."""
    column = _COLUMN_OF_SCOPE[scope]
    [row] = database.autocommit(_OUT.format(column=column), {"key": key})
    return int(row["rows"])


def current(session: Session) -> list[Row]:
    """List the holds that have not ended."""
    return session.all(_CURRENT)


def clear_ended_alarms(database: Database) -> None:
    """Close the alarms of holds that have ended."""
    database.autocommit(_CLEAR_ALARMS)


def _write(
    database: Database,
    *,
    scope: Scope,
    keys: Sequence[str],
    until: datetime,
    reason: str,
    set_by: str,
    source: Source,
) -> list[Row]:
    values = {
        "scope": scope,
        "keys": sorted(keys),
        "source": source,
        "until": until,
        "holds_looks": source not in _LOOKS_GO_ON,
        "reason": reason,
        "set_by": set_by,
    }
    with database.transaction(actor=set_by) as session:
        return session.all(_SET, values)


def _reapply(database: Database, *, scope: Scope, key: str, until: datetime) -> None:
    after = _NIL
    while True:
        with database.transaction() as session:
            done = dispatch_index.reapply_holds(
                session, column=_COLUMN_OF_SCOPE[scope], key=key, until=until, after=after, limit=_BATCH
            )
        if len(done) < _BATCH:
            return
        after = done[-1]
