"""What a test may turn on the simulated X, and what it stands at."""

from collections.abc import Mapping

from socialq.sandbox.platform import Setting
from socialq.sandbox.world import World

YEAR_SECONDS = 365 * 86_400

SETTINGS: Mapping[str, Setting] = {
    "max_characters": Setting(280, int, "weighted length limit; subscribers have 25000"),
    "duplicate_window_s": Setting(86_400, int, "how long a text can't be posted again, even if deleted"),
    "listing_lag_ms": Setting(0, int, "how long a new post is missing from its author's listing"),
    "reply_lag_ms": Setting(0, int, "how long a new post can't be replied to"),
    "media_processing_ms": Setting(500, int, "how long video and animated GIF are processed"),
    "media_processing_fails": Setting(default=False, kind=bool, meaning="processing ends in failure"),
    "media_settling_ms": Setting(0, int, "how long finished media are still refused by a post"),
    "media_life_s": Setting(86_400, int, "how long uploaded media can be posted"),
    "access_token_life_s": Setting(7_200, int, "how long an access token lives"),
    "old_access_token_grace_s": Setting(
        YEAR_SECONDS, int, "how long a refresh leaves the earlier access token alive, at most"
    ),
    "code_life_s": Setting(30, int, "how long an authorisation code can be exchanged"),
    "credits_depleted": Setting(default=False, kind=bool, meaning="every call is answered 402"),
    "enforces_limits": Setting(default=False, kind=bool, meaning="X's documented rate limits are enforced"),
    "accepts_tweet_fields": Setting(default=True, kind=bool, meaning="false: only post.fields is known"),
    "accepts_post_fields": Setting(default=True, kind=bool, meaning="false: only tweet.fields is known"),
}


class Switches:
    """Reads the settings as they stand now."""

    def __init__(self, world: World, platform: str) -> None:
        self._world = world
        self._platform = platform

    def number(self, name: str) -> int:
        value = self._value(name)
        assert isinstance(value, int)  # noqa: S101 - the control interface checks kinds
        return value

    def is_on(self, name: str) -> bool:
        return self._value(name) is True

    def _value(self, name: str) -> object:
        stored = self._world.shelf.get(self._platform, "setting", name)
        return stored["value"] if stored else SETTINGS[name].default
