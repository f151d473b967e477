"""The platforms that are simulated: one line each."""

from socialq.sandbox.bluesky import Bluesky
from socialq.sandbox.facebook import Facebook
from socialq.sandbox.instagram import Instagram
from socialq.sandbox.linkedin import LinkedIn
from socialq.sandbox.mastodon import Mastodon
from socialq.sandbox.platform import Platform
from socialq.sandbox.threads import Threads
from socialq.sandbox.world import World
from socialq.sandbox.x import X


def build_platforms(world: World, *, rate_limit: int) -> dict[str, Platform]:
    """Every platform by its mount's name. `rate_limit`: requests per account and window, 0 for no limit."""
    platforms: list[Platform] = [
        Bluesky(world, rate_limit=rate_limit),
        Facebook(world, rate_limit=rate_limit),
        Instagram(world, rate_limit=rate_limit),
        LinkedIn(world, rate_limit=rate_limit),
        Mastodon(world, rate_limit=rate_limit),
        Threads(world, rate_limit=rate_limit),
        X(world, rate_limit=rate_limit),
    ]
    return {platform.name: platform for platform in platforms}
