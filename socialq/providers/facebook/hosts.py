"""Where Facebook's interfaces are: the Graph API, its hosts for videos, and the page on which consent is given.

The address that an account was connected with arrives, with or without a version at its end; addresses leave. Pure.
What must stay true: nothing is sent to a host that an answer names, unless it is the one expected here.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from socialq.providers.containers.addresses import api_of

VERSION: Final = "v26.0"
"""Of 29 July 2026. An account's base URL may end with another."""

_HOSTS: Final = {
    "graph.facebook.com": {
        "video": "graph-video.facebook.com",
        "upload": "rupload.facebook.com",
        "consent": "www.facebook.com",
    },
}
"""By the API's host. At any other address, as in the sandbox, all of them are one."""


def api(base_url: str) -> str:
    """Return the Graph API's address."""
    return api_of(base_url, version=VERSION)


def video_api(base_url: str) -> str:
    """Return where videos are sent to."""
    return _on(api(base_url), "video")


def consent_page(base_url: str) -> str:
    """Return the address of the dialog, without its question."""
    return f"{_on(api(base_url), 'consent')}/dialog/oauth"


def is_upload_address(address: str, base_url: str) -> bool:
    """Say whether an address that Facebook gave for the bytes of a reel is on the host for them."""
    expected = urlsplit(_on(api(base_url), "upload"))
    try:
        given = urlsplit(address)
    except ValueError:
        return False
    return (given.scheme, given.netloc) == (expected.scheme, expected.netloc)


def _on(address: str, purpose: str) -> str:
    split = urlsplit(address)
    other = _HOSTS.get(split.netloc, {}).get(purpose)
    return address if other is None else split._replace(netloc=other).geturl()
