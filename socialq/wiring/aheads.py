"""How long before its slot a post is prepared, or just checked, as the adapters say.

Adapters arrive; seconds by platform and kind of post leave, in the words of `socialq.store.machine_store`. Pure.
What must stay true: a row of the prepare lane is only made where it can find something: a text of a platform with
neither files nor questions is in it for its token alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.providers.registry import ADAPTERS, adapter_for
from socialq.upkeep.token_upkeep import aheads_of

if TYPE_CHECKING:
    from socialq.providers.base import Adapter


def prepare_aheads() -> dict[str, float]:
    """Return seconds before the slot: by platform for files, by platform and a word for texts."""
    tokens = token_aheads()
    return {
        name: adapter.prepare_ahead.total_seconds()
        for platform, adapter in ADAPTERS.items()
        if adapter.prepare_ahead
        for name in (platform, *_text(platform, adapter, refreshes=platform in tokens))
    }


def token_aheads() -> dict[str, float]:
    """Return seconds before its end at which a publish refreshes a token, where tokens live for hours.

    Those that live longer are looked after days before their end, whatever is posted.
    """
    looked_after = aheads_of({name: adapter_for(name) for name in ADAPTERS})
    return {
        name: adapter.refresh_ahead.total_seconds()
        for name, adapter in ADAPTERS.items()
        if looked_after.get(name) == 0.0
    }


def _text(platform: str, adapter: type[Adapter], *, refreshes: bool) -> list[str]:
    if adapter.prepares_texts:
        return [f"{platform} text"]
    if adapter.checks_texts:
        return [f"{platform} check"]
    return [f"{platform} token"] if refreshes else []
