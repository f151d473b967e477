"""Messages to the workers from outside of them: the first ticks, and messages sent once more.

Arrives: a broker's address. Leaves: messages in its queues. What must stay true: nothing here decides
anything; a message is a hint, and the worker asks the database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import kombu.pools
import redis
from celery import Celery
from kombu.exceptions import KombuError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Result = TypeVar("Result")

FIRST_TICKS: Final = ("socialq.relay_tick", "socialq.dispatch_window")
"""Sent at a start, since a new beat ticks for the first time after a whole interval."""

_PUBLISH: Final = "socialq.publish_target"


class Sender:
    """Sends tasks by name, with the routes of `celeryconfig`."""

    def __init__(self, redis_url: str) -> None:
        """Use the broker at `redis_url`."""
        self._app = Celery("socialq-sender", set_as_current=False)
        self._app.config_from_object("celeryconfig")
        self._app.conf.update(broker_url=redis_url)

    def first_ticks(self) -> None:
        """Let the windows begin."""
        for name in FIRST_TICKS:
            self._retried(lambda name=name: self._app.send_task(name, expires=30, retry=False))

    def publish(self, messages: Iterable[Sequence[Any]]) -> int:
        """Send publish messages, each (tenant, target, seq, kind); returns how many."""
        every = [
            tuple(part if isinstance(part, int) else str(part) for part in message) for message in messages
        ]
        self._retried(lambda: self._send_all(every))
        return len(every)

    def waiting(self, queue: str = "publishing") -> int:
        """Count messages that no worker has taken."""
        return self._retried(lambda: self._length(queue))

    def busy(self, *, timeout_seconds: float = 1.0) -> int:
        """Count publish tasks that workers are at."""
        active = self._retried(lambda: self._app.control.inspect(timeout=timeout_seconds).active()) or {}
        return sum(task["name"] == _PUBLISH for tasks in active.values() for task in tasks)

    def answering(self, *, most: int, timeout_seconds: float = 1.0) -> int:
        """Count the workers that answer a ping; returns as soon as `most` have."""
        return len(self._retried(lambda: self._app.control.ping(timeout=timeout_seconds, limit=most)))

    def close(self) -> None:
        """Close the connections."""
        self._app.close()

    def _send_all(self, every: Sequence[tuple[Any, ...]]) -> None:
        with self._app.producer_or_acquire() as producer, producer.batch():
            for arguments in every:
                self._app.send_task(_PUBLISH, args=arguments, producer=producer, retry=False)

    def _length(self, queue: str) -> int:
        with self._app.connection_for_write() as connection:
            length: int = connection.default_channel.client.llen(queue)
            return length

    @staticmethod
    def _retried(step: Callable[[], Result]) -> Result:
        """Run a step, once more on a fresh connection: kombu's pools may keep one to a server that restarted."""
        try:
            return step()
        except (KombuError, redis.RedisError, OSError):
            kombu.pools.reset()
            return step()
