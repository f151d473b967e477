"""`key_checks`: one encrypted value for each key that was ever the active one, to tell a wrong key from a right one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from socialq.store.sessions import Database

_KEEP: Final = """
INSERT INTO central.key_checks (key_id, value) VALUES (%(key_id)s, %(value)s) ON CONFLICT (key_id) DO NOTHING
"""


def read(central: Database) -> dict[str, str]:
    """Read the values by key id."""
    rows = central.autocommit("SELECT key_id, value FROM central.key_checks")
    return {row["key_id"]: row["value"] for row in rows}


def keep(central: Database, *, key_id: str, value: str) -> None:
    """Keep a key's value; the first one stays."""
    central.autocommit(_KEEP, {"key_id": key_id, "value": value})
