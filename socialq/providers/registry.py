"""Every platform that socialq can publish to, in one literal table."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from socialq.providers.bluesky import Bluesky
from socialq.providers.facebook import Facebook
from socialq.providers.instagram import Instagram
from socialq.providers.linkedin import LinkedIn
from socialq.providers.mastodon import Mastodon
from socialq.providers.threads import Threads
from socialq.providers.x import X

if TYPE_CHECKING:
    from socialq.providers.base import Adapter

ADAPTERS: Final[dict[str, type[Adapter]]] = {
    "bluesky": Bluesky,
    "facebook": Facebook,
    "instagram": Instagram,
    "linkedin": LinkedIn,
    "mastodon": Mastodon,
    "threads": Threads,
    "x": X,
}


class UnknownPlatform(LookupError):  # noqa: N818 - named for what is wrong
    """No adapter exists for a platform; the message lists those that do."""


@functools.cache
def adapter_for(platform: str) -> Adapter:
    """Return the adapter of a platform: one object, shared, since adapters hold no state.

    Raises `UnknownPlatform`.
    """
    if platform not in ADAPTERS:
        known = ", ".join(sorted(ADAPTERS))
        raise UnknownPlatform(f"There is no platform {platform!r}: the known ones are {known}.")
    return ADAPTERS[platform]()
