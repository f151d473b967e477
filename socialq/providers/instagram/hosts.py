"""Where Instagram is: its API, its token endpoints and its consent page, from an account's base URL. Pure.

On its own hosts these have addresses of their own; anywhere else all is below the base URL. The same API is at
graph.facebook.com for accounts that are connected through a Facebook Page.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from socialq.providers.containers.addresses import api_of, root_of

VERSION: Final = "v26.0"
FACEBOOK_HOST: Final = "graph.facebook.com"
_OWN_HOST: Final = "graph.instagram.com"


def api(base_url: str) -> str:
    """Return the address of the API, with its version."""
    return api_of(base_url, version=VERSION)


def root(base_url: str) -> str:
    """Return the address below which tokens are extended."""
    return root_of(base_url)


def consent_page(base_url: str) -> str:
    """Return the address of the page where a person gives consent."""
    if urlsplit(base_url).hostname == _OWN_HOST:
        return "https://www.instagram.com/oauth/authorize"
    return f"{root_of(base_url)}/oauth/authorize"


def code_endpoint(base_url: str) -> str:
    """Return the address where a code is traded for a token of an hour."""
    if urlsplit(base_url).hostname == _OWN_HOST:
        return "https://api.instagram.com/oauth/access_token"
    return f"{root_of(base_url)}/oauth/access_token"


def is_by_page(base_url: str) -> bool:
    """Say whether accounts there are connected through a Facebook Page."""
    return urlsplit(base_url).hostname == FACEBOOK_HOST
