"""How a person lets socialq publish on a Mastodon server: registration there, then the code flow.

Sources: docs.joinmastodon.org/methods/apps and /methods/oauth. Every server is its own, so an application is
registered at each, without a person. PKCE is known from 4.3 on and ignored before. Tokens never end by themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri

from socialq.domain.outcomes import AuthLost, Ours, Transient
from socialq.providers.base import AppCredentials
from socialq.providers.consent import Channel, Consent, Granted
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.mastodon.answers import evidence, json_object, read_failure, text_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.http import Answer, Http

_CLIENT_NAME: Final = "socialq"
_SPENT: Final = frozenset({"invalid_grant", "invalid_request"})


class MastodonConsent(Consent):
    """See `Consent`."""

    scopes: ClassVar[tuple[str, ...]] = ("read:accounts", "read:statuses", "write:statuses", "write:media")
    registers_itself: ClassVar[bool] = True

    def register(self, http: Http, *, base_url: str, redirect_uri: str) -> AppCredentials | PrepareFailure:
        """Register an application for one redirect address."""
        form = [
            ("client_name", _CLIENT_NAME),
            ("redirect_uris", redirect_uri),
            ("scopes", " ".join(self.scopes)),
        ]
        answer = http.send(Call(method="POST", url=f"{base_url}/api/v1/apps", form=form))
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform="Mastodon")
        app = json_object(answer)
        client_id, secret = app.get("client_id"), app.get("client_secret")
        if answer.status != 200 or not isinstance(client_id, str) or not isinstance(secret, str):
            return read_failure(answer)
        return AppCredentials(client_id=client_id, client_secret=secret)

    def address(
        self, *, app: AppCredentials, base_url: str, redirect_uri: str, state: str, code_challenge: str
    ) -> str:
        """Build the address of the consent page."""
        uri = prepare_grant_uri(
            f"{base_url}/oauth/authorize",
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
        """Trade the code for a token that does not end."""
        del now
        form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", app.client_id),
            ("client_secret", app.client_secret),
            ("redirect_uri", redirect_uri),
            ("code_verifier", code_verifier),
            ("scope", " ".join(self.scopes)),
        ]
        answer = http.send(Call(method="POST", url=f"{base_url}/oauth/token", form=form))
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform="Mastodon")
        answer = replace(answer, secrets=(*answer.secrets, code, code_verifier, app.client_secret))
        body = json_object(answer)
        return _granted(body) if answer.status == 200 and _word(body, "access_token") else _refused(answer)

    def channels(self, http: Http, *, base_url: str, granted: Granted) -> Sequence[Channel] | PrepareFailure:
        """Name the one profile that consented."""
        headers = {"Authorization": f"Bearer {granted.access_token}"}
        url = f"{base_url}/api/v1/accounts/verify_credentials"
        answer = http.send(Call(method="GET", url=url, headers=headers))
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform="Mastodon")
        me = json_object(answer)
        user_id = text_id(me.get("id"))
        if answer.status != 200 or user_id is None:
            return read_failure(answer)
        name = f"@{me.get('username') or user_id}"
        return [Channel(remote_user_id=user_id, name=name, kind="profile", token=granted.access_token)]


def _granted(body: dict[str, Any]) -> Granted:
    return Granted(access_token=_word(body, "access_token"), scopes=frozenset(_word(body, "scope").split()))


def _word(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    return value.strip() if isinstance(value, str) else ""


def _refused(answer: Answer) -> PrepareFailure:
    error = _word(json_object(answer), "error")
    if 200 <= answer.status < 300:
        return Transient(evidence=evidence(answer, "no_token"))
    if error in _SPENT:
        return AuthLost(evidence=evidence(answer, "code_refused"))
    if error in {"invalid_client", "unauthorized_client"}:
        return Ours(evidence=evidence(answer, "application_refused"))
    return read_failure(answer)
