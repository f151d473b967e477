"""Guard 8's own count of what platforms allow, in Redis. Implements `socialq.pipeline.ports.Buckets`.

One place is taken for each publish, in every bucket of the account's platform. A full bucket makes the target
wait without spending anything. It is a courtesy that saves refused requests, never a guarantee: when Redis
can't be reached the publish goes on, and the platform's own answer decides.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import structlog
from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from redis.exceptions import RedisError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from socialq.domain.rates import RateLimit
    from socialq.domain.work import Work

log = structlog.get_logger(__name__)

_LONGEST_WAIT_SECONDS: Final = 3600.0


class RedisBuckets:
    """Sliding windows shared by every worker."""

    def __init__(self, redis_url: str, *, limits_of: Callable[[str], Sequence[RateLimit]]) -> None:
        """Count in the Redis at `redis_url`; `limits_of(platform)` says what a platform allows."""
        self._limits_of = limits_of
        storage = RedisStorage(
            redis_url,
            key_prefix="socialq:rate",
            socket_timeout=2.0,
            socket_connect_timeout=1.0,
            retry_on_timeout=False,
        )
        self._limiter = SlidingWindowCounterRateLimiter(storage)

    def wait_seconds(self, work: Work) -> float:
        """Take one place in every bucket that applies; 0: go ahead, else seconds until there is one."""
        for limit in self._limits_of(work.account.platform):
            key = work.account.provider_app_id if limit.scope == "app" else work.account.id
            if key is None:
                continue
            try:
                wait_seconds = self._take(limit, scope=limit.scope, key=str(key))
            except RedisError as error:
                log.warning("rate_bucket_unreachable", error=type(error).__name__)
                return 0.0
            if wait_seconds > 0:
                return wait_seconds
        return 0.0

    def _take(self, limit: RateLimit, *, scope: str, key: str) -> float:
        item: RateLimitItem = RateLimitItemPerSecond(limit.amount, limit.per_seconds)
        if self._limiter.hit(item, scope, key):
            return 0.0
        reset_at = self._limiter.get_window_stats(item, scope, key).reset_time
        return min(max(1.0, reset_at - time.time()), _LONGEST_WAIT_SECONDS)
