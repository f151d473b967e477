"""`heartbeats`: when each window last looked and each worker last consumed, so that a dead one is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from socialq.store.sessions import Row, Session, Statement

TICKS: Final = "beat"
"""The heartbeat of beat itself: each of its ticks that a worker got."""

_BEAT = """
INSERT INTO central.heartbeats (name, beat_at, detail) VALUES (%(name)s, clock_timestamp(), %(detail)s)
ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at, detail = excluded.detail
"""

_ALL = """
SELECT name, beat_at, extract(epoch FROM clock_timestamp() - beat_at)::float8 AS age_seconds, detail
FROM central.heartbeats ORDER BY name
"""

_DETAIL = "SELECT detail FROM central.heartbeats WHERE name = %(name)s"

# Only processes' own: a window's heartbeat stays, however old, because its age is what alarms.
_FORGET = """
DELETE FROM central.heartbeats
WHERE name LIKE 'canary:%%' AND beat_at < clock_timestamp() - %(after_seconds)s * interval '1 second'
"""


def beat(name: str, detail: Mapping[str, Any] | None = None) -> Statement:
    """Build the statement that says: `name` was alive now."""
    return _BEAT, {"name": name, "detail": Jsonb(dict(detail or {}))}


def read_all(session: Session) -> list[Row]:
    """Read every heartbeat with its age in seconds, by the database's clock."""
    return session.all(_ALL)


def detail_of(session: Session, name: str) -> dict[str, Any] | None:
    """Read what came with a heartbeat; None where there is none."""
    row = session.one(_DETAIL, {"name": name})
    return None if row is None else dict(row["detail"])


def forget(name: str) -> Statement:
    """Build the statement that says: `name` has ended, as it should."""
    return "DELETE FROM central.heartbeats WHERE name = %(name)s", {"name": name}


def forget_workers(session: Session, *, after_seconds: float) -> int:
    """Delete the heartbeats of workers that have been silent for so long; returns how many."""
    return session.run(_FORGET, {"after_seconds": after_seconds})
