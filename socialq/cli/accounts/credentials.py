"""What an account is connected with, and connecting with it.

Tokens or an app password arrive; a connected account leaves. What must stay true: no token or password is in a repr.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from socialq.cli.failures import Failure
from socialq.cli.opening import actor

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.desk.clients import Client
    from socialq.desk.connect import Account
    from socialq.providers.base import AppCredentials
    from socialq.wiring import Wiring


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What an account is connected with."""

    base_url: str
    token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_in_seconds: int | None = None
    client_id: str | None = None
    client_secret: str = field(default="", repr=False)
    scopes: frozenset[str] | None = None

    def expires_at(self, now: datetime) -> datetime | None:
        """Return when the token ends, if that was said."""
        return None if self.expires_in_seconds is None else now + timedelta(seconds=self.expires_in_seconds)

    def app(self) -> AppCredentials | None:
        """Return the application that the tokens were given to, if it was named."""
        from socialq.providers.base import AppCredentials

        if self.client_id is None:
            return None
        return AppCredentials(client_id=self.client_id, client_secret=self.client_secret)


def signed_in(
    wiring: Wiring, given: Credentials, *, platform: str, identifier: str, private: bool
) -> Credentials:
    """Trade the app password for tokens; it is not kept."""
    from socialq.desk import connect

    now = wiring.clock.now()
    granted = connect.sign_in(
        wiring.http,
        platform=platform,
        base_url=given.base_url,
        identifier=identifier,
        password=given.token,
        now=now,
        allow_private_addresses=private,
    )
    left = None if granted.expires_at is None else max(1, int((granted.expires_at - now).total_seconds()))
    return Credentials(
        base_url=given.base_url,
        token=granted.access_token,
        refresh_token=granted.refresh_token,
        expires_in_seconds=left,
    )


def connected(wiring: Wiring, brand: Client, given: Credentials, *, platform: str, private: bool) -> Account:
    """Connect the account that the credentials are of."""
    from socialq.desk import connect

    return connect.add_account(
        wiring.stores,
        wiring.vault,
        wiring.http,
        tenant=brand.tenant_id,
        client=brand.id,
        platform=platform,
        base_url=given.base_url,
        token=given.token,
        refresh_token=given.refresh_token,
        token_expires_at=given.expires_at(wiring.clock.now()),
        app=given.app(),
        scopes=given.scopes,
        actor=actor(),
        allow_private_addresses=private,
    )


def may_be_private(wiring: Wiring, *, in_sandbox: bool) -> bool:
    """Say whether this account's address may be on a private network."""
    allowed = wiring.settings.allow_private_addresses
    if in_sandbox and not allowed:
        raise Failure(
            "Error: the sandbox is on a private address, and calling those is not allowed: set"
            " SOCIALQ_ALLOW_PRIVATE_ADDRESSES=true, here and for the workers (`socialq up --sandbox` does)"
        )
    return allowed
