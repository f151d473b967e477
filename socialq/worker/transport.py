"""kombu's Redis transport, taking as many messages at once as the worker has room for.

kombu pops one message each time its loop turns, and each turn waits several times for the interpreter, behind
all the pool's threads: under load that, and not the work, was what a publishing worker's rate hung on. Here a
blocking pop that brought a message is followed by one that takes, without waiting, what else there is room for.

What must stay true: no more is taken than the prefetch limit allows, and a message that nobody can read ends no
worker: whoever can write into Redis could otherwise stop them all. What a killed worker had taken is lost, as
with kombu's own single pop: messages are hints, and the sweep sends them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import structlog
from kombu.transport import redis as kombu_redis
from kombu.utils.encoding import bytes_to_str
from kombu.utils.json import loads

from socialq.worker import envelope

if TYPE_CHECKING:
    from celery import Celery

log = structlog.get_logger(__name__)

EVENT_QUEUE_PREFIX: Final = "socialq-events"

_UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What kombu raises for a message that is no JSON, or not of its own making; the last for brackets without end."""


class Channel(kombu_redis.Channel):
    """A channel whose blocking pop is followed by one for the rest."""

    def _brpop_read(self, **options: Any) -> Any:
        try:
            taken = super()._brpop_read(**options)
        except _UNREADABLE as error:
            _drop(error)
            taken = True
        # None: no limit is set, and one message a turn is kombu's own pace.
        room = self.qos.can_consume_max_estimate() or 0
        for queue in self.active_queues:
            if room > 0:
                room -= self._take(queue, room)
        return taken

    def _receive_one(self, c: Any) -> Any:
        """Receive one question; of what nobody can read there is none."""
        try:
            return super()._receive_one(c)
        except _UNREADABLE as error:
            _drop(error)
            return None

    def _take(self, queue: str, count: int) -> int:
        """Take up to `count` messages that are there and deliver them; returns how many there were."""
        try:
            found = self.client.rpop(self._q_for_pri(queue, 0), count) or ()
        except self.connection_errors:
            # As kombu does: the next turn connects anew.
            self.client.connection.disconnect()
            raise
        for message in found:
            try:
                self.connection._deliver(_read(message), queue)  # noqa: SLF001 - as kombu's own pop
            except _UNREADABLE as error:
                _drop(error)
        return len(found)


class Transport(kombu_redis.Transport):
    """The transport of workers and of all who send to them."""

    Channel = Channel

    def _deliver(self, message: Any, queue: str) -> None:
        """Hand a message on, once it is known to be of our making; drop what is not, or what nobody can begin."""
        read = envelope.unpacked if _is_celerys_own(queue) else envelope.of_a_task
        try:
            checked = read(message)
        except envelope.ForeignMessage as error:
            _drop(error)
            return
        try:
            super()._deliver(checked, queue)
        except _UNREADABLE as error:
            _drop(error)
            self._let_go(checked)

    def _let_go(self, message: dict[str, Any]) -> None:
        """Free the place of a message that was taken and not begun: it counts as in hand until it is acknowledged."""
        properties = message.get("properties")
        tag = properties.get("delivery_tag") if isinstance(properties, dict) else None
        for channel in self.channels:
            if isinstance(tag, str) and tag in channel.qos._delivered:  # noqa: SLF001 - kombu has no other name for it
                channel.qos.ack(tag)


def _is_celerys_own(queue: str) -> bool:
    """Whether a queue carries no tasks, but questions to workers, their answers, or events."""
    return queue.endswith(".pidbox") or queue.startswith(f"{EVENT_QUEUE_PREFIX}.")


def _read(message: bytes) -> Any:
    return loads(bytes_to_str(message))


def _drop(error: Exception) -> None:
    log.error("message_unreadable", error=type(error).__name__)


def use(app: Celery, *, broker_url: str) -> None:
    """Make `app` speak to Redis through this transport. The broker's URL stays what it is.

    Only for plain `redis://`: for every other scheme kombu chooses TLS, sockets or Sentinel by the scheme alone.
    """
    if broker_url.startswith("redis://"):
        app.conf.broker_transport = f"{Transport.__module__}:{Transport.__name__}"
