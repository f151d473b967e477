"""`tenants` (central): who there is, in which cell, active or suspended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.sessions import Row, Session

COLUMNS: Final = "id, name, cell, status, suspended_at, monthly_limit, created_at"

_INSERT = f"""
INSERT INTO central.tenants (id, name, cell, monthly_limit)
VALUES (%(id)s, %(name)s, %(cell)s, %(monthly_limit)s)
ON CONFLICT (name) DO NOTHING
RETURNING {COLUMNS}
"""

_SUSPEND = f"""
UPDATE central.tenants SET status = 'suspended', suspended_at = COALESCE(suspended_at, %(suspended_at)s)
WHERE id = %(id)s RETURNING {COLUMNS}
"""

_RESUME = f"""
UPDATE central.tenants SET status = 'active', suspended_at = NULL WHERE id = %(id)s RETURNING {COLUMNS}
"""


def insert(
    session: Session, *, tenant_id: UUID, name: str, cell: str, monthly_limit: int | None
) -> Row | None:
    """Insert a tenant; None when another has the name."""
    values = {"id": tenant_id, "name": name, "cell": cell, "monthly_limit": monthly_limit}
    return session.one(_INSERT, values)


def by_id(session: Session, tenant_id: UUID) -> Row | None:
    """Read one tenant by its id."""
    return session.one(f"SELECT {COLUMNS} FROM central.tenants WHERE id = %(id)s", {"id": tenant_id})


def by_name(session: Session, name: str) -> Row | None:
    """Read one tenant by its name."""
    return session.one(f"SELECT {COLUMNS} FROM central.tenants WHERE name = %(name)s", {"name": name})


def list_all(session: Session) -> list[Row]:
    """Read every tenant, by name."""
    return session.all(f"SELECT {COLUMNS} FROM central.tenants ORDER BY name")


def suspend(session: Session, tenant_id: UUID, *, suspended_at: object) -> Row | None:
    """Suspend a tenant; one that is suspended keeps the moment it was."""
    return session.one(_SUSPEND, {"id": tenant_id, "suspended_at": suspended_at})


def resume(session: Session, tenant_id: UUID) -> Row | None:
    """Make a tenant active again."""
    return session.one(_RESUME, {"id": tenant_id})


def set_limit(session: Session, tenant_id: UUID, *, monthly_limit: int | None) -> Row | None:
    """Set the posts a month; None: no limit."""
    return session.one(
        f"UPDATE central.tenants SET monthly_limit = %(monthly_limit)s WHERE id = %(id)s RETURNING {COLUMNS}",
        {"id": tenant_id, "monthly_limit": monthly_limit},
    )


def move(session: Session, tenant_id: UUID, *, source: str, to: str) -> Row | None:
    """Place a tenant in another cell; None when it is not in `source` any more."""
    values = {"id": tenant_id, "source": source, "to": to}
    return session.one(
        f"UPDATE central.tenants SET cell = %(to)s WHERE id = %(id)s AND cell = %(source)s RETURNING {COLUMNS}",
        values,
    )
