"""Whether what alarms were raised for still holds: asked of the rows that they are of, by their ids.

Through the machine and the central role. What must stay true: each statement reads the rows of open alarms alone, or
the last minutes; ages, not instants, are compared, since an alarm's clock is not its cell's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID

    from socialq.store.sessions import CellDatabases, Row

# What is prepared is prepared once for each version. Whatever else was edited, sent, settled or withdrawn since.
_STILL_PREPARED: Final = """
SELECT id FROM cell.post_targets
WHERE id = ANY (%(ids)s::uuid[]) AND status IN ('scheduled', 'retry_scheduled') AND next_kind = 'publish'
  AND NOT cancel_requested AND prepared_version_id = version_id
"""

_ACCOUNTS: Final = """
SELECT id, status, extract(epoch FROM clock_timestamp() - GREATEST(refreshed_at, connected_at))::float8 AS token_seconds
FROM cell.accounts WHERE id = ANY (%(ids)s::uuid[])
"""

# An answer to a publish: a look only says what was accepted some time before.
_ACCEPTED: Final = """
SELECT EXISTS (
    SELECT FROM cell.sightings s
    JOIN cell.post_targets t ON t.id = s.target_id
    JOIN cell.accounts a ON a.id = t.account_id
    WHERE s.first_seen_at > now() - %(seconds)s * interval '1 second' AND s.source = 'answer'
      AND (a.platform = %(platform)s OR a.provider_app_id::text = %(app)s OR a.id::text = %(account)s
           OR a.platform = %(unnamed)s AND a.provider_app_id IS NULL)) AS accepted
"""


def still_prepared(cell: CellDatabases, target_ids: Collection[UUID]) -> set[UUID]:
    """Say which of these targets wait for their slot with the version that was prepared."""
    rows = cell.machine.autocommit(_STILL_PREPARED, {"ids": list(target_ids)})
    return {row["id"] for row in rows}


def accounts(cell: CellDatabases, account_ids: Collection[UUID]) -> dict[UUID, Row]:
    """Read the status of accounts, and how many seconds ago each got its token; one that is gone is left out."""
    rows = cell.machine.autocommit(_ACCOUNTS, {"ids": list(account_ids)})
    return {row["id"]: row for row in rows}


def accepted(cell: CellDatabases, *, seconds: float, **whose: str) -> bool:
    """Say whether a platform took a post in the last `seconds`; `whose`: platform, app, account or unnamed."""
    values = {name: whose.get(name) for name in ("platform", "app", "account", "unnamed")}
    [row] = cell.machine.autocommit(_ACCEPTED, {"seconds": seconds, **values})
    return bool(row["accepted"])
