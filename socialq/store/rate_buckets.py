"""Guard 8's own count of what platforms allow, in Redis. Implements `socialq.pipeline.ports.Buckets`.

One place is taken for each publish, in every bucket of the account's platform. A full bucket makes the target
wait without spending anything. It is a courtesy that saves refused requests, never a guarantee: when Redis
can't be reached the publish goes on, and the platform's own answer decides.

A process's first few publishes in a window are not counted together with the others': they can't fill a bucket,
and asking Redis for each of them cost a tenth of a publish.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import structlog
from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from redis import ConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from socialq.domain.rates import RateLimit
    from socialq.domain.work import Work

log = structlog.get_logger(__name__)

_LONGEST_WAIT_SECONDS: Final = 3600.0
_UNCOUNTED_SHARE: Final = 50
"""One in so many places of a bucket goes to each process without asking."""
_MOST_BUCKETS: Final = 50_000


class RedisBuckets:
    """Sliding windows shared by every worker."""

    def __init__(self, pool: ConnectionPool, *, limits_of: Callable[[str], Sequence[RateLimit]]) -> None:
        """Count in the Redis behind `pool`; `limits_of(platform)` says what a platform allows."""
        self._limits_of = limits_of
        storage = RedisStorage("redis://", connection_pool=pool, key_prefix="socialq:rate")
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        self._own: dict[tuple[str, str, int], tuple[int, int]] = {}

    @classmethod
    def at(cls, redis_url: str, *, limits_of: Callable[[str], Sequence[RateLimit]]) -> RedisBuckets:
        """Count in the Redis at `redis_url`; it gets two seconds, and no second chance."""
        pool = ConnectionPool.from_url(
            redis_url,
            socket_timeout=2.0,
            socket_connect_timeout=1.0,
            # redis-py would try three times more by itself.
            retry=Retry(NoBackoff(), 0),
        )
        return cls(pool, limits_of=limits_of)

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
        if self._is_one_of_the_first(limit, scope=scope, key=key):
            return 0.0
        item: RateLimitItem = RateLimitItemPerSecond(limit.amount, limit.per_seconds)
        if self._limiter.hit(item, scope, key):
            return 0.0
        reset_at = self._limiter.get_window_stats(item, scope, key).reset_time
        return min(max(1.0, reset_at - time.time()), _LONGEST_WAIT_SECONDS)

    def _is_one_of_the_first(self, limit: RateLimit, *, scope: str, key: str) -> bool:
        """Count in this process alone. Two threads may count one place twice: it is only about a few."""
        window = int(time.monotonic() / limit.per_seconds)
        bucket = (scope, key, limit.per_seconds)
        counted_in, taken = self._own.get(bucket, (window, 0))
        taken = taken + 1 if counted_in == window else 1
        if len(self._own) > _MOST_BUCKETS:
            self._own.clear()
        self._own[bucket] = (window, taken)
        return taken <= limit.amount // _UNCOUNTED_SHARE
