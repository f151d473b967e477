"""Accounts' encrypted tokens, as key rotation sees them: which key each is under, and its exchange.

Counts go through the machine role, which sees no token; values through the tenant's. An exchange compares the
stored value, so a token that was refreshed meanwhile is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.sessions import Database, Row, Statement

_COUNTS: Final = (
    "SELECT tenant_id, count(*)::integer AS accounts FROM cell.accounts GROUP BY tenant_id ORDER BY tenant_id"
)

# What is no value of the vault has no key id either, so it is among them, and can be reported.
_UNDER_OTHER_KEYS: Final = """
SELECT id, access_token, refresh_token FROM cell.accounts
WHERE id > %(after)s
  AND (split_part(access_token, '.', 2) <> %(key_id)s OR split_part(refresh_token, '.', 2) <> %(key_id)s)
ORDER BY id
LIMIT %(limit)s
"""

_EXCHANGE: Final = {
    "access_token": """
UPDATE cell.accounts SET access_token = %(new)s WHERE id = %(id)s AND access_token = %(old)s RETURNING id
""",
    "refresh_token": """
UPDATE cell.accounts SET refresh_token = %(new)s WHERE id = %(id)s AND refresh_token = %(old)s RETURNING id
""",
}


def accounts_of_tenants(machine: Database) -> dict[UUID, int]:
    """Count the accounts of every tenant that has any."""
    return {row["tenant_id"]: row["accounts"] for row in machine.autocommit(_COUNTS)}


def under_other_keys(app: Database, tenant_id: UUID, *, key_id: str, after: UUID, limit: int) -> list[Row]:
    """Read a tenant's accounts (id, access_token, refresh_token) with a token under another key than `key_id`."""
    statement = (_UNDER_OTHER_KEYS, {"key_id": key_id, "after": after, "limit": limit})
    [rows] = app.pipelined(statement, tenant=tenant_id, actor="key_rotation")
    return rows


def exchange(*, account_id: UUID, field: str, old: str, new: str) -> Statement:
    """Build the exchange of one token; no row: it is another one by now. `field`: access_token or refresh_token."""
    return _EXCHANGE[field], {"id": account_id, "old": old, "new": new}
