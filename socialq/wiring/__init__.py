"""The composition root: builds stores, adapters, clocks and hops once per process, and hands them down.

Nothing is connected here: every pool and client opens its first connection when it is first used, so that a
process may be forked after its import.
"""

from __future__ import annotations

from socialq.wiring.ground import OUTBOX_CHANNEL, QUEUES, AccountCredentials
from socialq.wiring.keeping import Keeping

__all__ = ["OUTBOX_CHANNEL", "QUEUES", "AccountCredentials", "Wiring"]


class Wiring(Keeping):
    """Everything a process needs, each built on first use."""

    def warm_up(self) -> None:
        """Build what threads share before there are threads: `cached_property` does not lock."""
        for name in ("publisher", "looker", "preparer", "central_index", "prepare_index", "cell_watch"):
            getattr(self, name)
