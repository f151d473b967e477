"""How a person lets socialq publish on X: the code flow with PKCE.

Source: docs.x.com/fundamentals/authentication/oauth-2-0/authorization-code. The consent page has a host of its
own; anywhere else all is below the base URL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri

from socialq.providers.base import Refreshed
from socialq.providers.consent import Channel, Consent, Granted
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.x import tokens
from socialq.providers.x.answers import read_failure
from socialq.providers.x.problems import data_of, digits_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.base import AppCredentials
    from socialq.providers.http import Http

API_ROOT: Final = "https://api.x.com"
_CONSENT_HOSTS: Final = {API_ROOT: "https://x.com", "https://api.twitter.com": "https://twitter.com"}


class XConsent(Consent):
    """See `Consent`."""

    scopes: ClassVar[tuple[str, ...]] = (
        "tweet.read",
        "tweet.write",
        "users.read",
        "media.write",
        "offline.access",
    )

    def address(
        self, *, app: AppCredentials, base_url: str, redirect_uri: str, state: str, code_challenge: str
    ) -> str:
        """Build the address of the consent page."""
        uri = prepare_grant_uri(
            f"{_CONSENT_HOSTS.get(base_url, base_url)}/i/oauth2/authorize",
            client_id=app.client_id,
            response_type="code",
            redirect_uri=redirect_uri,
            scope=list(self.scopes),
            state=state,
            code_challenge=code_challenge,
            code_challenge_method="S256",
        )
        return str(uri)

    def exchange(
        self,
        http: Http,
        *,
        app: AppCredentials,
        base_url: str,
        code: str,
        redirect_uri: str,
        code_verifier: str,
        now: datetime,
    ) -> Granted | PrepareFailure:
        """Trade the code for the first pair of tokens."""
        pair = tokens.exchange(
            http,
            base_url=base_url,
            code=code,
            redirect_uri=redirect_uri,
            code_verifier=code_verifier,
            app=app,
            now=now,
        )
        if not isinstance(pair, Refreshed):
            return pair
        return Granted(
            access_token=pair.access_token,
            refresh_token=pair.refresh_token,
            expires_at=pair.expires_at,
            scopes=pair.scopes or frozenset(),
        )

    def channels(self, http: Http, *, base_url: str, granted: Granted) -> Sequence[Channel] | PrepareFailure:
        """Name the one profile that consented."""
        headers = {"Authorization": f"Bearer {granted.access_token}"}
        answer = http.send(Call(method="GET", url=f"{base_url}/2/users/me", headers=headers))
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform="X")
        me = data_of(answer)
        user_id = digits_id(me.get("id"))
        if answer.status != 200 or user_id is None:
            return read_failure(answer)
        return [
            Channel(
                remote_user_id=user_id,
                name=f"@{me.get('username') or user_id}",
                kind="profile",
                token=granted.access_token,
                refresh_token=granted.refresh_token,
                expires_at=granted.expires_at,
                scopes=granted.scopes,
            )
        ]
