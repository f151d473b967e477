"""Hands a cell's events to consumers, each at its own pace.

Arrives: time. Leaves: consumers that have dealt with every event, in order, once: a consumer writes in the same
transaction in which its place moves. What must stay true: a consumer that fails waits and is tried again by itself, and
keeps no other, and nothing of the publishing, from going on; no event is passed over, however late its transaction
commits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from socialq.store.cell import event_cursors, lateness, webhooks
from socialq.store.central import alarms
from socialq.store.patience import PASSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.store.cell.event_cursors import Event
    from socialq.store.sessions import Session
    from socialq.store.stores import Stores

log = structlog.get_logger(__name__)

_BATCH: Final = 500
_MOST_BATCHES: Final = 20
_FAILURES_THAT_ALARM: Final = 5


class Consumer(Protocol):
    """Something that follows events."""

    @property
    def name(self) -> str: ...

    def take(self, session: Session, events: Sequence[Event]) -> None:
        """Deal with events, in the given transaction of the machine role. Raises to be given them again later."""


@dataclass(frozen=True, slots=True)
class LatenessCounter:
    """Counts how late what was published is, for the metrics' histograms."""

    name: str = "lateness"

    def take(self, session: Session, events: Sequence[Event]) -> None:
        """Count published targets."""
        published = [event.target_id for event in events if event.to_status == "published"]
        if published:
            lateness.count(session, published)


@dataclass(frozen=True, slots=True)
class WebhookMaker:
    """Makes a delivery for each event and webhook that asks for it."""

    name: str = "webhooks"

    def take(self, session: Session, events: Sequence[Event]) -> None:
        """Make the deliveries."""
        webhooks.expand(session, [event.id for event in events])


CONSUMERS: Final[tuple[Consumer, ...]] = (LatenessCounter(), WebhookMaker())


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOut:
    """Hands out events. Any number may run at once: a consumer's place is one's at a time."""

    stores: Stores
    consumers: Sequence[Consumer] = CONSUMERS

    def run(self, cell: str) -> dict[str, int]:
        """Let every consumer of a cell catch up; returns how many events each dealt with."""
        return {consumer.name: self._catch_up(cell, consumer) for consumer in self.consumers}

    def _catch_up(self, cell: str, consumer: Consumer) -> int:
        done = 0
        for _ in range(_MOST_BATCHES):
            try:
                dealt = self._batch(cell, consumer)
            except PASSING as error:
                log.warning("events_not_read", cell=cell, consumer=consumer.name, error=type(error).__name__)
                break
            except Exception as error:
                # This consumer's trouble, whatever it is, is no other's.
                log.exception("consumer_failed", cell=cell, consumer=consumer.name)
                self._failed(cell, consumer, type(error).__name__)
                break
            if not dealt:
                break
            done += dealt
        if done:
            alarms.clear(self.stores.central, key=_key(cell, consumer))
        return done

    def _batch(self, cell: str, consumer: Consumer) -> int:
        with self.stores.cell(cell).machine.transaction(actor=f"events:{consumer.name}") as session:
            event_cursors.add(session, consumer.name)
            place = event_cursors.take(session, consumer.name)
            if place is None:
                return 0
            # After a failure one by one, so that everything before what fails is dealt with.
            events = event_cursors.after(session, place, limit=1 if place["failures"] else _BATCH)
            if not events:
                if place["counted_anew"]:
                    event_cursors.count_anew(session, consumer.name)
                    log.warning("events_counted_anew", cell=cell, consumer=consumer.name)
                return 0
            consumer.take(session, events)
            event_cursors.advance(session, consumer.name, events)
        return len(events)

    def _failed(self, cell: str, consumer: Consumer, failure: str) -> None:
        with self.stores.cell(cell).machine.transaction(actor="events") as session:
            event_cursors.add(session, consumer.name)
            failures = event_cursors.failed(session, consumer.name, failure=failure)
        if failures >= _FAILURES_THAT_ALARM:
            message = (
                f"the consumer {consumer.name} of cell {cell} has failed {failures} times in a row"
                f" ({failure}); its events wait, everything else goes on. See consumer_failed in the log"
            )
            alarms.raise_alarm(self.stores.central, key=_key(cell, consumer), message=message)


def _key(cell: str, consumer: Consumer) -> str:
    return f"events:{consumer.name}:{cell}"
