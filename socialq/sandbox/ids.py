"""Ids and times as the simulated platforms hand them out."""

import threading
import time
from datetime import UTC, datetime

# An id that would be from so long after now is of another making, and says nothing about these.
FOREIGN_AFTER_MS = 10 * 365 * 86_400_000


class Snowflakes:
    """Ids that grow with time: milliseconds since 1970 shifted by 16 bits, as Mastodon makes them.

    Other platforms count from another epoch (milliseconds since 1970) and shift further.
    """

    def __init__(self, *, epoch_ms: int = 0, shift: int = 16) -> None:
        self._epoch_ms = epoch_ms
        self._shift = shift
        self._last = 0
        self._lock = threading.Lock()

    def next(self) -> str:
        with self._lock:
            self._last = max(self._last + 1, self._now_ms() << self._shift)
            return str(self._last)

    def seen(self, issued: str) -> None:
        """Never hand out an id at or below one of an earlier run, even if the clock went back.

        Ids of another making are passed over.
        """
        with self._lock:
            if issued.isdecimal() and int(issued) >> self._shift < self._now_ms() + FOREIGN_AFTER_MS:
                self._last = max(self._last, int(issued))

    def _now_ms(self) -> int:
        return time.time_ns() // 1_000_000 - self._epoch_ms


def iso_milliseconds(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_microseconds(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
