"""`publish_dispatch_index`, counted: how much waits, and how late the latest of it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from socialq.store.sessions import Row, Session

# `ready_at` is past holds, so that what a platform told to wait is not late. An index on it serves both.
_COUNTS: Final = """
SELECT count(*) FILTER (WHERE status = 'enqueued')::integer AS enqueued,
       count(*) FILTER (WHERE status = 'pending' AND ready_at <= now())::integer AS due,
       COALESCE(extract(epoch FROM now() - min(ready_at) FILTER (
           WHERE status = 'pending' AND ready_at <= now())), 0)::float8 AS oldest_due_seconds,
       COALESCE(extract(epoch FROM now() - min(enqueued_at) FILTER (
           WHERE status = 'enqueued')), 0)::float8 AS oldest_enqueued_seconds
FROM central.publish_dispatch_index
WHERE status = 'enqueued' OR (status = 'pending' AND ready_at <= now())
"""


def read(session: Session) -> Row:
    """Count what is due and what is out, with the age of the oldest of each in seconds."""
    row = session.one(_COUNTS)
    return row or {"enqueued": 0, "due": 0, "oldest_due_seconds": 0.0, "oldest_enqueued_seconds": 0.0}
