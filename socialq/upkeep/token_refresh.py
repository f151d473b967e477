"""Refreshes an account's token when it is about to end: one refresh in flight, and the new pair before its use.

Arrives: work whose token ends soon: within five minutes, or where tokens live long, some weeks. Leaves: the
account with a token that can be used, a wait, or an account that must be reconnected. What must stay true: the
platform is asked with no transaction open and while the lease is held; the new pair is committed before it is
used; after a refusal the row is read again before the account is given up, since another worker may just have
rotated the pair; an empty token in an answer never replaces a stored one; never twice within the minimum
interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from socialq.domain.ids import new_token
from socialq.domain.outcomes import AuthLost, Evidence, Ours, RateLimited, Transient
from socialq.pipeline.ports import AccountLost, AccountReady, AccountWaits
from socialq.providers.base import Refreshed

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.outcomes import PrepareFailure
    from socialq.domain.work import AccountRow, Work
    from socialq.pipeline.ports import AccountCheck, AccountTokens
    from socialq.providers.base import Adapter
    from socialq.providers.http import Http

log = structlog.get_logger(__name__)

_LEASE_SECONDS: Final = 90.0
_ANOTHER_IS_AT_IT_SECONDS: Final = 2.0
_TRY_AGAIN_SECONDS: Final = 30.0
_STILL_GOOD: Final = timedelta(seconds=30)
_WORTH_KEEPING: Final = timedelta(hours=1)
"""A token that lives longer than this is used on, although it can't be refreshed any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRefresh:
    """Keeps tokens usable. Stateless; shared between threads. Implements `socialq.pipeline.ports.FreshTokens`."""

    tokens: AccountTokens
    http: Http
    adapter_for: Callable[[str], Adapter]

    def ensure(self, work: Work, *, until: datetime | None = None) -> AccountCheck:
        """Return the account as it can be used now, after a refresh if its token is about to end.

        `until`: a later moment (aware) at which the token must not be about to end either.
        """
        account, needed_at = work.account, max(work.read_at, until or work.read_at)
        if not _ends_soon(account, self.adapter_for(account.platform), work.read_at, needed_at=needed_at):
            return AccountReady(account=account)
        return self._refresh(work.target.tenant_id, account)

    def ahead(self, tenant_id: UUID, account: AccountRow) -> AccountCheck:
        """Refresh a token before anybody needs it; one that can't be refreshed is left to its end, and that is said."""
        adapter = self.adapter_for(account.platform)
        if adapter.renews_itself or account.refresh_token is not None:
            return self._refresh(tenant_id, account)
        self.tokens.note_tried(tenant_id, account.id)
        return AccountReady(account=account, ending="the platform gave no means to refresh its token")

    def renew(self, work: Work) -> AccountCheck:
        """Refresh a token that the platform has ended before its time: not one that would renew itself."""
        if work.account.refresh_token is None:
            return AccountLost(detail="the account's authorisation ended; reconnect it")
        return self._refresh(work.target.tenant_id, work.account, was_refused=True)

    def _refresh(self, tenant_id: UUID, account: AccountRow, *, was_refused: bool = False) -> AccountCheck:
        lease = new_token()
        adapter = self.adapter_for(account.platform)
        taken = self.tokens.take_lease(
            tenant_id,
            account,
            lease=lease,
            lease_seconds=_LEASE_SECONDS,
            renews_itself=adapter.renews_itself,
            least_age_seconds=adapter.least_token_age.total_seconds(),
        )
        if taken is None:
            return self._as_another_left_it(tenant_id, account)
        leased, app, refresh_token, now = taken
        result = adapter.refresh(
            self.http, base_url=leased.base_url, refresh_token=refresh_token, app=app, now=now
        )
        match result:
            case Refreshed() if not _is_usable(result):
                evidence = Evidence(code="refresh.unusable", message="the platform's new token is no token")
                return self._failed(tenant_id, leased, lease, Transient(evidence=evidence), now)
            case Refreshed():
                return self._keep(tenant_id, leased, lease, result)
            case AuthLost() if (
                not was_refused and not adapter.renews_itself and _is_worth_keeping(leased, now)
            ):
                # The way to the next token is lost, and this one works: it is used to its end.
                self.tokens.release(tenant_id, leased.id, lease=lease)
                return AccountReady(account=leased, ending=result.evidence.message or "it can't be refreshed")
            case AuthLost():
                return self._refused(tenant_id, leased, lease, result)
            case _:
                return self._failed(tenant_id, leased, lease, result, now)

    def _as_another_left_it(self, tenant_id: UUID, account: AccountRow) -> AccountCheck:
        """Another refresh runs or has run: use what it left, or what still works, or wait for it."""
        current = self.tokens.read(tenant_id, account.id)
        if current is None:
            return AccountLost(detail="the account is gone")
        fresh, now = current
        if fresh.status != "active":
            return AccountLost(
                detail=fresh.status_reason or "the account's authorisation ended; reconnect it"
            )
        if fresh.token_expires_at is None or fresh.token_expires_at > now + _STILL_GOOD:
            return AccountReady(account=fresh)
        return AccountWaits(
            seconds=_ANOTHER_IS_AT_IT_SECONDS, detail="the account's token is being refreshed"
        )

    def _keep(self, tenant_id: UUID, account: AccountRow, lease: UUID, pair: Refreshed) -> AccountCheck:
        stored = self.tokens.store_pair(tenant_id, account, lease=lease, pair=pair)
        if stored is None:
            log.warning("refresh_lease_lost", account=str(account.id))
            return self._as_another_left_it(tenant_id, account)
        log.info("token_refreshed", account=str(account.id), expires_at=str(pair.expires_at))
        return AccountReady(account=stored)

    def _refused(self, tenant_id: UUID, account: AccountRow, lease: UUID, refusal: AuthLost) -> AccountCheck:
        """The refresh token is spent, unless the row has another one by now."""
        reason = (
            refusal.evidence.message or "the platform refused to refresh the account's token; reconnect it"
        )
        if self.tokens.mark_lost(tenant_id, account, lease=lease, reason=reason):
            log.warning("account_needs_reconnect", account=str(account.id))
            return AccountLost(detail=reason)
        self.tokens.release(tenant_id, account.id, lease=lease)
        return self._as_another_left_it(tenant_id, account)

    def _failed(
        self, tenant_id: UUID, account: AccountRow, lease: UUID, failure: PrepareFailure, now: datetime
    ) -> AccountCheck:
        self.tokens.release(tenant_id, account.id, lease=lease)
        if account.token_expires_at is not None and account.token_expires_at > now + _STILL_GOOD:
            return AccountReady(account=account, failure=failure)
        detail = f"the account's token could not be refreshed: {failure.evidence.message}"
        if isinstance(failure, RateLimited | Ours):
            seconds = max(_TRY_AGAIN_SECONDS, failure.retry_after_seconds)
            return AccountWaits(seconds=seconds, detail=detail, because=failure)
        return AccountWaits(seconds=_TRY_AGAIN_SECONDS, detail=detail)


def _ends_soon(account: AccountRow, adapter: Adapter, now: datetime, *, needed_at: datetime) -> bool:
    ends_at = account.token_expires_at
    if ends_at is None or ends_at > needed_at + adapter.refresh_ahead:
        return False
    if not adapter.renews_itself:
        return account.refresh_token is not None
    # One that has ended can't be traded any more, and one that was just made not yet.
    is_old = account.refreshed_at is None or account.refreshed_at <= now - adapter.least_token_age
    return is_old and ends_at > now


def _is_usable(pair: Refreshed) -> bool:
    """Whether it can stand in a header: an empty token, or one with a line end, never replaces a stored one."""
    tokens = (pair.access_token, pair.access_token if pair.refresh_token is None else pair.refresh_token)
    return all(token.isascii() and token.isprintable() and token.strip() == token != "" for token in tokens)


def _is_worth_keeping(account: AccountRow, now: datetime) -> bool:
    return account.token_expires_at is not None and account.token_expires_at > now + _WORTH_KEEPING
