"""What a test may turn on the simulated PDS, and what it stands at."""

from collections.abc import Mapping

from socialq.sandbox.platform import Setting
from socialq.sandbox.world import World

SETTINGS: Mapping[str, Setting] = {
    "access_token_life_s": Setting(7_200, int, "how long an access token lives"),
    "refresh_token_life_s": Setting(90 * 86_400, int, "how long a refresh token lives"),
    "refresh_grace_s": Setting(7_200, int, "how long a refresh token works after it was used once"),
    "image_limit_bytes": Setting(
        1_000_000, int, "the largest image a post may have; newer servers allow 2000000"
    ),
    "blob_limit_bytes": Setting(100_000_000, int, "the largest file; servers run by their users allow 5 MiB"),
    "blob_life_s": Setting(6 * 3_600, int, "how long a file is kept that no post uses"),
    "read_lag_ms": Setting(0, int, "how long a new record can't be read; none on a real PDS"),
    "enforces_limits": Setting(default=False, kind=bool, meaning="Bluesky's rate limits are enforced"),
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
