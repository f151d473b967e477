"""Provider apps: the OAuth applications that accounts are connected through, kept so that tokens can be refreshed.

Arrives: an application's id and secret, with a token that it was given. Leaves: the id of its row. What must
stay true: the secret is kept encrypted, bound to its row; an empty secret never replaces a stored one; whoever
does not know the secret of an application that everybody shares gets a row of its own; what an application was
approved for is not forgotten where it is named again without that.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from socialq.desk.refusals import refusal, unknown
from socialq.domain.ids import new_id
from socialq.providers.base import AppCredentials
from socialq.store.central import provider_apps

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.providers.consent import Consent
    from socialq.store.sessions import Row, Session
    from socialq.store.stores import Stores
    from socialq.vault import Vault

_LONGEST: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An application, without its secret."""

    id: UUID
    tenant_id: UUID | None
    """None: everybody's."""
    platform: str
    name: str
    base_url: str
    client_id: str
    has_secret: bool
    """False: a public client."""
    scopes: tuple[str, ...] | None
    """What the platform has approved it for; None: all that is asked for."""
    created_at: datetime


def list_all(stores: Stores) -> list[App]:
    """List every application, those of everybody first."""
    with stores.central.transaction() as session:
        return [_app(row) for row in provider_apps.list_all(session)]


def checked(app: AppCredentials) -> AppCredentials:
    """Return the credentials without the blanks that a file leaves; refuse what no request can carry."""
    client_id, secret = app.client_id.strip(), app.client_secret.strip()
    if not client_id:
        raise refusal("client_id", "", "is empty", "give the application's client id")
    for field, value in (("client_id", client_id), ("client_secret", secret)):
        if not value.isascii() or not value.isprintable() or " " in value or len(value) > _LONGEST:
            raise refusal(field, "", "is not one word of plain letters, digits and signs", "copy it again")
    return type(app)(client_id=client_id, client_secret=secret, scopes=app.scopes)


def checked_scopes(consent: Consent | None, platform: str, scopes: Sequence[str]) -> tuple[str, ...] | None:
    """Return what an application was approved for, in the platform's order; None where nothing is said."""
    if not scopes:
        return None
    if consent is None or not (consent.least_scopes or consent.more_scopes):
        raise refusal("scope", scopes[0], f"can't be chosen on {platform}", "leave it out")
    known = (*consent.scopes, *consent.more_scopes)
    for scope in scopes:
        if scope not in known:
            raise unknown("scope", scope, what="scope", known=known)
    if not consent.least_scopes:
        # Every application asks for all the usual ones: what is named comes on top.
        scopes = (*consent.scopes, *scopes)
    if missing := [scope for scope in consent.scopes if scope in consent.least_scopes.difference(scopes)]:
        problem = f"is missing, and {platform} lets every application ask for it"
        raise refusal("scope", missing[0], problem, "name it as well")
    return tuple(scope for scope in known if scope in scopes)


def keep(
    stores: Stores,
    vault: Vault,
    *,
    tenant: UUID,
    platform: str,
    base_url: str,
    app: AppCredentials,
    name: str = "",
    redirect_uri: str | None = None,
    actor: str,
) -> UUID:
    """Find or insert the application of these credentials; returns its id. A new secret replaces the old one.

    `redirect_uri`: the one address that an application which registered itself may send people back to.
    """
    with stores.central.transaction(actor=actor) as session:
        shared = provider_apps.find(
            session, tenant_id=None, platform=platform, base_url=base_url, client_id=app.client_id
        )
        if shared is not None and _knows_secret(vault, shared, app):
            return _id_of(shared)
        app_id = new_id()
        sealed = _sealed(vault, app, tenant=tenant, app_id=app_id)
        made = provider_apps.insert(
            session,
            app_id=app_id,
            tenant_id=tenant,
            platform=platform,
            name=name.strip() or app.client_id,
            base_url=base_url,
            client_id=app.client_id,
            client_secret=sealed,
            redirect_uri=redirect_uri,
            scopes=app.scopes,
        )
        if made is not None:
            return app_id
        return _known(session, vault, tenant=tenant, platform=platform, base_url=base_url, app=app)


def share(
    stores: Stores, vault: Vault, *, platform: str, base_url: str, app: AppCredentials, name: str, actor: str
) -> App:
    """Keep an application for everybody's use; a known one gets the new secret, if there is one."""
    given = checked(app)
    with stores.central.transaction(actor=actor) as session:
        app_id = new_id()
        row = provider_apps.insert(
            session,
            app_id=app_id,
            tenant_id=None,
            platform=platform,
            name=name.strip() or given.client_id,
            base_url=base_url,
            client_id=given.client_id,
            client_secret=_sealed(vault, given, tenant=None, app_id=app_id),
            scopes=given.scopes,
        )
        if row is None:
            _known(session, vault, tenant=None, platform=platform, base_url=base_url, app=given)
            row = provider_apps.find(
                session, tenant_id=None, platform=platform, base_url=base_url, client_id=given.client_id
            )
    if row is None:
        raise AssertionError("applications are never deleted")
    return _app(row)


def usable(
    stores: Stores,
    vault: Vault,
    *,
    tenant: UUID,
    platform: str,
    base_url: str,
    redirect_uri: str,
    prefer: UUID | None = None,
) -> tuple[UUID, AppCredentials] | None:
    """Return the application to ask for consent with, its secret in the clear; None where there is none.

    `prefer`: the one that an account was connected through, whose ids and limits it keeps.
    """
    with stores.central.transaction() as session:
        row = provider_apps.usable(
            session,
            tenant_id=tenant,
            platform=platform,
            base_url=base_url,
            redirect_uri=redirect_uri,
            prefer=prefer,
        )
    return None if row is None else (_id_of(row), credentials_of(vault, row))


def credentials_of(vault: Vault, row: Row) -> AppCredentials:
    """Open an application's row."""
    sealed = row["client_secret"]
    place = {"tenant_id": row["tenant_id"], "table": "provider_apps", "row_id": row["id"]}
    secret = "" if sealed is None else vault.decrypt(sealed, **place, field="client_secret")
    scopes = None if row["scopes"] is None else tuple(row["scopes"])
    return AppCredentials(client_id=row["client_id"], client_secret=secret, scopes=scopes)


def _known(
    session: Session,
    vault: Vault,
    *,
    tenant: UUID | None,
    platform: str,
    base_url: str,
    app: AppCredentials,
) -> UUID:
    """Return the tenant's own row, with the secret that was given."""
    row = provider_apps.find(
        session, tenant_id=tenant, platform=platform, base_url=base_url, client_id=app.client_id
    )
    if row is None:
        raise AssertionError("an insert that conflicts has found a row, and applications are never deleted")
    sealed = _sealed(vault, app, tenant=tenant, app_id=_id_of(row))
    if sealed is not None:
        provider_apps.replace_secret(session, app_id=_id_of(row), client_secret=sealed)
    if app.scopes is not None:
        provider_apps.replace_scopes(session, app_id=_id_of(row), scopes=app.scopes)
    return _id_of(row)


def _sealed(vault: Vault, app: AppCredentials, *, tenant: UUID | None, app_id: UUID) -> str | None:
    if not app.client_secret:
        return None
    return vault.encrypt(
        app.client_secret, tenant_id=tenant, table="provider_apps", row_id=app_id, field="client_secret"
    )


def _knows_secret(vault: Vault, row: Row, app: AppCredentials) -> bool:
    if row["client_secret"] is None:
        return not app.client_secret
    kept = vault.decrypt(
        row["client_secret"], tenant_id=None, table="provider_apps", row_id=row["id"], field="client_secret"
    )
    return hmac.compare_digest(kept.encode(), app.client_secret.encode())


def _id_of(row: Row) -> UUID:
    app_id: UUID = row["id"]
    return app_id


def _app(row: Row) -> App:
    hidden = {"client_secret", "redirect_uri", "scopes"}
    known = {name: value for name, value in row.items() if name not in hidden}
    scopes = None if row["scopes"] is None else tuple(row["scopes"])
    return App(**known, has_secret=row["client_secret"] is not None, scopes=scopes)
