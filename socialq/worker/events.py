"""Task events for Flower, a few times a second instead of one by one.

Celery flushes its buffer of events whenever its loop turns, which under load is once a message: a third of a
publishing worker's main thread, measured. Flower does not mind a quarter of a second.
"""

from __future__ import annotations

from typing import Any, Final

from celery import bootsteps
from celery.worker.consumer.events import Events

_FLUSH_EVERY_SECONDS: Final = 0.25
_MOST_BUFFERED: Final = 5000


class CalmEvents(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """A step of the worker's consumer, after the one that makes the event dispatcher."""

    requires = (Events,)

    def start(self, c: Any) -> None:
        """Flush by the clock. Where there is no event loop Celery sends each event at once, and stays so."""
        if c.hub is None or c.event_dispatcher is None:
            return
        c.event_dispatcher.on_send_buffered = _later
        # Above this many the thread that adds one sends them all, and all others wait for it.
        c.event_dispatcher.buffer_limit = _MOST_BUFFERED
        c.hub.call_repeatedly(_FLUSH_EVERY_SECONDS, c.event_dispatcher.flush)


def _later() -> None:
    """Leave it to the clock."""
