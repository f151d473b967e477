"""How many requests and how many points of writing an account has left, and the headers that say so.

Bluesky counts requests in windows of five minutes and, of writes, points by the hour and by the day. The headers
show whichever is nearest to its end. The sandbox counts too, but refuses nothing unless asked: by
`--rate-limit N` (N requests) or by the setting `enforces_limits` (Bluesky's own figures).
"""

import threading
import time
from dataclasses import dataclass

SHOWN_WITHOUT_LIMIT = 100_000
LIMIT_AFTER_FAULT = 5_000


@dataclass(frozen=True, slots=True)
class Window:
    """One limit: `limit` requests or points in `seconds`."""

    name: str
    limit: int
    seconds: int


# docs.bsky.app/docs/advanced-guides/rate-limits
REQUESTS = Window("requests", 3_000, 300)
WRITES_HOUR = Window("writes-hour", 5_000, 3_600)
WRITES_DAY = Window("writes-day", 35_000, 86_400)
POINTS = {
    "com.atproto.repo.createRecord": 3,
    "com.atproto.repo.putRecord": 2,
    "com.atproto.repo.deleteRecord": 1,
}
POINTS_PER_WRITE = 3


class RateWindows:
    """Counts by account; `limit_for_requests` 0 leaves it to the setting."""

    def __init__(self, limit_for_requests: int) -> None:
        self._limit_for_requests = limit_for_requests
        self._lock = threading.Lock()
        self._taken: dict[tuple[str, str, int], int] = {}

    def take(self, account: str, *, points: int, is_enforced: bool) -> bool:
        """Count a request that costs `points` of writing; false if it is one too many."""
        is_within = True
        with self._lock:
            if len(self._taken) > 50_000:
                self._taken.clear()
            for window in self._windows(points):
                key = _key(account, window)
                self._taken[key] = self._taken.get(key, 0) + (1 if window is REQUESTS else points)
                limit = self._limit(window, is_enforced=is_enforced)
                is_within = is_within and (limit is None or self._taken[key] <= limit)
        return is_within

    def headers(self, account: str, *, points: int, is_enforced: bool) -> dict[str, str]:
        """What the window says that is nearest to its end."""
        shown = []
        for window in self._windows(points):
            limit = self._limit(window, is_enforced=is_enforced) or SHOWN_WITHOUT_LIMIT
            left = max(0, limit - self._taken.get(_key(account, window), 0))
            shown.append((left, limit, window))
        left, limit, window = min(shown, key=lambda one: one[0])
        reset = (int(time.time()) // window.seconds + 1) * window.seconds
        return rate_headers(limit, left, reset, window.seconds)

    @staticmethod
    def _windows(points: int) -> tuple[Window, ...]:
        return (REQUESTS, WRITES_HOUR, WRITES_DAY) if points else (REQUESTS,)

    def _limit(self, window: Window, *, is_enforced: bool) -> int | None:
        """None: nothing is refused."""
        if window is REQUESTS and self._limit_for_requests:
            return self._limit_for_requests
        return window.limit if is_enforced else None


def rate_headers(limit: int, left: int, reset: int, seconds: int) -> dict[str, str]:
    """`reset` is in seconds since 1970."""
    shown = {"RateLimit-Limit": str(limit), "RateLimit-Remaining": str(left), "RateLimit-Reset": str(reset)}
    return {**shown, "RateLimit-Policy": f"{limit};w={seconds}"}


def exhausted_headers(retry_after_seconds: int) -> dict[str, str]:
    """What a 429 says when the caller may come back after the given time."""
    headers = rate_headers(LIMIT_AFTER_FAULT, 0, int(time.time()) + retry_after_seconds, 3_600)
    return {**headers, "Retry-After": str(retry_after_seconds)}


def _key(account: str, window: Window) -> tuple[str, str, int]:
    return account, window.name, int(time.time()) // window.seconds
