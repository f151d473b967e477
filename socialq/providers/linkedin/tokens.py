"""LinkedIn's tokens: a code, or a refresh token, for an access token of 60 days.

A code or a refresh token and the application's credentials arrive; tokens or a failure leave.
What must stay true: an answer without an access token never replaces one; no token, code or secret gets into an
address or into evidence. A refresh token is not used up: it lives for a year from the consent, whatever is done
with it, and a refresh whose answer was lost may be repeated.

Source: learn.microsoft.com/linkedin/shared/authentication/{authorization-code-flow,programmatic-refresh-tokens}.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import AuthLost, Evidence, Ours, PrepareFailure, Transient
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.linkedin.answers import read_failure
from socialq.providers.linkedin.calls import consent_host
from socialq.providers.linkedin.people import member_call
from socialq.providers.linkedin.said import json_object
from socialq.providers.messages import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from socialq.providers.base import AppCredentials
    from socialq.providers.http import Answer, Http

_LIFE: Final = timedelta(days=60)
"""How long access tokens live, where an answer does not say."""
_MOST_LIFE_SECONDS: Final = 10 * 365 * 24 * 3600
_SPENT: Final = frozenset({"invalid_grant", "invalid_request", "invalid_redirect_uri"})
_OUR_FAULT: Final = frozenset({"invalid_client", "unauthorized_client", "unsupported_grant_type"})
_SETTLING_PAUSES_SECONDS: Final = (0.0, 2.0, 4.0)
"""Before each question whether a new token is known everywhere yet."""
_ASKING_SECONDS: Final = 4.0
"""For each of them: with the exchange before, all of it ends well within the lease of the refresh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What LinkedIn gave."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    """None where the application may not refresh: then a person consents again every 60 days."""
    expires_at: datetime
    scopes: frozenset[str] | None


def trade(
    http: Http, *, base_url: str, app: AppCredentials, given: Sequence[tuple[str, str]], now: datetime
) -> Pair | PrepareFailure:
    """Trade a code or a refresh token, with its `grant_type` in `given`."""
    credentials = [("client_id", app.client_id), ("client_secret", app.client_secret)]
    url = f"{consent_host(base_url)}/oauth/v2/accessToken"
    answer = http.send(Call(method="POST", url=url, form=[*given, *credentials]))
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform="LinkedIn")
    if 200 <= answer.status < 300:
        return _pair(json_object(answer), now) or _no_token(answer)
    hidden = tuple(value for _, value in (*given, *credentials[1:]) if len(value) > 8)
    return _refused(replace(answer, secrets=(*answer.secrets, *hidden)))


def await_activation(http: Http, *, base_url: str, token: str, sleep: Callable[[float], None]) -> None:
    """Wait until a new token is accepted, some seconds long.

    LinkedIn answers a token that it has just given with "revoked" (65601) for some seconds. Whoever used it then
    would take the account for lost. So nobody gets it before: meanwhile others go on with the old one, which is
    good for days. A stop in between loses nothing, since a refresh token is not spent by its use. If the new one
    is still refused afterwards, using it tells.
    """
    for pause in _SETTLING_PAUSES_SECONDS:
        sleep(pause)
        answer = http.send(member_call(base_url, token), deadline_seconds=_ASKING_SECONDS)
        if isinstance(answer, NetworkFailure) or answer.status != 401:
            return


def _pair(body: dict[str, Any], now: datetime) -> Pair | None:
    access_token, refresh_token, scope = (body.get(n) for n in ("access_token", "refresh_token", "scope"))
    if not isinstance(access_token, str) or not access_token.strip():
        return None
    # LinkedIn has written scopes with commas and with blanks.
    scopes = frozenset(scope.replace(",", " ").split()) if isinstance(scope, str) else frozenset()
    return Pair(
        access_token=access_token.strip(),
        refresh_token=refresh_token if isinstance(refresh_token, str) and refresh_token.strip() else None,
        expires_at=now + _life(body.get("expires_in")),
        scopes=scopes or None,
    )


def _life(expires_in: object) -> timedelta:
    if isinstance(expires_in, bool) or not isinstance(expires_in, int):
        return _LIFE
    return timedelta(seconds=expires_in) if 0 < expires_in < _MOST_LIFE_SECONDS else _LIFE


def _refused(answer: Answer) -> PrepareFailure:
    told = json_object(answer).get("error")
    error = told if isinstance(told, str) else ""
    if answer.status not in {400, 401, 403}:
        return read_failure(answer)
    if error in _OUR_FAULT:
        return Ours(evidence=_evidence(answer, "application_refused"))
    if error in _SPENT:
        return AuthLost(evidence=_evidence(answer, error))
    return Transient(evidence=_evidence(answer, "token_refused"))


def _evidence(answer: Answer, code: str) -> Evidence:
    told = json_object(answer).get("error_description")
    words = told if isinstance(told, str) and told else code
    message = redacted(words, secrets=answer.secrets)
    return Evidence(http_status=answer.status, code=f"linkedin.{code}", message=message)


def _no_token(answer: Answer) -> Transient:
    message = "LinkedIn's answer holds no access token"
    return Transient(evidence=Evidence(http_status=answer.status, code="linkedin.no_token", message=message))
