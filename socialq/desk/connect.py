"""Connecting an account: the platform says who a token belongs to, then the account is stored.

Arrives: a platform, an address and the tokens that a person has. Leaves: an `Account`, the tokens encrypted.
What must stay true: the platform is asked before any transaction; no message shows a token; an account that is
connected anew keeps its id, and with it its queue and its history; a missing token never replaces a stored one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, assert_never
from urllib.parse import urlsplit

from psycopg import errors

from socialq.desk import apps
from socialq.desk.refusals import refusal, unknown
from socialq.desk.tenants import cell_of
from socialq.domain.ids import new_id
from socialq.domain.outcomes import AuthLost, Ours, PermissionLost, RateLimited, Rejected, Transient
from socialq.domain.text import harmless
from socialq.providers.addresses import BadBaseUrl, check_base_url
from socialq.providers.base import Adapter, Connection
from socialq.providers.consent import Granted
from socialq.providers.registry import ADAPTERS, UnknownPlatform, adapter_for
from socialq.store.cell import accounts, clients
from socialq.store.central import alarms, holds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.errors import InputRefused
    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.base import AppCredentials
    from socialq.providers.http import Http
    from socialq.store.sessions import Row, Session
    from socialq.store.stores import Stores
    from socialq.vault import Vault

_LONGEST_TOKEN: Final = 8192
_LONGEST_TOLD: Final = 1000
"""Of anything that a server says of an account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One channel of a client, without its token."""

    tenant_id: UUID
    id: UUID
    client_id: UUID
    platform: str
    handle: str
    base_url: str
    remote_user_id: str
    display_name: str
    provider_app_id: UUID | None = None
    status: str
    status_reason: str | None
    token_expires_at: datetime | None = None
    scopes: frozenset[str]
    limits: Mapping[str, Any]
    hold_until: datetime | None
    flagged_at: datetime | None
    flag_reason: str | None
    created_at: datetime

    @property
    def name(self) -> str:
        """How people name it: `platform:handle`."""
        return f"{self.platform}:{self.handle}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What the platform said, and what it was asked with."""

    platform: str
    base_url: str
    token: str = field(repr=False)
    connection: Connection
    refresh_token: str | None = field(repr=False)
    token_expires_at: datetime | None
    app_id: UUID | None
    granted_by: str | None
    renewal_needs_app: bool = True


def add_account(
    stores: Stores,
    vault: Vault,
    http: Http,
    *,
    tenant: UUID,
    client: UUID,
    platform: str,
    base_url: str,
    token: str,
    refresh_token: str | None = None,
    token_expires_at: datetime | None = None,
    app: AppCredentials | None = None,
    app_id: UUID | None = None,
    remote_user_id: str | None = None,
    scopes: frozenset[str] | None = None,
    granted_by: str | None = None,
    actor: str,
    allow_private_addresses: bool = False,
    adapter_of: Callable[[str], Adapter] = adapter_for,
) -> Account:
    """Ask the platform who `token` belongs to and store the account, or give a known one its new tokens.

    `refresh_token` needs the `app` that it was given to, once; `token_expires_at` (aware) is when `token` ends.
    `app_id` names an application that is known already, instead of `app`. `remote_user_id` says which channel,
    where a token serves several. `scopes`: what the tokens may do, where the platform says so only to whom it
    gives them. `granted_by` is the person whose consent it is, as the platform's callbacks name them.
    """
    cell = cell_of(stores, tenant)
    with cell.app.transaction(tenant=tenant, actor=actor) as session:
        if clients.by_id(session, client) is None:
            raise unknown("client", client, what="client")
    adapter = known_adapter(platform, adapter_of)
    credentials = None if app is None else apps.checked(app)
    renewal = _checked_refresh_token(refresh_token, adapter)
    url = checked_url(base_url, allow_private=allow_private_addresses)
    told = _ask(
        http,
        adapter,
        base_url=url,
        token=_checked_token(token),
        remote_user_id=remote_user_id,
        scopes=scopes,
    )
    if credentials is not None:
        app_id = apps.keep(
            stores, vault, tenant=tenant, platform=platform, base_url=url, app=credentials, actor=actor
        )
    found = _Found(
        platform=platform,
        base_url=url,
        token=_checked_token(token),
        connection=told,
        refresh_token=renewal,
        token_expires_at=token_expires_at,
        app_id=app_id,
        granted_by=granted_by,
        renewal_needs_app=adapter.refresh_needs_app,
    )
    for attempt in (1, 2):
        try:
            with cell.app.transaction(tenant=tenant, actor=actor) as session:
                stored = _account(_store(session, vault, tenant=tenant, client=client, found=found))
            # Whoever was told that it needs a person is told that a person came.
            alarms.clear(stores.central, key=f"account:{stored.id}")
            holds.lift(stores.central, scope="account", key=str(stored.id), actor=actor, sources=["disabled"])
            return stored
        except errors.UniqueViolation:
            # Another session has just added the same account: the second time it is found and reconnected.
            if attempt == 2:
                raise
    raise AssertionError("the loop returns or raises")


def sign_in(
    http: Http,
    *,
    platform: str,
    base_url: str,
    identifier: str,
    password: str,
    now: datetime,
    allow_private_addresses: bool = False,
    adapter_of: Callable[[str], Adapter] = adapter_for,
) -> Granted:
    """Trade a person's name and app password for the tokens that `add_account` takes; neither is kept."""
    adapter = known_adapter(platform, adapter_of)
    if adapter.signs_in_with is None:
        problem = f"is of no use: nobody signs in to {platform} with a password"
        raise refusal("identifier", identifier, problem, "connect the account with a token")
    url = checked_url(base_url, allow_private=allow_private_addresses)
    secret = _checked_token(password, field="token", what=adapter.signs_in_with)
    answer = adapter.sign_in(http, base_url=url, identifier=identifier, password=secret, now=now)
    match answer:
        case Granted():
            return answer
        case AuthLost(evidence=evidence):
            problem = f"is not accepted together with {identifier} ({evidence.message})"
            raise refusal("token", "", problem, f"make a new {adapter.signs_in_with} there")
        case Rejected(evidence=evidence):
            problem = f"can't be used ({evidence.message})"
            raise refusal("token", "", problem, f"give the name and an {adapter.signs_in_with}")
        case _:
            raise not_connected(answer, base_url=url)


def list_accounts(stores: Stores, *, tenant: UUID) -> list[Account]:
    """List the tenant's accounts, by platform and handle."""
    with cell_of(stores, tenant).app.transaction(tenant=tenant) as session:
        return [_account(row) for row in accounts.list_all(session)]


def known_adapter(platform: str, adapter_of: Callable[[str], Adapter]) -> Adapter:
    """Return a platform's adapter, or refuse the platform."""
    try:
        return adapter_of(platform)
    except UnknownPlatform:
        raise unknown("platform", platform, what="platform", known=sorted(ADAPTERS)) from None


def checked_url(base_url: str, *, allow_private: bool) -> str:
    """Return an address in its normal form, or refuse it."""
    try:
        return check_base_url(base_url.strip(), allow_private=allow_private)
    except BadBaseUrl as error:
        reason = str(error).rstrip(".")
        way_out = "give the server's address, such as https://social.example"
        raise refusal("base_url", base_url, reason[:1].lower() + reason[1:], way_out) from None


def _checked_token(token: str, *, field: str = "token", what: str = "access token") -> str:
    """Take the blanks off that a file or a paste leaves; refuse what no HTTP header can carry."""
    plain = token.strip()
    if not plain:
        raise refusal(field, "", "is empty", f"give the {what} that the platform shows")
    if not plain.isascii() or not plain.isprintable() or " " in plain or len(plain) > _LONGEST_TOKEN:
        problem = "is not one word of plain letters, digits and signs"
        raise refusal(field, "", problem, "copy it again, without line breaks or blanks")
    return plain


def _checked_refresh_token(token: str | None, adapter: Adapter) -> str | None:
    """Check a refresh token like any other; None where there is none."""
    if token is None or not token.strip():
        return None
    if adapter.renews_itself or getattr(type(adapter), "refresh", Adapter.refresh) is Adapter.refresh:
        problem = f"is of no use: tokens of {adapter.platform} are never refreshed with one"
        raise refusal("refresh_token", "", problem, "connect the account with its access token alone")
    return _checked_token(token, field="refresh_token")


def _ask(
    http: Http,
    adapter: Adapter,
    *,
    base_url: str,
    token: str,
    remote_user_id: str | None,
    scopes: frozenset[str] | None,
) -> Connection:
    answer = adapter.connect(http, base_url=base_url, token=token, remote_user_id=remote_user_id)
    if not isinstance(answer, Connection):
        raise not_connected(answer, base_url=base_url)
    answer = _storable(answer, base_url=base_url)
    if scopes is not None:
        answer = replace(answer, scopes=scopes)
    if missing := adapter.required_scopes_of(answer.remote_user_id) - answer.scopes:
        problem = f"may not do what publishing needs: {', '.join(sorted(missing))} is missing"
        raise refusal("token", "", problem, "make a token with these permissions")
    return answer


def _storable(told: Connection, *, base_url: str) -> Connection:
    """Make what a server says of an account fit for the database; refuse one whose names are none."""
    for name in (told.handle, told.remote_user_id):
        if not name or name != harmless(name, longest=_LONGEST_TOLD):
            host = urlsplit(base_url).netloc
            raise refusal(
                "base_url", base_url, f"gives no usable answer ({host} names nobody)", "check the address"
            )
    limits = {
        harmless(key, longest=_LONGEST_TOLD): _storable_value(value) for key, value in told.limits.items()
    }
    return replace(told, display_name=harmless(told.display_name, longest=_LONGEST_TOLD), limits=limits)


def _storable_value(value: Any) -> Any:
    match value:
        case str():
            return harmless(value, longest=_LONGEST_TOLD)
        case dict():
            return {
                harmless(str(key), longest=_LONGEST_TOLD): _storable_value(item)
                for key, item in value.items()
            }
        case list() | tuple():
            return [_storable_value(item) for item in value]
        case _:
            return value


def not_connected(failure: PrepareFailure, *, base_url: str) -> InputRefused:
    """Say why the platform gave or told nothing; evidence is redacted already."""
    host = urlsplit(base_url).netloc
    said = f" ({failure.evidence.message})" if failure.evidence.message else ""
    match failure:
        case AuthLost():
            return refusal("token", "", f"is not accepted by {host}{said}", "make a new token there")
        case PermissionLost():
            problem = f"may not read its own account on {host}{said}"
            return refusal("token", "", problem, "make a token that may read")
        case Rejected():
            return refusal(
                "base_url", base_url, f"gives no usable answer{said}", "check address and platform"
            )
        case RateLimited(retry_after_seconds=seconds):
            problem = f"asks to wait{said}"
            return refusal("base_url", base_url, problem, f"try again in {seconds:.0f} seconds")
        case Transient():
            return refusal("base_url", base_url, f"can't be reached{said}", "check it, or try again later")
        case Ours():
            return refusal("platform", host, f"refuses our application{said}", "check the application there")
        case _:
            assert_never(failure)


def _store(session: Session, vault: Vault, *, tenant: UUID, client: UUID, found: _Found) -> Row:
    """Insert the account, or reconnect the one that it is. Tokens are bound to the row's id."""
    told = found.connection
    same = accounts.lock_same(
        session,
        platform=found.platform,
        handle=told.handle,
        base_url=found.base_url,
        remote_user_id=told.remote_user_id,
    )
    known = _known(same, client=client, found=found)
    account_id = new_id() if known is None else known["id"]
    has_app = found.app_id is not None or (known is not None and known["provider_app_id"] is not None)
    if found.refresh_token is not None and found.renewal_needs_app and not has_app:
        problem = "can only be used by the application that it was given to"
        raise refusal(
            "refresh_token", "", problem, "give that application's client id, and its secret if any"
        )

    def sealed(field: str, value: str | None) -> str | None:
        place: dict[str, Any] = {"tenant_id": tenant, "table": "accounts", "row_id": account_id}
        return None if value is None else vault.encrypt(value, **place, field=field)

    values = {
        "tenant_id": tenant,
        "id": account_id,
        "client_id": client,
        "platform": found.platform,
        "handle": told.handle,
        "base_url": found.base_url,
        "remote_user_id": told.remote_user_id,
        "display_name": told.display_name,
        "scopes": told.scopes,
        "limits": told.limits,
        "access_token": sealed("access_token", found.token),
        "refresh_token": sealed("refresh_token", found.refresh_token),
        "token_expires_at": found.token_expires_at,
        "provider_app_id": found.app_id,
        "granted_by": found.granted_by,
    }
    if known is None:
        return accounts.insert(session, values)
    row = accounts.reconnect(session, values)
    if row is None:
        raise unknown("account", account_id, what="account")
    return row


def _known(same: Sequence[Row], *, client: UUID, found: _Found) -> Row | None:
    """Return the account that this is. The platform's own user id decides; a name can change hands."""
    told = found.connection
    name = f"{found.platform}:{told.handle}"
    mine = next((row for row in same if row["remote_user_id"] == told.remote_user_id), None)
    if any(row is not mine and row["handle"] == told.handle for row in same):
        problem = "is known here as another user's name: the name has changed hands"
        raise refusal("account", name, problem, "connect the account that had the name again first")
    if mine is not None and mine["client_id"] != client:
        raise refusal("account", name, "belongs to another client of this tenant", "use it there")
    return mine


def _account(row: Row) -> Account:
    return Account(**{**row, "scopes": frozenset(row["scopes"])})
