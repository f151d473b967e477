"""`clients`: the brands an agency works for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.sessions import Row, Session

COLUMNS: Final = "tenant_id, id, name, time_zone, created_at"

_INSERT = f"""
INSERT INTO cell.clients (tenant_id, id, name, time_zone)
VALUES (%(tenant_id)s, %(id)s, %(name)s, %(time_zone)s)
ON CONFLICT (tenant_id, name) DO NOTHING
RETURNING {COLUMNS}
"""


def insert(session: Session, *, tenant_id: UUID, client_id: UUID, name: str, time_zone: str) -> Row | None:
    """Insert a client; None when another of the tenant has the name."""
    values = {"tenant_id": tenant_id, "id": client_id, "name": name, "time_zone": time_zone}
    return session.one(_INSERT, values)


def by_id(session: Session, client_id: UUID) -> Row | None:
    """Read one client by its id."""
    return session.one(f"SELECT {COLUMNS} FROM cell.clients WHERE id = %(id)s", {"id": client_id})


def by_name(session: Session, name: str) -> Row | None:
    """Read one client by its name."""
    return session.one(f"SELECT {COLUMNS} FROM cell.clients WHERE name = %(name)s", {"name": name})


def names(session: Session) -> list[str]:
    """Name every client of the tenant."""
    return [row["name"] for row in session.all("SELECT name FROM cell.clients ORDER BY name")]
