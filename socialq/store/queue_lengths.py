"""How many messages wait in Redis, by queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Sequence

_SOCKET_SECONDS: Final = 2.0
_PREFIX: Final = "socialq:"
"""Celery's `global_keyprefix`."""


class QueueLengths:
    """Counts messages. Shared between threads; connects when it is first asked."""

    def __init__(self, redis_url: str, *, queues: Sequence[str]) -> None:
        """Count in the Redis at `redis_url`."""
        self._queues = tuple(queues)
        self._redis = redis.Redis.from_url(
            redis_url,
            socket_timeout=_SOCKET_SECONDS,
            socket_connect_timeout=_SOCKET_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )

    def read(self) -> dict[str, int]:
        """Count the messages of each queue. Raises `ConnectionError` when Redis can't be reached."""
        try:
            with self._redis.pipeline(transaction=False) as pipeline:
                for queue in self._queues:
                    pipeline.llen(f"{_PREFIX}{queue}")
                lengths = pipeline.execute()
        except redis.RedisError as error:
            raise ConnectionError(type(error).__name__) from error
        return dict(zip(self._queues, lengths, strict=True))

    def close(self) -> None:
        """Let the connections go."""
        self._redis.close()
