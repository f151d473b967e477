"""`heartbeats`: when each window last looked, so that a dead scheduler is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from socialq.store.sessions import Row, Session, Statement

_BEAT = """
INSERT INTO central.heartbeats (name, beat_at, detail) VALUES (%(name)s, clock_timestamp(), %(detail)s)
ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at, detail = excluded.detail
"""

_ALL = """
SELECT name, beat_at, extract(epoch FROM clock_timestamp() - beat_at)::float8 AS age_seconds, detail
FROM central.heartbeats ORDER BY name
"""


def beat(name: str, detail: Mapping[str, Any] | None = None) -> Statement:
    """Build the statement that says: `name` was alive now."""
    return _BEAT, {"name": name, "detail": Jsonb(dict(detail or {}))}


def read_all(session: Session) -> list[Row]:
    """Read every heartbeat with its age in seconds, by the database's clock."""
    return session.all(_ALL)
