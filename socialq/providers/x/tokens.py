"""X's tokens: a refresh token, good for one use, for a new pair; and a person's code for the first pair.

A refresh token or a code, and the application's credentials, arrive; a pair or a failure leaves.
What must stay true: one request, on a connection of its own, never repeated here; an answer without an access
token never replaces one; where X may have ended the old pair and its answer is lost, the failure's code says so;
no token gets into evidence.

Source: docs.x.com/fundamentals/authentication/oauth-2-0/user-access-token.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from socialq.domain.outcomes import AuthLost, Evidence, Ours, PrepareFailure, Transient
from socialq.providers.base import Refreshed
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.messages import redacted
from socialq.providers.x.answers import read_failure
from socialq.providers.x.problems import json_object

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.providers.base import AppCredentials
    from socialq.providers.http import Answer, Http

ANSWER_LOST: Final = "x.refresh_answer_lost"
"""The old pair may be spent and the new one is lost: a refusal that follows means that a person must reconnect."""

_LIFE: Final = timedelta(hours=2)
"""How long X's access tokens live, where an answer does not say."""
_MOST_LIFE_SECONDS: Final = 10 * 365 * 24 * 3600
_SPENT: Final = frozenset({"invalid_request", "invalid_grant"})
_OUR_FAULT: Final = frozenset(
    {"invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"}
)


def refresh(
    http: Http, *, base_url: str, refresh_token: str, app: AppCredentials, now: datetime
) -> Refreshed | PrepareFailure:
    """Trade `refresh_token` for a new pair; see `Adapter.refresh`."""
    form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)]
    return _trade(http, _call(base_url, form, app), hidden=(refresh_token, app.client_secret), now=now)


def exchange(
    http: Http,
    *,
    base_url: str,
    code: str,
    redirect_uri: str,
    code_verifier: str,
    app: AppCredentials,
    now: datetime,
) -> Refreshed | PrepareFailure:
    """Trade the code of a consent for the first pair; see `Consent.exchange`."""
    form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect_uri),
        ("code_verifier", code_verifier),
    ]
    hidden = (code, code_verifier, app.client_secret)
    return _trade(http, _call(base_url, form, app), hidden=hidden, now=now)


def _trade(http: Http, call: Call, *, hidden: tuple[str, ...], now: datetime) -> Refreshed | PrepareFailure:
    with http.open(call, deadline_seconds=http.deadline_seconds) as opened:
        answer = opened if isinstance(opened, NetworkFailure) else opened.send()
    if isinstance(answer, NetworkFailure):
        failure = transient_failure(answer, platform="X")
        return _lost(failure.evidence.message) if answer.sent else failure
    if 200 <= answer.status < 300:
        return _refreshed(json_object(answer), now) or _lost("X's answer holds no access token")
    secrets = tuple(secret for secret in hidden if secret)
    return _refused(replace(answer, secrets=(*answer.secrets, *secrets)))


def _call(base_url: str, form: list[tuple[str, str]], app: AppCredentials) -> Call:
    headers: dict[str, str] = {}
    if app.client_secret:
        # RFC 6749, 2.3.1: both are form-encoded before they are joined.
        pair = f"{quote(app.client_id, safe='')}:{quote(app.client_secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        form.append(("client_id", app.client_id))
    return Call(method="POST", url=f"{base_url}/2/oauth2/token", headers=headers, form=form)


def _refreshed(body: dict[str, Any], now: datetime) -> Refreshed | None:
    access_token, refresh_token, scope = (body.get(n) for n in ("access_token", "refresh_token", "scope"))
    if not isinstance(access_token, str) or not access_token.strip():
        return None
    return Refreshed(
        access_token=access_token,
        refresh_token=refresh_token if isinstance(refresh_token, str) and refresh_token.strip() else None,
        expires_at=now + _life(body.get("expires_in")),
        scopes=frozenset(scope.split()) if isinstance(scope, str) and scope.strip() else None,
    )


def _life(expires_in: object) -> timedelta:
    if (
        isinstance(expires_in, int)
        and not isinstance(expires_in, bool)
        and 0 < expires_in < _MOST_LIFE_SECONDS
    ):
        return timedelta(seconds=expires_in)
    return _LIFE


def _refused(answer: Answer) -> PrepareFailure:
    told = json_object(answer).get("error")
    error = told if isinstance(told, str) else ""
    if answer.status >= 500 or answer.status == 408:
        return _lost(f"X's token endpoint answered with status {answer.status}", status=answer.status)
    if answer.status not in {400, 401}:
        return read_failure(answer)
    if error in _SPENT:
        return AuthLost(evidence=_evidence(answer, error))
    if error in _OUR_FAULT or answer.status == 401:
        # Whom X does not know here is the application: the refresh token stands in the body.
        return Ours(evidence=_evidence(answer, "application_refused"))
    return Transient(evidence=_evidence(answer, "refresh_refused"))


def _evidence(answer: Answer, code: str) -> Evidence:
    told = json_object(answer).get("error_description")
    words = told if isinstance(told, str) and told else code
    message = redacted(words, secrets=answer.secrets)
    return Evidence(http_status=answer.status, code=f"x.{code}", message=message)


def _lost(message: str, *, status: int | None = None) -> Transient:
    return Transient(evidence=Evidence(http_status=status, code=ANSWER_LOST, message=message))
