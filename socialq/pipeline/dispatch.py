"""Hop 3, dispatch: due rows of the index become messages in the queue.

Arrives: pending rows whose time has come, by the central database's clock. Leaves: rows `enqueued` and their
messages sent in one batch; rows put back where the queue could not be reached, and left alone until it can be.
What must stay true: rows are committed as enqueued before anything is sent; the queue stays bounded; a message is
only a hint, so one too many or one too few harms nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import structlog

from socialq.domain.hops import Message, QueueUnreachableError
from socialq.domain.states import NextKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from socialq.domain.clock import Clock
    from socialq.pipeline.backing_off import BackOff
    from socialq.pipeline.ports import DuePicker, Queue

log = structlog.get_logger(__name__)


_ROOM_SOON_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatcher:
    """Picks what is due and sends its messages. Any number may run at once."""

    due: DuePicker
    queue: Queue
    clock: Clock
    batch: int
    back_off: BackOff

    def scan(self) -> float | None:
        """Send what is due; returns seconds until the next row is ready (0: there may be more now), or None."""
        away_seconds = self._queue_is_away()
        if away_seconds:
            return away_seconds
        asked_at = self.clock.monotonic()
        picked = self.due.pick(limit=self.batch)
        if picked.rows and not self._send(picked.rows):
            return self.back_off.left_seconds()
        if picked.full or (picked.held_back and not picked.more):
            # Nobody tells when there is room again, and it is soon.
            return _ROOM_SOON_SECONDS
        if picked.more or picked.next_in_seconds is None:
            return 0.0 if picked.more else None
        # Sending took a while, too.
        return max(0.0, picked.next_in_seconds - (self.clock.monotonic() - asked_at))

    def _queue_is_away(self) -> float:
        """Return how long to wait for a queue that could not be reached; 0: it is there, as far as is known."""
        if not self.back_off.failing:
            return 0.0
        left = self.back_off.left_seconds()
        if left > 0:
            return left
        try:
            self.queue.length()
        except QueueUnreachableError as error:
            return self.back_off.failed(str(error))
        self.back_off.worked()
        return 0.0

    def _send(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        try:
            self.queue.send([message_of(row) for row in rows])
        except QueueUnreachableError as error:
            # Some may have been sent all the same: their second message will be refused by the claim.
            self.due.put_back(rows)
            self.back_off.failed(str(error))
            return False
        self.back_off.worked()
        log.debug("dispatched", rows=len(rows))
        return True


def message_of(row: Mapping[str, Any]) -> Message:
    """Read an index row as the message that is sent for it."""
    return Message(
        tenant_id=row["tenant_id"], target_id=row["target_id"], seq=row["seq"], kind=NextKind(row["kind"])
    )
