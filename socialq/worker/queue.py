"""The message queue, on Celery and Redis. Implements `socialq.pipeline.ports.Queue`.

All messages of a dispatch go in one batch. Sending never hangs: sockets time out (`celeryconfig`), and
whatever goes wrong is one error, `QueueUnreachableError`, upon which rows are put back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import redis
from kombu.exceptions import KombuError

from socialq.domain.hops import QueueUnreachableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celery import Celery

    from socialq.domain.hops import Lane, Message
    from socialq.pipeline.ports import Queue

CONTROL: Final = "control"
"""The queue of ticks and windows."""
PUBLISH_TASK: Final = "socialq.publish_target"
PREPARE_TASK: Final = "socialq.prepare_target"
_TASK_AND_QUEUE: Final[dict[Lane, tuple[str, str]]] = {
    "main": (PUBLISH_TASK, "publishing"),
    "prepare": (PREPARE_TASK, "preparing"),
}


class CeleryQueue:
    """Sends one lane's messages and counts those that wait."""

    def __init__(self, app: Celery, *, lane: Lane = "main") -> None:
        """Use the app's broker and the lane's queue."""
        self._app = app
        self._task, self._queue = _TASK_AND_QUEUE[lane]

    def send(self, messages: Sequence[Message]) -> None:
        """Send a batch. Raises `QueueUnreachableError`; then some may have been sent all the same."""
        try:
            with self._app.producer_or_acquire() as producer, producer.batch():
                for message in messages:
                    self._app.send_task(
                        self._task,
                        args=(
                            str(message.tenant_id),
                            str(message.target_id),
                            message.seq,
                            message.kind.value,
                        ),
                        producer=producer,
                        retry=False,
                    )
        except (KombuError, redis.RedisError, OSError) as error:
            raise QueueUnreachableError(type(error).__name__) from error

    def length(self) -> int:
        """Count waiting messages. kombu's Redis client adds the global key prefix by itself."""
        try:
            with self._app.connection_for_write() as connection:
                length: int = connection.default_channel.client.llen(self._queue)
                return length
        except (KombuError, redis.RedisError, OSError) as error:
            raise QueueUnreachableError(type(error).__name__) from error


def queues(app: Celery) -> dict[Lane, Queue]:
    """Build the queue of every lane, the main one first."""
    return {lane: CeleryQueue(app, lane=lane) for lane in _TASK_AND_QUEUE}
