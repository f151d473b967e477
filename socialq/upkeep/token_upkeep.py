"""Looks after tokens before anybody needs them: long-lived ones well before their end, idle ones now and then.

Arrives: time. Leaves: accounts with new tokens; owners told once that theirs must be connected again, and by when.
What must stay true: each refresh is leased and fenced as the inline one is; nothing is refreshed in bulk, nor again
within the hour; tokens that live for hours are left to whoever publishes with them; a platform that refuses our
application is asked no more in this run.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, assert_never

import structlog

from socialq.domain.hops import CellUnreachableError
from socialq.domain.outcomes import Ours
from socialq.pipeline.pausing import hold_after, tell_operator, tell_owner
from socialq.pipeline.ports import AccountLost, AccountReady, AccountWaits
from socialq.providers.base import Adapter
from socialq.store.cell import account_tokens
from socialq.vault import VaultError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.work import AccountRow
    from socialq.pipeline.ports import AccountCheck, AccountTokens, Index
    from socialq.store.stores import Stores
    from socialq.upkeep.token_refresh import TokenRefresh

log = structlog.get_logger(__name__)

_AGAIN_SECONDS: Final = 3600.0
_IDLE: Final = timedelta(days=14)
"""Refresh tokens of platforms live for 60 days or more without use: four tries at least before one ends."""
_LONG_LIVED: Final = timedelta(days=1)
_TOLD_BEFORE: Final = timedelta(days=14)
"""How long before its end an owner is told of a token that can't be refreshed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUpkeep:
    """Looks after one cell's tokens. Any number may run at once."""

    stores: Stores
    tokens: AccountTokens
    refresh: TokenRefresh
    index: Index
    adapters: Mapping[str, Adapter]
    batch: int = 20
    """Accounts of one run: what is more is for the next ones, so that no platform sees a herd."""
    run_seconds: float = 60.0

    def run(self, cell: str) -> dict[str, int]:
        """Look after what is due; returns how many accounts came to what."""
        ends_at, done = time.monotonic() + self.run_seconds, dict.fromkeys(("fine", "told", "later"), 0)
        paused: set[str] = set()
        for tenant_id, account_id in self._due(cell):
            if time.monotonic() >= ends_at:
                break
            current = self.tokens.read(tenant_id, account_id)
            if current is None or current[0].platform in paused:
                continue
            account, now = current
            checked = self._refreshed(tenant_id, account)
            if _is_ours(checked):
                paused.add(account.platform)
            done[self._follow(tenant_id, account, checked, now=now)] += 1
        if any(done.values()):
            log.info("tokens_looked_after", cell=cell, **done)
        return done

    def _due(self, cell: str) -> Iterable[tuple[UUID, UUID]]:
        statement = account_tokens.due_ahead(
            aheads=aheads_of(self.adapters),
            again_seconds=_AGAIN_SECONDS,
            idle_seconds=_IDLE.total_seconds(),
            limit=self.batch,
        )
        [rows] = self.stores.cell(cell).machine.pipelined(statement, actor="token_upkeep")
        return [(row["tenant_id"], row["id"]) for row in rows]

    def _refreshed(self, tenant_id: UUID, account: AccountRow) -> AccountCheck:
        try:
            return self.refresh.ahead(tenant_id, account)
        except CellUnreachableError:
            raise
        except (VaultError, LookupError, ValueError) as error:
            # One account whose tokens can't be read keeps no other from being looked after.
            self.index.alarm(key=f"vault:{account.id}", message=str(error), tenant_id=tenant_id)
            self.tokens.note_tried(tenant_id, account.id)
            return AccountWaits(seconds=_AGAIN_SECONDS, detail="its stored tokens can't be read")

    def _follow(self, tenant_id: UUID, account: AccountRow, checked: AccountCheck, *, now: datetime) -> str:
        match checked:
            case AccountReady(failure=Ours(scope=scope, evidence=evidence)):
                # What works is used on: there is nothing to hold before its end.
                tell_operator(self.index, account, scope, message=evidence.message)
                return "later"
            case AccountReady(ending="", failure=failure):
                return "fine" if failure is None else "later"
            case AccountReady(account=current, ending=reason):
                ends_at = current.token_expires_at
                if ends_at is not None and ends_at > now + _TOLD_BEFORE:
                    # It was looked after for being idle: there is time until its owner must do something.
                    return "later"
                works_until = ends_at if ends_at is not None and ends_at > now else None
                tell_owner(self.index, current, tenant_id=tenant_id, reason=reason, ends_at=works_until)
                return "told"
            case AccountLost(detail=reason):
                tell_owner(self.index, account, tenant_id=tenant_id, reason=reason)
                return "told"
            case AccountWaits(because=because):
                hold_after(self.index, account, because, now=now)
                return "later"
            case _:
                assert_never(checked)


def _is_ours(checked: AccountCheck) -> bool:
    match checked:
        case AccountReady(failure=Ours()) | AccountWaits(because=Ours()):
            return True
        case _:
            return False


def aheads_of(adapters: Mapping[str, Adapter]) -> dict[str, float]:
    """Return, by platform, how many seconds before its end a token is looked after.

    Where an access token lives for hours and a refresh token gets the next, only the idle are: nothing ahead.
    """
    return {
        name: adapter.refresh_ahead.total_seconds() if adapter.refresh_ahead >= _LONG_LIVED else 0.0
        for name, adapter in adapters.items()
        if adapter.renews_itself or _refreshes(adapter)
    }


def _refreshes(adapter: Adapter) -> bool:
    return type(adapter).refresh is not Adapter.refresh
