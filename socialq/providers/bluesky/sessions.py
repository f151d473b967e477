"""Signing in with an app password, carrying a session on, and asking who a token belongs to.

An identifier with an app password arrives, or one of a session's tokens; tokens or a connection leave.
What must stay true: an account's own password is never kept, and not accepted; a session is opened once, when a
person connects, and from then on refreshed; no password or token gets into evidence.

A refresh token may be used again for two hours after its first use, and names the same successor then: a refresh
whose answer was lost can be repeated. Sources: com.atproto.server.*; atproto's account manager.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import AuthLost, Evidence, PrepareFailure, Rejected, Transient
from socialq.providers.base import Connection, Refreshed
from socialq.providers.bluesky.answers import read_failure
from socialq.providers.bluesky.calls import ask, procedure, query
from socialq.providers.bluesky.limits import DEFAULT_LIMITS
from socialq.providers.bluesky.problems import did, json_object
from socialq.providers.consent import Granted
from socialq.providers.http import NetworkFailure, transient_failure

if TYPE_CHECKING:
    from socialq.providers.http import Http

_LIFE: Final = timedelta(hours=2)
"""How long access tokens live, where one does not say."""
_OWN_PASSWORD: Final = "com.atproto.access"  # noqa: S105 - the name of a scope
_APP_PASSWORD_NEEDED: Final = (
    "this is the account's own password: make an app password in Bluesky's settings and give that"  # noqa: S105
)


def sign_in(
    http: Http, *, base_url: str, identifier: str, password: str, now: datetime
) -> Granted | PrepareFailure:
    """Open a session. `identifier`: a handle, with or without `@`, a DID, or an address."""
    body = {"identifier": identifier.strip().removeprefix("@"), "password": password}
    call = procedure(base_url, "com.atproto.server.createSession", json=body)
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform="Bluesky")
    session = json_object(answer)
    access, refresh_token = (_token(session.get(name)) for name in ("accessJwt", "refreshJwt"))
    if answer.status != 200 or access is None or refresh_token is None:
        return read_failure(replace(answer, secrets=(*answer.secrets, password)))
    if _scope(access) == _OWN_PASSWORD:
        return Rejected(evidence=Evidence(code="bluesky.own_password", message=_APP_PASSWORD_NEEDED))
    return Granted(
        access_token=access,
        refresh_token=refresh_token,
        expires_at=_ends_at(access, now),
        scopes=frozenset({_scope(access)} - {""}),
    )


def refresh(http: Http, *, base_url: str, refresh_token: str, now: datetime) -> Refreshed | PrepareFailure:
    """Trade a refresh token for a new pair; see `Adapter.refresh`."""
    call = procedure(base_url, "com.atproto.server.refreshSession", token=refresh_token)
    session = ask(http, call)
    if not isinstance(session, dict):
        return session
    access, following = (_token(session.get(name)) for name in ("accessJwt", "refreshJwt"))
    if access is None:
        message = "the answer to a refresh holds no access token"
        return Transient(evidence=Evidence(code="bluesky.unreadable", message=message))
    return Refreshed(access_token=access, refresh_token=following, expires_at=_ends_at(access, now))


def connect(http: Http, *, base_url: str, token: str) -> Connection | PrepareFailure:
    """Ask who a token belongs to."""
    session = ask(http, query(base_url, "com.atproto.server.getSession", token=token))
    if not isinstance(session, dict):
        return session
    who, handle = did(session.get("did")), session.get("handle")
    if who is None or not isinstance(handle, str) or not handle:
        message = "the server does not say who the token belongs to: is it a PDS?"
        return Rejected(evidence=Evidence(code="bluesky.unreadable", message=message))
    if session.get("active") is False:
        message = f"the account is {session.get('status') or 'not active'}"
        return AuthLost(evidence=Evidence(code="bluesky.account_over", message=message[:200]))
    return Connection(
        handle=handle,
        remote_user_id=who,
        display_name=handle,
        scopes=frozenset({_scope(token)} - {""}),
        limits=dict(DEFAULT_LIMITS),
    )


def _token(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _scope(token: str) -> str:
    scope = _claims(token).get("scope")
    return scope if isinstance(scope, str) else ""


def _ends_at(token: str, now: datetime) -> datetime:
    """Return when a token says that it ends; it is opaque by the protocol's word, so it may say nothing."""
    ends = _claims(token).get("exp")
    if not isinstance(ends, int) or isinstance(ends, bool) or not 0 < ends < 253_402_300_800:
        return now + _LIFE
    return datetime.fromtimestamp(ends, UTC)


def _claims(token: str) -> dict[str, Any]:
    """Read what a JWT says, unchecked: it came from the server itself."""
    try:
        encoded = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (IndexError, ValueError, binascii.Error, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}
