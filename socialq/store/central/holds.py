"""`holds`: times before which nothing is sent on an account, through an app, on a platform, of a cell or tenant."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

from socialq.store.central import alarms, dispatch_index

if TYPE_CHECKING:
    from socialq.store.sessions import Database, Session

Scope = Literal["account", "app", "platform", "cell", "tenant"]

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

# A later end wins, with its reason: two answers that race never shorten a hold, and a person's hold is never
# mistaken for a machine's, which the machine would lift. A person lifts any by `lift`.
_SET = """
INSERT INTO central.holds AS h (scope, key, until, reason, set_by)
VALUES (%(scope)s, %(key)s, %(until)s, %(reason)s, %(set_by)s)
ON CONFLICT (scope, key) DO UPDATE
SET until = GREATEST(h.until, excluded.until), set_at = now(),
    reason = CASE WHEN excluded.until >= h.until THEN excluded.reason ELSE h.reason END,
    set_by = CASE WHEN excluded.until >= h.until THEN excluded.set_by ELSE h.set_by END
RETURNING until, reason
"""

_CURRENT = """
SELECT until FROM central.holds WHERE scope = %(scope)s AND key = %(key)s AND until > now() FOR UPDATE
"""

_LIFT = """
DELETE FROM central.holds
WHERE scope = %(scope)s AND key = %(key)s AND (%(reason)s::text IS NULL OR reason = %(reason)s)
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


def set_hold(database: Database, *, scope: Scope, key: str, until: datetime, reason: str, set_by: str) -> int:
    """Hold a scope until an instant and push its pending rows there, in batches of their own transactions.

    Returns how many posts it outlasts: their publish-by time comes before its end. That raises an alarm, too.
    """
    with database.transaction(actor=set_by) as session:
        held = session.one(
            _SET, {"scope": scope, "key": key, "until": until, "reason": reason, "set_by": set_by}
        )
    longer = held is not None and held["until"] > until
    if held is not None:
        until, reason = held["until"], held["reason"]
    if not longer:
        _reapply(database, scope=scope, key=key, until=until)
    statement = _OUTLASTED.format(column=_COLUMN_OF_SCOPE[scope])
    outlasted = int(database.autocommit(statement, {"key": key, "until": until})[0]["rows"])
    if outlasted:
        message = (
            f"{outlasted} posts will expire: the hold on {scope} {key} ({reason}) lasts until"
            f" {until:%Y-%m-%d %H:%M} UTC, past their publish-by times"
        )
        alarms.raise_alarm(database, key=f"hold:{scope}:{key}", message=message)
    return outlasted


def lift(database: Database, *, scope: Scope, key: str, actor: str, reason: str | None = None) -> bool:
    """End a hold early and let its rows go at their own times; False where there was none (for that reason)."""
    with database.transaction(actor=actor) as session:
        lifted = session.run(_LIFT, {"scope": scope, "key": key, "reason": reason}) == 1
    if lifted:
        _reapply(database, scope=scope, key=key, until=_BEFORE_EVERYTHING)
        alarms.clear(database, key=f"hold:{scope}:{key}")
        database.notify(dispatch_index.CHANNEL)
    return lifted


def out_already(database: Database, *, scope: Scope, key: str) -> int:
    """Count the messages of a scope that are out: a hold does not call them back."""
    column = _COLUMN_OF_SCOPE[scope]
    [row] = database.autocommit(_OUT.format(column=column), {"key": key})
    return int(row["rows"])


def current(session: Session) -> list[dict[str, object]]:
    """List the holds that have not ended."""
    return session.all(
        "SELECT scope, key, until, reason, set_by, set_at FROM central.holds WHERE until > now() ORDER BY until"
    )


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
