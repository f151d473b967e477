"""`alarms`: what a person should know of, one open row per key, counted, with an all-clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.sessions import Database, Row, Session

_RAISE = """
INSERT INTO central.alarms AS a (key, tenant_id, message)
VALUES (%(key)s, %(tenant_id)s, %(message)s)
ON CONFLICT (key) WHERE resolved_at IS NULL DO UPDATE
SET times = a.times + 1, last_at = now(), message = excluded.message
"""

_CLEAR = "UPDATE central.alarms SET resolved_at = now() WHERE key = %(key)s AND resolved_at IS NULL"

_OPEN = """
SELECT key, tenant_id, message, raised_at, last_at, times FROM central.alarms
WHERE resolved_at IS NULL ORDER BY raised_at
"""


def raise_alarm(database: Database, *, key: str, message: str, tenant_id: UUID | None = None) -> None:
    """Open the alarm of `key`, or count it once more."""
    database.autocommit(_RAISE, {"key": key, "tenant_id": tenant_id, "message": message})


def clear(database: Database, *, key: str) -> None:
    """Close the alarm of `key`, if it is open."""
    database.autocommit(_CLEAR, {"key": key})


def open_alarms(session: Session) -> list[Row]:
    """List the open alarms, oldest first."""
    return session.all(_OPEN)
