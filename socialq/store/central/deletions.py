"""`deletions`: deletions that people have asked a platform for; kept without anything that says who they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.store.sessions import Database, Row

_INSERT = """
INSERT INTO central.deletions (code, client_id, requested_at, accounts)
VALUES (%(code)s, %(client_id)s, %(requested_at)s, %(accounts)s)
RETURNING code, requested_at, done_at, accounts
"""

_READ = "SELECT code, requested_at, done_at, accounts FROM central.deletions WHERE code = %(code)s"


def insert(database: Database, *, code: str, client_id: str, requested_at: datetime, accounts: int) -> Row:
    """Keep that a deletion is done, for whoever knows its code."""
    values = {"code": code, "client_id": client_id, "requested_at": requested_at, "accounts": accounts}
    (row,) = database.autocommit(_INSERT, values)
    return row


def read(database: Database, code: str) -> Row | None:
    """Read a deletion by its code."""
    rows = database.autocommit(_READ, {"code": code})
    return rows[0] if rows else None
