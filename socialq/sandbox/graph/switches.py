"""What a test may turn on every simulated platform of Meta, and how it is read."""

from collections.abc import Mapping

from socialq.sandbox.platform import Setting
from socialq.sandbox.world import World

GRAPH_SETTINGS: Mapping[str, Setting] = {
    "calls_per_account_hour": Setting(4_800, int, "calls of one account that make 100 percent of its usage"),
    "calls_per_app_hour": Setting(
        200_000, int, "calls of all accounts that make 100 percent of the app's usage"
    ),
    "regain_minutes": Setting(60, int, "how long an account whose calls are used up is refused"),
    "listing_lag_ms": Setting(0, int, "how long a new post is missing from listings"),
    "read_lag_ms": Setting(0, int, "how long a new object is answered as missing"),
    "code_life_s": Setting(600, int, "how long an authorisation code can be exchanged"),
    "short_token_life_s": Setting(3_600, int, "how long a token lives that was given for a code"),
    "long_token_life_s": Setting(5_184_000, int, "how long a long-lived token lives"),
    "is_app_disabled": Setting(
        default=False, kind=bool, meaning="every call is answered as by a disabled app"
    ),
}


class Switches:
    """Reads the settings as they stand now."""

    def __init__(self, world: World, platform: str, settings: Mapping[str, Setting]) -> None:
        self._world = world
        self._platform = platform
        self._settings = settings

    def number(self, name: str) -> int:
        value = self._value(name)
        assert isinstance(value, int)  # noqa: S101 - the control interface checks kinds
        return value

    def seconds(self, name: str) -> float:
        """A setting in milliseconds."""
        return self.number(name) / 1000

    def is_on(self, name: str) -> bool:
        return self._value(name) is True

    def text(self, name: str) -> str:
        return str(self._value(name))

    def _value(self, name: str) -> object:
        stored = self._world.shelf.get(self._platform, "setting", name)
        return stored["value"] if stored else self._settings[name].default
