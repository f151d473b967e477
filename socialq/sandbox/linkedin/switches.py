"""What a test may turn on the simulated LinkedIn, and what it stands at."""

from collections.abc import Mapping

from socialq.sandbox.platform import Setting
from socialq.sandbox.world import World

DAY_SECONDS = 86_400

SETTINGS: Mapping[str, Setting] = {
    "oldest_version": Setting(202512, int, "the oldest LinkedIn-Version that is active"),
    "newest_version": Setting(202611, int, "the newest LinkedIn-Version that is active"),
    "max_characters": Setting(3_000, int, "length limit of a post's text as it is seen"),
    "duplicate_window_s": Setting(600, int, "how long the same post is refused, naming the first"),
    "listing_lag_ms": Setting(0, int, "how long a new post is missing from its author's listing"),
    "publish_requested_ms": Setting(0, int, "how long a new post's state reads PUBLISH_REQUESTED"),
    "image_processing_ms": Setting(100, int, "how long images and documents are processed"),
    "video_processing_ms": Setting(500, int, "how long videos are processed"),
    "processing_fails": Setting(default=False, kind=bool, meaning="processing ends in failure"),
    "video_part_bytes": Setting(4_194_304, int, "how long each part of a video's upload is"),
    "upload_url_life_s": Setting(DAY_SECONDS, int, "how long an upload URL is good"),
    "member_daily_limit": Setting(0, int, "requests of one author a day, until midnight UTC; 0: any"),
    "app_daily_limit": Setting(0, int, "requests of the application a day, until midnight UTC; 0: any"),
    "comments_need_product": Setting(
        default=False, kind=bool, meaning="the application lacks the product for comments"
    ),
    "omits_id": Setting(default=False, kind=bool, meaning="201 comes without the header that names the post"),
    "stores_nothing": Setting(default=False, kind=bool, meaning="201 without an id, and no post"),
    "id_header": Setting("x-restli-id", str, "the header that names a new post; its case varies"),
    "access_token_life_s": Setting(60 * DAY_SECONDS, int, "how long an access token lives"),
    "refresh_token_life_s": Setting(
        365 * DAY_SECONDS, int, "how long it can be refreshed, from the consent on"
    ),
    "offers_refresh_tokens": Setting(
        default=True, kind=bool, meaning="false: only 60 days, then a new consent"
    ),
    "new_token_settles_ms": Setting(0, int, "how long a refreshed token is still refused"),
    "code_life_s": Setting(1_800, int, "how long an authorisation code can be exchanged"),
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

    def text(self, name: str) -> str:
        return str(self._value(name))

    def is_on(self, name: str) -> bool:
        return self._value(name) is True

    def _value(self, name: str) -> object:
        stored = self._world.shelf.get(self._platform, "setting", name)
        return stored["value"] if stored else SETTINGS[name].default
