"""Encrypted values of the central database, as key rotation sees them: app secrets and cells' addresses.

An exchange compares the stored value, so what was changed meanwhile is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from socialq.store.sessions import Database, Row, Statement

_UNDER_OTHER_KEYS: Final = """
SELECT 'cells' AS "table", 'database_url' AS field, name AS row_id, NULL::uuid AS tenant_id, database_url AS value
FROM central.cells
WHERE split_part(database_url, '.', 2) <> %(key_id)s
UNION ALL
SELECT 'provider_apps', 'client_secret', id::text, tenant_id, client_secret
FROM central.provider_apps
WHERE split_part(client_secret, '.', 2) <> %(key_id)s
ORDER BY 1, 3
"""

_EXCHANGE: Final = {
    "cells": """
UPDATE central.cells SET database_url = %(new)s WHERE name = %(row_id)s AND database_url = %(old)s RETURNING name
""",
    "provider_apps": """
UPDATE central.provider_apps SET client_secret = %(new)s
WHERE id = %(row_id)s::uuid AND client_secret = %(old)s RETURNING id
""",
}


def under_other_keys(central: Database, *, key_id: str) -> list[Row]:
    """Read the values under another key than `key_id`: table, field, row_id, tenant_id, value. There are few."""
    return central.autocommit(_UNDER_OTHER_KEYS, {"key_id": key_id})


def exchange(*, table: str, row_id: Any, old: str, new: str) -> Statement:
    """Build the exchange of one value; no row: it is another one by now. `table`: cells or provider_apps."""
    return _EXCHANGE[table], {"row_id": row_id, "old": old, "new": new}
