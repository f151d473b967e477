"""How many requests an account has left at each endpoint, and the headers that say so.

X counts per user and endpoint in windows of 15 minutes. The sandbox counts too, but refuses nothing unless
asked: by `--rate-limit N` (N for every endpoint) or by the setting `enforces_limits` (X's own figures).
"""

import threading
import time

WINDOW_SECONDS = 900
SHOWN_WITHOUT_LIMIT = 100_000
LIMIT_AFTER_FAULT = 100

# docs.x.com, rate limits, per user and 15 minutes. What is not here has no limit and no headers.
LIMITS = {
    ("POST", "/2/tweets"): 100,
    ("DELETE", "/2/tweets/:id"): 50,
    ("GET", "/2/tweets"): 5_000,
    ("GET", "/2/tweets/:id"): 900,
    ("GET", "/2/users/me"): 75,
    ("GET", "/2/users/:id/tweets"): 900,
    ("POST", "/2/media/upload"): 500,
    ("GET", "/2/media/upload"): 1_000,
    ("POST", "/2/media/upload/initialize"): 1_875,
    ("POST", "/2/media/upload/:id/append"): 1_875,
    ("POST", "/2/media/upload/:id/finalize"): 1_875,
    ("POST", "/2/media/metadata"): 500,
}
Endpoint = tuple[str, str]


class RateWindows:
    """Counts requests per account and endpoint; `limit_for_all` 0 leaves it to the setting."""

    def __init__(self, limit_for_all: int) -> None:
        self._limit_for_all = limit_for_all
        self._lock = threading.Lock()
        self._window = 0
        self._taken: dict[tuple[str, Endpoint], int] = {}

    def take(self, account: str, endpoint: Endpoint, *, is_enforced: bool) -> bool:
        """Count a request; false if it is one too many."""
        with self._lock:
            window = int(time.time() // WINDOW_SECONDS)
            if window != self._window:
                self._window = window
                self._taken.clear()
            taken = self._taken.get((account, endpoint), 0) + 1
            self._taken[account, endpoint] = taken
        limit = self._limit(endpoint, is_enforced=is_enforced)
        return limit is None or taken <= limit

    def headers(self, account: str, endpoint: Endpoint, *, is_enforced: bool) -> dict[str, str]:
        if endpoint not in LIMITS:
            return {}
        limit = self._limit(endpoint, is_enforced=is_enforced) or SHOWN_WITHOUT_LIMIT
        remaining = max(0, limit - self._taken.get((account, endpoint), 0))
        reset = (time.time() // WINDOW_SECONDS + 1) * WINDOW_SECONDS
        return _headers(limit, remaining, int(reset))

    def _limit(self, endpoint: Endpoint, *, is_enforced: bool) -> int | None:
        """None: nothing is refused."""
        if endpoint not in LIMITS:
            return None
        return self._limit_for_all or (LIMITS[endpoint] if is_enforced else None)


def exhausted_headers(retry_after_seconds: float) -> dict[str, str]:
    """What a 429 says when the caller may come back after the given time; the reset is in whole seconds."""
    return _headers(LIMIT_AFTER_FAULT, 0, int(time.time() + retry_after_seconds))


def _headers(limit: int, remaining: int, reset: int) -> dict[str, str]:
    return {
        "x-rate-limit-limit": str(limit),
        "x-rate-limit-remaining": str(remaining),
        "x-rate-limit-reset": str(reset),
    }
