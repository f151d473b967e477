"""`provider_apps`: the OAuth applications that accounts are connected through. Secrets are encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.store.sessions import Database, Row, Session

_COLUMNS = (
    "id, tenant_id, platform, name, base_url, client_id, client_secret, redirect_uri, scopes, created_at"
)

_INSERT = f"""
INSERT INTO central.provider_apps (id, tenant_id, platform, name, base_url, client_id, client_secret, redirect_uri,
                                   scopes)
VALUES (%(id)s, %(tenant_id)s, %(platform)s, %(name)s, %(base_url)s, %(client_id)s, %(client_secret)s,
        %(redirect_uri)s, %(scopes)s)
ON CONFLICT (tenant_id, platform, base_url, client_id) DO NOTHING
RETURNING {_COLUMNS}
"""

_SAME = f"""
SELECT {_COLUMNS} FROM central.provider_apps
WHERE tenant_id IS NOT DISTINCT FROM %(tenant_id)s AND platform = %(platform)s
  AND base_url = %(base_url)s AND client_id = %(client_id)s
"""


def insert(
    session: Session,
    *,
    app_id: UUID,
    tenant_id: UUID | None,
    platform: str,
    name: str,
    base_url: str,
    client_id: str,
    client_secret: str | None,
    redirect_uri: str | None = None,
    scopes: Sequence[str] | None = None,
) -> Row | None:
    """Insert an application; None where it is there already."""
    return session.one(
        _INSERT,
        {
            "id": app_id,
            "tenant_id": tenant_id,
            "platform": platform,
            "name": name,
            "base_url": base_url,
            "client_id": client_id,
            "client_secret": client_secret,
            "redirect_uri": redirect_uri,
            "scopes": None if scopes is None else list(scopes),
        },
    )


def find(
    session: Session, *, tenant_id: UUID | None, platform: str, base_url: str, client_id: str
) -> Row | None:
    """Find an application by what names it."""
    return session.one(
        _SAME, {"tenant_id": tenant_id, "platform": platform, "base_url": base_url, "client_id": client_id}
    )


def with_client_id(database: Database, client_id: str) -> list[Row]:
    """Find every application that is known at its platform by this id."""
    return database.autocommit(
        f"SELECT {_COLUMNS} FROM central.provider_apps WHERE client_id = %(client_id)s ORDER BY created_at, id",
        {"client_id": client_id},
    )


def usable(
    session: Session,
    *,
    tenant_id: UUID,
    platform: str,
    base_url: str,
    redirect_uri: str,
    prefer: UUID | None = None,
) -> Row | None:
    """Find the application to ask for consent with: the preferred, the tenant's own, everybody's, the newest first."""
    return session.one(
        f"""
        SELECT {_COLUMNS} FROM central.provider_apps
        WHERE (tenant_id = %(tenant_id)s OR tenant_id IS NULL) AND platform = %(platform)s
          AND base_url = %(base_url)s AND (redirect_uri IS NULL OR redirect_uri = %(redirect_uri)s)
        ORDER BY id IS NOT DISTINCT FROM %(prefer)s::uuid DESC, tenant_id NULLS LAST, created_at DESC, id LIMIT 1
        """,
        {
            "tenant_id": tenant_id,
            "platform": platform,
            "base_url": base_url,
            "redirect_uri": redirect_uri,
            "prefer": prefer,
        },
    )


def replace_secret(session: Session, *, app_id: UUID, client_secret: str) -> None:
    """Give an application its new secret (encrypted)."""
    session.run(
        "UPDATE central.provider_apps SET client_secret = %(client_secret)s WHERE id = %(id)s",
        {"id": app_id, "client_secret": client_secret},
    )


def replace_scopes(session: Session, *, app_id: UUID, scopes: Sequence[str]) -> None:
    """Say anew what an application was approved for."""
    session.run(
        "UPDATE central.provider_apps SET scopes = %(scopes)s WHERE id = %(id)s",
        {"id": app_id, "scopes": list(scopes)},
    )


def read(database: Database, app_id: UUID) -> Row | None:
    """Read one application."""
    rows = database.autocommit(
        f"SELECT {_COLUMNS} FROM central.provider_apps WHERE id = %(id)s", {"id": app_id}
    )
    return rows[0] if rows else None


def list_all(session: Session) -> list[Row]:
    """List applications, those of everybody first."""
    return session.all(
        f"SELECT {_COLUMNS} FROM central.provider_apps ORDER BY tenant_id NULLS FIRST, platform, name"
    )
