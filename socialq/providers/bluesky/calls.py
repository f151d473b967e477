"""The requests of the AT protocol: `<base>/xrpc/<method>`.

A base address, a token and arguments arrive; a `Call` leaves, or its answer read as a JSON object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from socialq.providers.bluesky.answers import read_failure
from socialq.providers.bluesky.problems import json_object
from socialq.providers.http import Call, NetworkFailure, transient_failure

if TYPE_CHECKING:
    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.http import Http, UploadFile


def query(base_url: str, method: str, *, token: str = "", **params: str) -> Call:
    """Build a request that reads."""
    return Call(
        method="GET", url=_url(base_url, method), headers=_headers(token), params=tuple(params.items())
    )


def procedure(
    base_url: str,
    method: str,
    *,
    token: str = "",
    json: dict[str, Any] | None = None,
    file: UploadFile | None = None,
) -> Call:
    """Build a request that does something."""
    return Call(method="POST", url=_url(base_url, method), headers=_headers(token), json=json, file=file)


def ask(http: Http, call: Call) -> dict[str, Any] | PrepareFailure:
    """Send a request that publishes nothing; return its answer's object, or why there is none."""
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform="Bluesky")
    body = json_object(answer)
    return body if answer.status == 200 and body else read_failure(answer)


def _url(base_url: str, method: str) -> str:
    return f"{base_url}/xrpc/{method}"


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}
