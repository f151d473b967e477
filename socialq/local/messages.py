"""Messages to the workers from outside of them: the first ticks, and messages sent once more.

Arrives: a broker's address. Leaves: messages in its queues. What must stay true: nothing here decides
anything; a message is a hint, and the worker asks the database.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from celery import Celery

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FIRST_TICKS: Final = ("socialq.relay_tick", "socialq.dispatch_window")
"""Sent at a start, since a new beat ticks for the first time after a whole interval."""

_PUBLISH: Final = "socialq.publish_target"


class Sender:
    """Sends tasks by name, with the routes of `celeryconfig`.

    Each call has a connection of its own: kombu's pools are shared by the whole process, and keep connections
    to a server that was restarted.
    """

    def __init__(self, redis_url: str) -> None:
        """Use the broker at `redis_url`; nothing is connected before the first call."""
        self._app = Celery("socialq-sender", set_as_current=False)
        self._app.config_from_object("celeryconfig")
        self._app.conf.update(broker_url=redis_url)

    def first_ticks(self) -> None:
        """Let the windows begin."""
        with self._producer() as producer:
            for name in FIRST_TICKS:
                self._app.send_task(name, producer=producer, expires=30, retry=False)

    def publish(self, messages: Iterable[Sequence[Any]]) -> int:
        """Send publish messages, each (tenant, target, seq, kind); returns how many."""
        sent = 0
        with self._producer() as producer, producer.batch():
            for message in messages:
                arguments = tuple(part if isinstance(part, int) else str(part) for part in message)
                self._app.send_task(_PUBLISH, args=arguments, producer=producer, retry=False)
                sent += 1
        return sent

    def waiting(self, queue: str = "publishing") -> int:
        """Count messages that no worker has taken."""
        with self._app.connection_for_write() as connection:
            length: int = connection.default_channel.client.llen(queue)
            return length

    def busy(self, *, timeout_seconds: float = 1.0) -> int:
        """Count publish tasks that workers are at."""
        with self._app.connection_for_write() as connection:
            found = self._app.control.inspect(timeout=timeout_seconds, connection=connection).active() or {}
        return sum(task["name"] == _PUBLISH for tasks in found.values() for task in tasks)

    def answering(self, *, most: int, timeout_seconds: float = 1.0) -> set[str]:
        """Name the workers (`publishing-1`) that answer a ping; returns as soon as `most` have."""
        with self._app.connection_for_write() as connection:
            replies = self._app.control.ping(timeout=timeout_seconds, limit=most, connection=connection)
        return {node.partition("@")[0] for reply in replies for node in reply}

    def close(self) -> None:
        """Let the app go."""
        self._app.close()

    @contextmanager
    def _producer(self) -> Iterator[Any]:
        with self._app.connection_for_write() as connection:
            yield self._app.amqp.Producer(connection)
