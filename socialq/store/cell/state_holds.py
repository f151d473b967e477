"""What holds follow in a cell: suspended and stopped tenants, accounts that are switched off, used-up limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.sessions import CellDatabases, Row

_TENANTS: Final = """
SELECT tenant_id, status, suspended_at, stopped_at, stop_reason FROM cell.tenant_state
WHERE status <> 'active' OR stopped_at IS NOT NULL
"""

_ACCOUNTS: Final = "SELECT id FROM cell.accounts WHERE status = 'disabled'"

_LIMIT_IS_USED_UP: Final = """
SELECT s.monthly_limit IS NOT NULL AND s.monthly_limit <= (
           SELECT count(*) FROM cell.publications u
           WHERE u.tenant_id = s.tenant_id AND u.published_at >= date_trunc('month', now(), 'UTC')) + (
           SELECT count(*) FROM cell.post_targets f
           WHERE f.tenant_id = s.tenant_id AND f.status IN ('publishing', 'unknown_outcome')) AS used_up
FROM cell.tenant_state s
"""


def read(cell: CellDatabases) -> tuple[list[Row], list[UUID]]:
    """Read the tenants that are suspended or stopped, and the accounts that are switched off."""
    tenants, accounts = cell.machine.pipelined((_TENANTS, {}), (_ACCOUNTS, {}), actor="audit")
    return tenants, [row["id"] for row in accounts]


def limit_is_used_up(cell: CellDatabases, tenant_id: UUID) -> bool:
    """Say whether a tenant may publish no more this month."""
    [rows] = cell.app.pipelined((_LIMIT_IS_USED_UP, {}), tenant=tenant_id, actor="audit")
    return bool(rows) and bool(rows[0]["used_up"])
