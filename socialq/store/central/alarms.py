"""`alarms`: what a person should know of, one open row per key, counted, with an all-clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from uuid import UUID

    from socialq.store.sessions import Database, Row, Session

_RAISE = """
INSERT INTO central.alarms AS a (key, tenant_id, message)
VALUES (%(key)s, %(tenant_id)s, %(message)s)
ON CONFLICT (key) WHERE resolved_at IS NULL DO UPDATE
SET times = a.times + 1, last_at = now(), message = excluded.message
RETURNING times = 1 AS fresh
"""

_CLEAR = "UPDATE central.alarms SET resolved_at = now() WHERE key = %(key)s AND resolved_at IS NULL"

_CLEAR_OTHERS = """
UPDATE central.alarms SET resolved_at = now()
WHERE resolved_at IS NULL AND split_part(key, ':', 1) = ANY (%(kinds)s) AND NOT key = ANY (%(keep)s)
RETURNING key
"""

_OPEN_OF = """
SELECT key, tenant_id, times, extract(epoch FROM clock_timestamp() - last_at)::float8 AS age_seconds
FROM central.alarms WHERE resolved_at IS NULL AND split_part(key, ':', 1) = ANY (%(kinds)s) ORDER BY id
"""

_CLEAR_UNLESS_RAISED = """
UPDATE central.alarms SET resolved_at = now()
WHERE resolved_at IS NULL AND key = %(key)s AND times = %(times)s RETURNING id
"""

_OPEN_KEYS = "SELECT key FROM central.alarms WHERE resolved_at IS NULL"

# An alarm that opened and closed before anybody was told is not told at all. The oldest first; what another sender
# has taken is left to it for a while.
_TAKE_UNTOLD = """
UPDATE central.alarms a SET telling_until = clock_timestamp() + %(seconds)s * interval '1 second'
FROM (
    SELECT id FROM central.alarms
    WHERE (resolved_at IS NULL) = (told_at IS NULL) AND clear_told_at IS NULL
      AND (telling_until IS NULL OR telling_until < clock_timestamp())
    ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED) u
WHERE a.id = u.id
RETURNING a.id, a.key, a.message, a.raised_at, a.resolved_at
"""

_TOLD = """
UPDATE central.alarms
SET telling_until = NULL, told_at = COALESCE(told_at, clock_timestamp()),
    clear_told_at = CASE WHEN told_at IS NOT NULL AND resolved_at IS NOT NULL THEN clock_timestamp() END
WHERE id = ANY (%(ids)s)
"""

_GIVE_BACK = "UPDATE central.alarms SET telling_until = NULL WHERE id = ANY (%(ids)s)"

_OPEN = """
SELECT key, tenant_id, message, raised_at, last_at, times FROM central.alarms
WHERE resolved_at IS NULL ORDER BY raised_at
"""


def raise_alarm(database: Database, *, key: str, message: str, tenant_id: UUID | None = None) -> bool:
    """Open the alarm of `key`, or count it once more; returns whether it was opened."""
    [row] = database.autocommit(_RAISE, {"key": key, "tenant_id": tenant_id, "message": message})
    return bool(row["fresh"])


def clear(database: Database, *, key: str) -> None:
    """Close the alarm of `key`, if it is open."""
    database.autocommit(_CLEAR, {"key": key})


def clear_others(database: Database, *, kinds: Collection[str], keep: Collection[str]) -> list[str]:
    """Close the open alarms of these kinds, all but those to keep; returns their keys."""
    rows = database.autocommit(_CLEAR_OTHERS, {"kinds": list(kinds), "keep": list(keep)})
    return [row["key"] for row in rows]


def open_of(database: Database, *, kinds: Collection[str]) -> list[Row]:
    """Read the open alarms of some kinds: key, tenant_id, times, and how many seconds ago each was raised last."""
    return database.autocommit(_OPEN_OF, {"kinds": list(kinds)})


def clear_unless_raised(database: Database, *, key: str, times: int) -> bool:
    """Close an alarm that was raised so many times; False: it is closed, or was raised once more since."""
    return bool(database.autocommit(_CLEAR_UNLESS_RAISED, {"key": key, "times": times}))


def open_keys(database: Database) -> list[str]:
    """Read the keys of the open alarms."""
    return [row["key"] for row in database.autocommit(_OPEN_KEYS)]


def take_untold(database: Database, *, limit: int, seconds: float) -> list[Row]:
    """Take alarms that opened, or that were told and are over, for `seconds`: to be told by nobody else meanwhile."""
    rows = database.autocommit(_TAKE_UNTOLD, {"limit": limit, "seconds": seconds})
    return sorted(rows, key=lambda row: int(row["id"]))


def told(database: Database, ids: Sequence[int]) -> None:
    """Note that these were told."""
    database.autocommit(_TOLD, {"ids": list(ids)})


def give_back(database: Database, ids: Sequence[int]) -> None:
    """Let these be told by another: they could not be sent."""
    database.autocommit(_GIVE_BACK, {"ids": list(ids)})


def open_alarms(session: Session) -> list[Row]:
    """List the open alarms, oldest first."""
    return session.all(_OPEN)
