"""Accounts' tokens and webhooks' secrets, encrypted, as key rotation sees them: under which key, and their exchange.

Counts go through the machine role, which sees no token; values through the tenant's. An exchange compares the
stored value, so a token that was refreshed meanwhile is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.sessions import Database, Row, Statement

_COUNTS: Final = (
    "SELECT tenant_id, count(*)::integer AS accounts FROM ("
    "SELECT tenant_id FROM cell.accounts UNION ALL SELECT tenant_id FROM cell.webhooks) sealed"
    " GROUP BY tenant_id ORDER BY tenant_id"
)

# What is no value of the vault has no key id either, so it is among them, and can be reported.
_UNDER_OTHER_KEYS: Final = """
SELECT id, access_token, refresh_token FROM cell.accounts
WHERE id > %(after)s
  AND (split_part(access_token, '.', 2) <> %(key_id)s OR split_part(refresh_token, '.', 2) <> %(key_id)s)
ORDER BY id
LIMIT %(limit)s
"""

_WEBHOOKS_UNDER_OTHER_KEYS: Final = """
SELECT id, url, secret FROM cell.webhooks
WHERE split_part(url, '.', 2) <> %(key_id)s OR split_part(secret, '.', 2) <> %(key_id)s
ORDER BY id
"""

_EXCHANGE: Final = {
    "url": "UPDATE cell.webhooks SET url = %(new)s WHERE id = %(id)s AND url = %(old)s RETURNING id",
    "secret": "UPDATE cell.webhooks SET secret = %(new)s WHERE id = %(id)s AND secret = %(old)s RETURNING id",
    "access_token": """
UPDATE cell.accounts SET access_token = %(new)s WHERE id = %(id)s AND access_token = %(old)s RETURNING id
""",
    "refresh_token": """
UPDATE cell.accounts SET refresh_token = %(new)s WHERE id = %(id)s AND refresh_token = %(old)s RETURNING id
""",
}


def accounts_of_tenants(machine: Database) -> dict[UUID, int]:
    """Count the accounts, and the webhooks, of every tenant that has any."""
    return {row["tenant_id"]: row["accounts"] for row in machine.autocommit(_COUNTS)}


def under_other_keys(app: Database, tenant_id: UUID, *, key_id: str, after: UUID, limit: int) -> list[Row]:
    """Read a tenant's accounts (id, access_token, refresh_token) with a token under another key than `key_id`."""
    statement = (_UNDER_OTHER_KEYS, {"key_id": key_id, "after": after, "limit": limit})
    [rows] = app.pipelined(statement, tenant=tenant_id, actor="key_rotation")
    return rows


def webhooks_under_other_keys(app: Database, tenant_id: UUID, *, key_id: str) -> list[Row]:
    """Read a tenant's webhooks (id, url, secret) with a value under another key than `key_id`."""
    statement = (_WEBHOOKS_UNDER_OTHER_KEYS, {"key_id": key_id})
    [rows] = app.pipelined(statement, tenant=tenant_id, actor="key_rotation")
    return rows


def exchange(*, account_id: UUID, field: str, old: str, new: str) -> Statement:
    """Build the exchange of one value; no row: it is another one by now. `field`: of an account or a webhook."""
    return _EXCHANGE[field], {"id": account_id, "old": old, "new": new}
