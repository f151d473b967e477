"""How many requests an account has left, and the headers that say so.

Fixed windows of five minutes that begin on the clock, as Rack::Attack counts them; the reset is told as
ISO 8601 with microseconds. Real instances allow 300; the sandbox counts but limits nothing unless asked.
"""

import threading
import time
from datetime import UTC, datetime

from socialq.sandbox.ids import iso_microseconds

WINDOW_SECONDS = 300
LIMIT_OF_REAL_INSTANCES = 300
SHOWN_WITHOUT_LIMIT = 100_000


class RateWindow:
    """Counts requests per account; `limit` 0 never refuses."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._window = 0
        self._taken: dict[str, int] = {}

    def take(self, account: str) -> bool:
        """Count a request; false if it is one too many."""
        with self._lock:
            window = int(time.time() // WINDOW_SECONDS)
            if window != self._window:
                self._window = window
                self._taken.clear()
            self._taken[account] = self._taken.get(account, 0) + 1
            return not self._limit or self._taken[account] <= self._limit

    def headers(self, account: str) -> dict[str, str]:
        limit = self._limit or SHOWN_WITHOUT_LIMIT
        reset = (time.time() // WINDOW_SECONDS + 1) * WINDOW_SECONDS
        remaining = max(0, limit - self._taken.get(account, 0))
        return _headers(limit, remaining, datetime.fromtimestamp(reset, UTC))


def exhausted_headers(retry_after_seconds: float) -> dict[str, str]:
    """What a 429 says when the caller may come back after the given time."""
    reset = datetime.fromtimestamp(time.time() + retry_after_seconds, UTC)
    return _headers(LIMIT_OF_REAL_INSTANCES, 0, reset)


def _headers(limit: int, remaining: int, reset: datetime) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(limit),
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset": iso_microseconds(reset),
    }
