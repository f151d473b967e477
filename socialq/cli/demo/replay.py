"""Every job once more: each message that was ever sent is sent again, and must change nothing.

Arrives: targets at rest. Leaves: how many messages were sent, once workers have dealt with all of them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from socialq.local.messages import Sender

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.store.view_rows import TargetView

KINDS: Final = ("publish", "look")
_DONE_WITHIN_SECONDS: Final = 15.0


def replay(redis_url: str, targets: Sequence[tuple[UUID, TargetView]]) -> int:
    """Send every message of every target's life again, of both kinds; wait until none is left."""
    messages = [
        (tenant_id, target.line.id, seq, kind)
        for tenant_id, target in targets
        for seq in range(1, target.seq + 1)
        for kind in KINDS
    ]
    sender = Sender(redis_url)
    try:
        sent = sender.publish(messages)
        give_up_at = time.monotonic() + _DONE_WITHIN_SECONDS
        while sender.waiting() and time.monotonic() < give_up_at:
            time.sleep(0.05)
        # What was taken last may still be under way.
        while sender.busy(timeout_seconds=0.5) and time.monotonic() < give_up_at:
            time.sleep(0.05)
        return sent
    finally:
        sender.close()
