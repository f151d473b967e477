"""How LinkedIn is called: its hosts, its version header, and where its upload addresses may lead.

What must stay true: a bearer token goes to LinkedIn's own hosts only, or below the account's own base address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from socialq.providers.http import Call

if TYPE_CHECKING:
    from collections.abc import Sequence

API_VERSION: Final = "202609"
"""LinkedIn's API of September 2026. A version lives about a year and there is no default; 426 says it is over."""

REAL_API: Final = "https://api.linkedin.com"
REAL_CONSENT: Final = "https://www.linkedin.com"


def rest_call(
    base_url: str,
    token: str,
    method: Literal["GET", "POST", "DELETE"],
    path: str,
    *,
    params: Sequence[tuple[str, str]] = (),
    json: object | None = None,
    finder: bool = False,
) -> Call:
    """Build a call of the versioned API; `path` begins behind `/rest`."""
    headers = {
        "Authorization": f"Bearer {token}",
        "LinkedIn-Version": API_VERSION,
        "X-Restli-Protocol-Version": "2.0.0",
    }
    if finder:
        headers["X-RestLi-Method"] = "FINDER"
    body: dict[str, Any] = {} if json is None else {"json": json}
    return Call(method=method, url=f"{base_url}/rest{path}", headers=headers, params=params, **body)


def consent_host(base_url: str) -> str:
    """Return where people give consent and tokens are given; below `base_url` where that is not LinkedIn's own."""
    return REAL_CONSENT if base_url == REAL_API else base_url


def may_upload_to(address: object, *, base_url: str) -> bool:
    """Say whether an upload address that an answer gave is LinkedIn's, or below the account's own host."""
    if not isinstance(address, str):
        return False
    try:
        there, here = urlsplit(address), urlsplit(base_url)
    except ValueError:
        return False
    if base_url == REAL_API:
        host = there.hostname or ""
        return there.scheme == "https" and (host == "linkedin.com" or host.endswith(".linkedin.com"))
    return (there.scheme, there.netloc) == (here.scheme, here.netloc)
