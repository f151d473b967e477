"""Where Threads is: its API, its token endpoints and its consent page, from an account's base URL. Pure.

On Threads' own hosts the consent page has an address of its own; anywhere else all is below the base URL.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from socialq.providers.containers.addresses import api_of, root_of

_VERSION: Final = "v1.0"
_CONSENT_PAGES: Final = {
    "graph.threads.net": "https://threads.net/oauth/authorize",
    "graph.threads.com": "https://www.threads.com/oauth/authorize",
}


def api(base_url: str) -> str:
    """Return the address of the API, with its version."""
    return api_of(base_url, version=_VERSION)


def root(base_url: str) -> str:
    """Return the address below which the token endpoints are."""
    return root_of(base_url)


def consent_page(base_url: str) -> str:
    """Return the address of the page where a person gives consent."""
    own = _CONSENT_PAGES.get(urlsplit(base_url).hostname or "")
    return own or f"{root_of(base_url)}/oauth/authorize"
