"""The platforms that are simulated: one line each."""

from socialq.sandbox.mastodon import Mastodon
from socialq.sandbox.platform import Platform
from socialq.sandbox.world import World
from socialq.sandbox.x import X


def build_platforms(world: World, *, rate_limit: int) -> dict[str, Platform]:
    """Every platform by its mount's name. `rate_limit`: requests per account and window, 0 for no limit."""
    platforms: list[Platform] = [
        Mastodon(world, rate_limit=rate_limit),
        X(world, rate_limit=rate_limit),
    ]
    return {platform.name: platform for platform in platforms}
