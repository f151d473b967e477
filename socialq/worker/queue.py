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

    from socialq.domain.hops import Message

PUBLISH_TASK: Final = "socialq.publish_target"
_QUEUE: Final = "publishing"


class CeleryQueue:
    """Sends publish messages and counts those that wait."""

    def __init__(self, app: Celery) -> None:
        """Use the app's broker."""
        self._app = app

    def send(self, messages: Sequence[Message]) -> None:
        """Send a batch. Raises `QueueUnreachableError`; then some may have been sent all the same."""
        try:
            with self._app.producer_or_acquire() as producer, producer.batch():
                for message in messages:
                    self._app.send_task(
                        PUBLISH_TASK,
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
        """Count waiting messages."""
        try:
            with self._app.connection_for_write() as connection:
                length: int = connection.default_channel.client.llen(self._key())
                return length
        except (KombuError, redis.RedisError, OSError) as error:
            raise QueueUnreachableError(type(error).__name__) from error

    def _key(self) -> str:
        # kombu's Redis client adds the global key prefix to this by itself.
        return _QUEUE
