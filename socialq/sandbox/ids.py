"""Ids and times as the simulated platforms hand them out."""

import threading
import time
from datetime import UTC, datetime


class Snowflakes:
    """Ids that grow with time: milliseconds since 1970 shifted by 16 bits, as Mastodon makes them."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def next(self) -> str:
        with self._lock:
            self._last = max(self._last + 1, (time.time_ns() // 1_000_000) << 16)
            return str(self._last)

    def seen(self, issued: str) -> None:
        """Never hand out an id at or below one of an earlier run, even if the clock went back."""
        with self._lock:
            self._last = max(self._last, int(issued))


def iso_milliseconds(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_microseconds(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
