"""How many messages wait in Redis, by queue, and for which tasks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Sequence

_SOCKET_SECONDS: Final = 2.0
_PREFIX: Final = "socialq:"
"""Celery's `global_keyprefix`."""
_READ_AT_MOST: Final = 1000


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

    def waiting(self, queue: str) -> set[tuple[str, str]]:
        """Read what waits in a queue: tasks, with their arguments as text. Raises `ConnectionError`.

        For queues of ticks, which are short; of one that is not, the newest thousand are read.
        """
        try:
            messages = self._redis.lrange(f"{_PREFIX}{queue}", 0, _READ_AT_MOST - 1)
        except redis.RedisError as error:
            raise ConnectionError(type(error).__name__) from error
        return {task for message in messages if (task := _task_of(message)) is not None}

    def close(self) -> None:
        """Let the connections go."""
        self._redis.close()


def _task_of(message: bytes | str) -> tuple[str, str] | None:
    """Name the task of a message as it lies in the queue; None for what none of ours has written."""
    try:
        headers = json.loads(message)["headers"]
        return str(headers["task"]), str(headers.get("argsrepr", ""))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
