"""Connecting by consent: a person is sent to the platform's page, comes back with a code, and picks channels.

Arrives: a client and a platform; then what the platform sent back; then a person's choice. Leaves: the address
to send them to; what the grant serves; accounts. What must stay true: state and verifier are kept here, the state
only as its hash; each works once and for minutes; no transaction is open while a platform is asked; no token, code
or secret stands in a refusal; an account that is connected again keeps its id and its queue.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from authlib.oauth2.rfc7636 import create_s256_code_challenge

from socialq.desk import apps, connect
from socialq.desk.granted import channels_from, channels_text, refresh_token_of, refused_grant, usable
from socialq.desk.refusals import refusal, unknown
from socialq.desk.tenants import cell_of
from socialq.domain.ids import new_id
from socialq.domain.outcomes import PrepareFailure
from socialq.providers.base import AppCredentials
from socialq.providers.consent import Granted
from socialq.providers.registry import adapter_for
from socialq.store.cell import accounts, clients
from socialq.store.central import consents, provider_apps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.desk.connect import Account
    from socialq.providers.base import Adapter
    from socialq.providers.consent import Channel, Consent
    from socialq.providers.http import Http
    from socialq.store.sessions import Row
    from socialq.store.stores import Stores
    from socialq.vault import Vault

_MINUTES_TO_CONSENT: Final = 15
_MINUTES_TO_PICK: Final = 30
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A consent under way."""

    address: str = field(repr=False)
    """Where to send the person. Holds the state: whoever has it can finish, once they have consented."""
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One channel that a person may pick."""

    remote_user_id: str
    name: str
    kind: str
    problem: str | None
    """Why it can't be connected; None: it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a grant serves."""

    pick: str = field(repr=False)
    """Hand this back with the choice; it works for half an hour, and for nobody else."""
    tenant_id: UUID
    client_id: UUID
    platform: str
    choices: tuple[Choice, ...]

    @property
    def possible(self) -> tuple[Choice, ...]:
        """The channels that can be connected."""
        return tuple(choice for choice in self.choices if choice.problem is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What connecting by consent works on."""

    stores: Stores
    vault: Vault
    http: Http
    allow_private_addresses: bool = False
    adapter_of: Callable[[str], Adapter] = adapter_for

    def begin(
        self,
        *,
        tenant: UUID,
        client: UUID,
        platform: str,
        base_url: str | None = None,
        redirect_uri: str,
        app: AppCredentials | None = None,
        actor: str,
    ) -> Begun:
        """Begin a consent for a client; without `app` a known application is used, or one registers itself.

        `base_url` None: the platform's own. Raises `InputRefused`.
        """
        consent = self._consent(platform)
        root = base_url or self.adapter_of(platform).api_root
        if not root:
            raise refusal("base_url", "", f"{platform} has no server of its own", "give the server's address")
        url = connect.checked_url(root, allow_private=self.allow_private_addresses)
        _check_redirect(redirect_uri)
        with cell_of(self.stores, tenant).app.transaction(tenant=tenant) as session:
            if clients.by_id(session, client) is None:
                raise unknown("client", client, what="client")
        app_id, credentials = self._app(
            consent,
            tenant=tenant,
            platform=platform,
            url=url,
            redirect_uri=redirect_uri,
            app=app,
            actor=actor,
        )
        return self._sent_out(
            consent,
            credentials,
            {
                "tenant_id": tenant,
                "client_id": client,
                "platform": platform,
                "base_url": url,
                "provider_app_id": app_id,
                "redirect_uri": redirect_uri,
                "expected_user": None,
                "begun_by": actor,
            },
        )

    def begin_again(self, *, tenant: UUID, account_id: UUID, redirect_uri: str, actor: str) -> Begun:
        """Begin a consent by which one known account gets new tokens; nobody else's will do.

        It stays with the application it was connected through, where that may send people back to this address.
        """
        with cell_of(self.stores, tenant).app.transaction(tenant=tenant) as session:
            rows = accounts.by_ids(session, [account_id])
        if not rows:
            raise unknown("account", account_id, what="account")
        account = rows[0]
        consent = self._consent(account["platform"])
        _check_redirect(redirect_uri)
        app_id, credentials = self._app(
            consent,
            tenant=tenant,
            platform=account["platform"],
            url=account["base_url"],
            redirect_uri=redirect_uri,
            prefer=account["provider_app_id"],
            actor=actor,
        )
        kept = ("tenant_id", "client_id", "platform", "base_url")
        return self._sent_out(
            consent,
            credentials,
            {
                **{name: account[name] for name in kept},
                "provider_app_id": app_id,
                "redirect_uri": redirect_uri,
                "expected_user": account["remote_user_id"],
                "begun_by": actor,
            },
        )

    def finish(
        self, *, platform: str, state: str, code: str | None, error: str | None = None, now: datetime
    ) -> Offer:
        """Trade what the platform sent back for what the grant serves. Raises `InputRefused`; `now` is aware."""
        row = consents.take(self.stores.central, state_hash=_hashed(state), platform=platform)
        if row is None:
            problem = "belongs to no consent under way: it is unknown, was used, or took too long"
            raise refusal("state", "", problem, "begin again")
        if error or not code:
            said = f" ({error[:80]})" if error else ""
            raise refusal("consent", platform, f"was not given{said}", _begin_again(error))
        consent = self._consent(platform)
        granted = consent.exchange(
            self.http,
            app=self._credentials(row["provider_app_id"]),
            base_url=row["base_url"],
            code=code,
            redirect_uri=row["redirect_uri"],
            code_verifier=self._opened(row, "code_verifier"),
            now=now,
        )
        if not isinstance(granted, Granted):
            raise refused_grant(granted, base_url=row["base_url"])
        if not granted.access_token.strip():
            raise refusal("code", "", "was answered without a token", "begin again")
        found = consent.channels(self.http, base_url=row["base_url"], granted=granted)
        if isinstance(found, PrepareFailure):
            raise connect.not_connected(found, base_url=row["base_url"])
        return self._offered(row, [usable(channel) for channel in _expected(found, row["expected_user"])])

    def pick(self, *, pick: str, remote_user_ids: Sequence[str], actor: str) -> list[Account]:
        """Connect the chosen channels; what is known already gets the new tokens. Raises `InputRefused`."""
        row = consents.to_pick(self.stores.central, pick_hash=_hashed(pick))
        if row is None:
            raise refusal("pick", "", "is unknown, was used, or took too long", "begin again")
        known = {channel.remote_user_id: channel for channel in channels_from(self._opened(row, "channels"))}
        wanted = list(dict.fromkeys(remote_user_ids))
        if not wanted:
            raise refusal("channels", "", "there is none", "pick at least one")
        for user_id in wanted:
            if user_id not in known:
                raise unknown("channels", user_id, what="channel", known=sorted(known))
            if problem := known[user_id].problem:
                raise refusal("channels", known[user_id].name, problem, "pick another")
        made = [self._connected(row, known[user_id], actor=actor) for user_id in wanted]
        with self.stores.central.transaction(actor=actor) as session:
            consents.forget(session, row["id"])
        return made

    def _connected(self, row: Row, channel: Channel, *, actor: str) -> Account:
        return connect.add_account(
            self.stores,
            self.vault,
            self.http,
            tenant=row["tenant_id"],
            client=row["client_id"],
            platform=row["platform"],
            base_url=row["base_url"],
            token=channel.token,
            refresh_token=refresh_token_of(channel, self.adapter_of(row["platform"])),
            token_expires_at=channel.expires_at,
            app_id=row["provider_app_id"],
            remote_user_id=channel.remote_user_id,
            scopes=channel.scopes or None,
            granted_by=channel.granted_by,
            actor=actor,
            allow_private_addresses=self.allow_private_addresses,
            adapter_of=self.adapter_of,
        )

    def _offered(self, row: Row, found: Sequence[Channel]) -> Offer:
        pick = secrets.token_urlsafe(32)
        sealed = self._sealed(row["id"], row["tenant_id"], "channels", channels_text(found))
        with self.stores.central.transaction() as session:
            consents.keep_channels(
                session,
                consent_id=row["id"],
                pick_hash=_hashed(pick),
                channels=sealed,
                seconds=_MINUTES_TO_PICK * 60,
            )
        return Offer(
            pick=pick,
            tenant_id=row["tenant_id"],
            client_id=row["client_id"],
            platform=row["platform"],
            choices=tuple(
                Choice(
                    remote_user_id=channel.remote_user_id,
                    name=channel.name,
                    kind=channel.kind,
                    problem=channel.problem,
                )
                for channel in found
            ),
        )

    def _sent_out(self, consent: Consent, app: AppCredentials, values: dict[str, Any]) -> Begun:
        consent_id, state, verifier = new_id(), secrets.token_urlsafe(32), secrets.token_urlsafe(64)
        sealed = self._sealed(consent_id, values["tenant_id"], "code_verifier", verifier)
        row = {"id": consent_id, "state_hash": _hashed(state), "code_verifier": sealed, **values}
        with self.stores.central.transaction(actor=values["begun_by"]) as session:
            begun = consents.insert(session, row, seconds=_MINUTES_TO_CONSENT * 60)
        address = consent.address(
            app=app,
            base_url=values["base_url"],
            redirect_uri=values["redirect_uri"],
            state=state,
            code_challenge=str(create_s256_code_challenge(verifier)),
        )
        return Begun(address=address, expires_at=begun["expires_at"])

    def _app(
        self,
        consent: Consent,
        *,
        tenant: UUID,
        platform: str,
        url: str,
        redirect_uri: str,
        app: AppCredentials | None = None,
        prefer: UUID | None = None,
        actor: str,
    ) -> tuple[UUID, AppCredentials]:
        """Return the application to ask with: the one that is given, one that is known, or a new one."""
        kept: dict[str, Any] = {"tenant": tenant, "platform": platform, "base_url": url}
        if app is not None:
            app_id = apps.keep(self.stores, self.vault, app=apps.checked(app), actor=actor, **kept)
            return app_id, self._credentials(app_id)
        known = apps.usable(self.stores, self.vault, redirect_uri=redirect_uri, prefer=prefer, **kept)
        if known is not None:
            return known
        if not consent.registers_itself:
            problem = f"no application at {urlsplit(url).netloc} is known"
            way_out = "register one there, then `socialq app add`, or give its client id and secret"
            raise refusal("app", platform, problem, way_out)
        made = consent.register(self.http, base_url=url, redirect_uri=redirect_uri)
        if not isinstance(made, AppCredentials):
            raise connect.not_connected(made, base_url=url)
        registered = apps.checked(made)
        keep = {**kept, "app": registered, "redirect_uri": redirect_uri, "actor": actor}
        return apps.keep(self.stores, self.vault, **keep), registered

    def _consent(self, platform: str) -> Consent:
        adapter = connect.known_adapter(platform, self.adapter_of)
        if adapter.consent is None:
            way_out = "add the account with a token or a password (account add)"
            raise refusal("platform", platform, "has no consent page", way_out)
        return adapter.consent

    def _credentials(self, app_id: UUID) -> AppCredentials:
        app = provider_apps.read(self.stores.central, app_id)
        if app is None:
            raise AssertionError("applications are never deleted, and a consent refers to one")
        return apps.credentials_of(self.vault, app)

    def _sealed(self, consent_id: UUID, tenant: UUID, field: str, value: str) -> str:
        return self.vault.encrypt(value, tenant_id=tenant, table="consents", row_id=consent_id, field=field)

    def _opened(self, row: Row, field: str) -> str:
        place = {"tenant_id": row["tenant_id"], "table": "consents", "row_id": row["id"]}
        return self.vault.decrypt(row[field], **place, field=field)


def _expected(found: Sequence[Channel], expected_user: str | None) -> Sequence[Channel]:
    """Keep the one that is meant, where one account is connected again."""
    if not found:
        problem = "serves no channel that could be connected"
        raise refusal("consent", "", problem, "agree there for the page or profile that is meant")
    if expected_user is None:
        return found
    meant = [channel for channel in found if channel.remote_user_id == expected_user]
    if not meant:
        given = ", ".join(channel.name for channel in found)
        problem = "was given for another account than the one that needs it"
        raise refusal("consent", given, problem, "sign in there as the right one, and begin again")
    return meant


def _begin_again(error: str | None) -> str:
    """Say what to do where a platform did not even ask the person, since our application may not ask for so much."""
    if error is None or "scope" not in error.casefold():
        return "begin again, and agree there"
    return "say what the application is approved for (`socialq app add --scope …`), and begin again"


def _check_redirect(redirect_uri: str) -> None:
    """Refuse an address to which a code would travel in the clear."""
    try:
        parts = urlsplit(redirect_uri)
        fine = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        fine = fine and bool(parts.hostname) and not parts.fragment and parts.username is None
    except ValueError:
        fine = False
    if not fine:
        way_out = "give an https address, or http on this machine"
        raise refusal("redirect_uri", redirect_uri, "is not a safe place to come back to", way_out)


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
