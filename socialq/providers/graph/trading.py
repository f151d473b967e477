"""Trading one token, or a code, for another at a Graph API's token endpoints.

A call that a platform has built arrives; the new token or a failure leaves.
What must stay true: an answer without a token is never taken for one; no code, token or secret gets into
evidence; what is wrong with the application is ours, never the person's.

Source: developers.facebook.com/docs/facebook-login/guides/access-tokens/get-long-lived.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from socialq.domain.outcomes import Transient
from socialq.providers.graph.answers import Dialect, Meaning, read_failure, same
from socialq.providers.graph.said import evidence, graph_id, json_object
from socialq.providers.http import NetworkFailure, transient_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.http import Call, Http

_MOST_LIFE_SECONDS: Final = 10 * 365 * 24 * 3600

TRADING: Final[tuple[Meaning, ...]] = (
    same("code_spent", "rejected", 100, subcodes=frozenset({36007, 36009})),
    # The address to return to must be the one registered, and the same in both requests.
    same("redirect_refused", "ours", 100, subcodes=frozenset({36008})),
    # "Error validating client secret" comes with the number of an unknown error, and status 400.
    same("secret_refused", "ours", 1),
)
"""What refusals mean at the token endpoints, before what they mean elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traded:
    """A token, and what was said with it."""

    access_token: str = field(repr=False)
    expires_at: datetime | None
    """When it ends (aware, UTC); None: nothing was said, which for Meta means never."""
    user_id: str | None
    scopes: frozenset[str]
    """Empty where nothing was said."""


def trade(
    http: Http, call: Call, *, dialect: Dialect, hidden: Sequence[str], now: datetime
) -> Traded | PrepareFailure:
    """Send a call to a token endpoint, once. `hidden`: the code, tokens and secrets that it holds."""
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform=dialect.label)
    answer = replace(answer, secrets=(*answer.secrets, *(secret for secret in hidden if secret)))
    if answer.status != 200:
        # Only with 400 does the number of an unknown error stand for a wrong secret.
        more = TRADING if answer.status == 400 else ()
        return read_failure(answer, replace(dialect, meanings=(*more, *dialect.meanings)))
    body = json_object(answer)
    # The newest of the endpoints wraps its answer in a list.
    data = body.get("data")
    if isinstance(data, list) and data and isinstance(data[0], dict):
        body = data[0]
    token = body.get("access_token")
    if not isinstance(token, str) or not token.strip():
        return Transient(evidence=evidence(answer, f"{dialect.platform}.unreadable"))
    return Traded(
        access_token=token,
        expires_at=_end(body.get("expires_in"), now),
        user_id=graph_id(body.get("user_id")),
        scopes=_scopes(body.get("permissions")),
    )


def _end(seconds: object, now: datetime) -> datetime | None:
    if isinstance(seconds, str) and seconds.isascii() and seconds.isdigit() and len(seconds) < 12:
        seconds = int(seconds)
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 < seconds < _MOST_LIFE_SECONDS:
        return None
    return now + timedelta(seconds=seconds)


def _scopes(value: object) -> frozenset[str]:
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    return frozenset(one for one in value if isinstance(one, str)) if isinstance(value, list) else frozenset()
