"""After a settle: asks for the address of what is live, where the answer to the publish step told none.

Arrives: a published target. Leaves: addresses, stored where there was none. What must stay true: it runs after the
settle, never before; whatever happens here changes no state, sends nothing again and is nobody's error; it keeps a
thread for seconds at most. What is not told now is asked for later, by `upkeep.permalinks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import structlog

from socialq.providers.base import Adapter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.domain.clock import Clock
    from socialq.domain.targets import Target
    from socialq.providers.base import AccountAccess
    from socialq.providers.http import Http

log = structlog.get_logger(__name__)


class Links(Protocol):
    """The addresses of live parts."""

    def missing(self, target: Target) -> Sequence[tuple[int, str]]:
        """List the live parts of a published target without an address: number and remote id."""

    def keep(self, target: Target, part_no: int, permalink: str) -> None:
        """Store an address; one that is there is never replaced."""

    def note_tried(self, target: Target, part_no: int) -> None:
        """Count a question that told nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permalinks:
    """Asks for missing addresses. Stateless; shared between threads."""

    links: Links
    http: Http
    """With a short deadline for each question."""
    clock: Clock
    seconds: float = 5.0
    """No further question is asked after so long."""

    def ask(self, target: Target, adapter: Adapter, account: AccountAccess) -> int:
        """Ask for what is missing of a published target, and store it; returns how many were told. Never raises."""
        if not tells_later(adapter):
            return 0
        try:
            return self._ask(target, adapter, account)
        except Exception as error:  # noqa: BLE001 - the post is out: nothing that happens now may look like a failure
            log.warning("permalink_not_asked", target=str(target.id), error=type(error).__name__)
            return 0

    def _ask(self, target: Target, adapter: Adapter, account: AccountAccess) -> int:
        told, ends_at = 0, self.clock.monotonic() + self.seconds
        for part_no, remote_id in self.links.missing(target):
            if self.clock.monotonic() >= ends_at:
                break
            # Counted before the platform is asked: a question that ends its worker is not asked for ever.
            self.links.note_tried(target, part_no)
            if permalink := adapter.permalink(self.http, account, remote_id=remote_id):
                self.links.keep(target, part_no, permalink)
                told += 1
        return told


def tells_later(adapter: Adapter) -> bool:
    """Whether the platform tells a post's address only when it is asked."""
    return type(adapter).permalink is not Adapter.permalink
