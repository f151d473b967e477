"""`tenant_state`: what the claim must know of a tenant, mirrored from the central database."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import Session

_INSERT = """
INSERT INTO cell.tenant_state (tenant_id, name, monthly_limit)
VALUES (%(tenant_id)s, %(name)s, %(monthly_limit)s)
ON CONFLICT (tenant_id) DO NOTHING
"""

_SUSPEND = """
UPDATE cell.tenant_state
SET status = 'suspended', suspended_at = COALESCE(suspended_at, now()), updated_at = now()
WHERE tenant_id = %(tenant_id)s RETURNING suspended_at
"""

_RESUME = """
UPDATE cell.tenant_state SET status = 'active', suspended_at = NULL, updated_at = now()
WHERE tenant_id = %(tenant_id)s
"""

_SET_LIMIT = """
UPDATE cell.tenant_state SET monthly_limit = %(monthly_limit)s, updated_at = now() WHERE tenant_id = %(tenant_id)s
"""


def insert(session: Session, *, tenant_id: UUID, name: str, monthly_limit: int | None) -> None:
    """Make the tenant known in its cell; twice is harmless."""
    session.run(_INSERT, {"tenant_id": tenant_id, "name": name, "monthly_limit": monthly_limit})


def suspend(session: Session, tenant_id: UUID) -> datetime | None:
    """Suspend; returns since when it is suspended, or None where the cell doesn't know the tenant."""
    row = session.one(_SUSPEND, {"tenant_id": tenant_id})
    return None if row is None else cast("datetime", row["suspended_at"])


def resume(session: Session, tenant_id: UUID) -> bool:
    """Make active again; False where the cell doesn't know the tenant."""
    return session.run(_RESUME, {"tenant_id": tenant_id}) == 1


def set_limit(session: Session, tenant_id: UUID, *, monthly_limit: int | None) -> bool:
    """Set the posts a month; False where the cell doesn't know the tenant."""
    values = {"tenant_id": tenant_id, "monthly_limit": monthly_limit}
    return session.run(_SET_LIMIT, values) == 1


def delete(session: Session, tenant_id: UUID) -> None:
    """Forget a tenant that has nothing here. Raises ForeignKeyViolation where it has clients."""
    session.run("DELETE FROM cell.tenant_state WHERE tenant_id = %(tenant_id)s", {"tenant_id": tenant_id})
