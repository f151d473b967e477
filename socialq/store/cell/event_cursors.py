"""`machine.event_cursors`: how far each consumer of a cell's events has come, and the events that follow.

An event is a line of `target_history`: nothing is written for it but that line. Lines are read in the order of the
transactions that wrote them, and only those of transactions older than every one that still runs: among these none can
appear any more, so no consumer ever passes a line that it has not seen, however late it commits.
https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import Row, Session

_ADD: Final = "INSERT INTO machine.event_cursors (consumer) VALUES (%(consumer)s) ON CONFLICT DO NOTHING"

# The counter of transactions has gone back: the database was loaded from a dump into another server.
_TAKE: Final = """
SELECT xact, history_id, last_at, since, failures,
       xact >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS counted_anew
FROM machine.event_cursors WHERE consumer = %(consumer)s AND next_try_at <= clock_timestamp()
FOR UPDATE SKIP LOCKED
"""

_AFTER: Final = """
SELECT id, xact, tenant_id, name, target_id, at, from_status, to_status, reason FROM cell.events
WHERE (xact, id) > (%(xact)s, %(history_id)s) AND at > %(since)s
  AND (%(counted_anew)s OR xact < pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
ORDER BY xact, id LIMIT %(limit)s
"""

_ADVANCE: Final = """
UPDATE machine.event_cursors
SET xact = %(xact)s, history_id = %(history_id)s, last_at = GREATEST(last_at, %(at)s), failures = 0, failure = NULL,
    updated_at = clock_timestamp()
WHERE consumer = %(consumer)s
"""

_COUNT_ANEW: Final = """
UPDATE machine.event_cursors SET xact = 0, history_id = 0, since = last_at, updated_at = clock_timestamp()
WHERE consumer = %(consumer)s
"""

_FAILED: Final = """
UPDATE machine.event_cursors
SET failures = failures + 1, failure = %(failure)s, updated_at = clock_timestamp(),
    next_try_at = clock_timestamp() + LEAST(300, 2 ^ LEAST(failures, 10)) * interval '1 second'
WHERE consumer = %(consumer)s RETURNING failures
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """That a target has moved to a state which others are told of."""

    id: int
    """Of the line of history."""
    xact: int
    tenant_id: UUID
    name: str
    """`post_target.published`, `post_target.unknown_outcome`, …"""
    target_id: UUID
    at: datetime
    from_status: str | None
    to_status: str
    reason: str | None


def add(session: Session, consumer: str) -> None:
    """Make a consumer known, at the very beginning."""
    session.run(_ADD, {"consumer": consumer})


def take(session: Session, consumer: str) -> Row | None:
    """Lock a consumer's place until the transaction's end; None: another has it, or it waits after a failure."""
    return session.one(_TAKE, {"consumer": consumer})


def after(session: Session, place: Row, *, limit: int) -> list[Event]:
    """Read the events after a place that `take` returned."""
    values = {name: place[name] for name in ("xact", "history_id", "since", "counted_anew")}
    return [Event(**row) for row in session.all(_AFTER, {**values, "limit": limit})]


def advance(session: Session, consumer: str, events: Sequence[Event]) -> None:
    """Move a consumer's place behind events."""
    last = events[-1]
    values = {
        "consumer": consumer,
        "xact": last.xact,
        "history_id": last.id,
        "at": max(one.at for one in events),
    }
    session.run(_ADVANCE, values)


def count_anew(session: Session, consumer: str) -> None:
    """Begin with small transaction numbers again, and with nothing that is older than the last event."""
    session.run(_COUNT_ANEW, {"consumer": consumer})


def failed(session: Session, consumer: str, *, failure: str) -> int:
    """Note that a consumer failed, and let it wait: 1 s, doubling to five minutes; returns how often in a row."""
    row = session.one(_FAILED, {"consumer": consumer, "failure": failure})
    return 0 if row is None else int(row["failures"])
