"""Asks once more for addresses that were not told right after publication.

Arrives: time. Leaves: addresses of live parts. What must stay true: a few targets in a run, each part a bounded
number of times with growing pauses; no state of a target changes; nothing is ever an alarm here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from socialq.pipeline.access import account_access
from socialq.pipeline.permalinks import tells_later
from socialq.pipeline.ports import AccountReady
from socialq.store.cell import permalinks
from socialq.vault import VaultError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from socialq.domain.work import Work
    from socialq.pipeline.permalinks import Permalinks
    from socialq.pipeline.ports import Credentials, FreshTokens, Targets
    from socialq.providers.base import AccountAccess, Adapter
    from socialq.store.stores import Stores

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PermalinkUpkeep:
    """Looks after one cell's missing addresses. Any number may run at once."""

    stores: Stores
    targets: Targets
    credentials: Credentials
    tokens: FreshTokens
    permalinks: Permalinks
    adapters: Mapping[str, Adapter]
    batch: int = 10
    """Targets of one run."""
    most_tries: int = 5
    """Of one part, the one right after publication counted."""
    first_seconds: float = 60.0
    """How long after publication the first question may be asked; each later one waits five times as long."""

    def run(self, cell: str) -> int:
        """Ask for what is due in a cell; returns how many addresses were told."""
        told = sum(self._ask(tenant_id, target_id) for tenant_id, target_id in self._due(cell))
        if told:
            log.info("permalinks_told", cell=cell, count=told)
        return told

    def _due(self, cell: str) -> list[tuple[UUID, UUID]]:
        platforms = {name for name, adapter in self.adapters.items() if tells_later(adapter)}
        statement = permalinks.due(
            platforms=platforms,
            most_tries=self.most_tries,
            first_seconds=self.first_seconds,
            most=self.batch,
        )
        [rows] = self.stores.cell(cell).machine.pipelined(statement, actor="permalinks")
        return [(row["tenant_id"], row["target_id"]) for row in rows]

    def _ask(self, tenant_id: UUID, target_id: UUID) -> int:
        work = self.targets.load(tenant_id, target_id)
        if work is None:
            return 0
        account = self._account(work)
        if account is None:
            self._note_tried(work)
            return 0
        return self.permalinks.ask(work.target, self.adapters[work.account.platform], account)

    def _account(self, work: Work) -> AccountAccess | None:
        """Open the account with a token that lasts; None: there is none now."""
        try:
            checked = self.tokens.ensure(work)
            if not isinstance(checked, AccountReady):
                return None
            return account_access(replace(work, account=checked.account), self.credentials)
        except (VaultError, LookupError, ValueError) as error:
            # Publishing and the token upkeep tell this to the operator.
            log.warning("permalink_not_asked", target=str(work.target.id), error=type(error).__name__)
            return None

    def _note_tried(self, work: Work) -> None:
        """What can't be asked for now waits longer, and leaves its place to others."""
        for part_no, _ in self.permalinks.links.missing(work.target):
            self.permalinks.links.note_tried(work.target, part_no)
