"""Can platforms reach the address under which we offer them media? What the address alone tells.

Arrives: `Settings`. Leaves: a warning for a person, or none. Nothing is asked over the network: from here our own
address says nothing about how it looks from outside.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from socialq.settings.fields import Settings

_LOCAL_NAMES = ("localhost", ".localhost", ".local", ".internal", ".lan", ".test", ".invalid")


def public_url_warnings(settings: Settings) -> list[str]:
    """Return what keeps platforms from fetching media, a line each; empty if nothing is seen."""
    way_out = "give the https:// address under which this web can be reached from the internet"
    if not settings.public_url:
        return [
            f"SOCIALQ_PUBLIC_URL is not set: platforms that fetch media from an address get none; {way_out}"
        ]
    split = urlsplit(settings.public_url)
    if _is_private(split.hostname or ""):
        where = (
            "is an address of this machine or network: the sandbox can fetch media from it, a platform can't"
        )
        return [f"SOCIALQ_PUBLIC_URL {where}; {way_out}"]
    if split.scheme != "https":
        return ["SOCIALQ_PUBLIC_URL is http://: platforms fetch media from https:// only; put TLS in front"]
    return []


def _is_private(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        name = host.rstrip(".").lower()
        return "." not in name or name.endswith(_LOCAL_NAMES)
