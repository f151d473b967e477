"""Hop 4, publish: one message, at most one claim, at most one request for each part.

Arrives: a message (tenant, target, seq, kind `publish`). Leaves: a settled target and a finished index row, or
a moved target and a repaired index row where a guard or the claim refuses. The guards speak here, those that
need no network first; the claim and what is sent under it stand in `sending`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, assert_never

import structlog

from socialq.domain.settlement import wait_before_claim
from socialq.domain.states import TargetStatus
from socialq.domain.targets import Move
from socialq.pipeline.access import account_access
from socialq.pipeline.guards import GuardPolicy, Refusal, refusal_of
from socialq.pipeline.pausing import hold_after, tell_owner
from socialq.pipeline.ports import AccountLost, AccountReady, AccountWaits
from socialq.pipeline.sending import Run
from socialq.vault import VaultError

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.domain.clock import Clock
    from socialq.domain.hops import Message
    from socialq.domain.settlement import Rules
    from socialq.domain.work import Work
    from socialq.pipeline.permalinks import Permalinks
    from socialq.pipeline.places import Places
    from socialq.pipeline.ports import Buckets, Credentials, EvidenceStore, Files, FreshTokens, Index, Targets
    from socialq.providers.base import Adapter
    from socialq.providers.http import Http

_SOON: Final = timedelta(seconds=2)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishLimits:
    """The times that a publish keeps to."""

    lease_seconds: float
    publish_deadline_seconds: float
    mark_to_send_seconds: float
    guard_wait_seconds: float
    suspension_grace_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Publishes one target. Stateless; shared between threads."""

    targets: Targets
    index: Index
    evidence: EvidenceStore
    credentials: Credentials
    tokens: FreshTokens
    buckets: Buckets
    files: Files
    http: Http
    adapter_for: Callable[[str], Adapter]
    clock: Clock
    places: Places
    rules: Rules
    limits: PublishLimits
    worker: str
    permalinks: Permalinks | None = None
    """Asks for addresses that no answer tells; None: nobody does."""

    def publish(self, message: Message) -> str:
        """Work off one message; returns a word for the log, such as `published` or `account_busy`."""
        work = self.targets.load(message.tenant_id, message.target_id)
        if work is None:
            log.warning("target_unknown", target=str(message.target_id))
            return "unknown_target"
        with self.places.place(work.account.platform) as taken:
            if taken:
                return self._publish(work, message.seq)
        # The platform hangs, as far as this worker can tell: its threads are for others now.
        not_before = work.read_at + _SOON
        self.index.repair(target=work.target, message_seq=message.seq, not_before=not_before)
        return "platform_busy"

    def _publish(self, work: Work, seq: int) -> str:
        adapter = self.adapter_for(work.account.platform)
        refused = self._guarded(work, adapter, seq)
        if refused is not None:
            return refused
        try:
            checked = self._network_guards(work, seq)
            if isinstance(checked, str):
                return checked
            work = checked
            account = account_access(work, self.credentials)
        except (VaultError, LookupError) as error:
            return self._credentials_unreadable(work, str(error), seq)
        said = Run(publisher=self, work=work, adapter=adapter, account=account).run()
        if said == "published" and self.permalinks is not None:
            # All is settled, and the account is free for the next: this is for whoever reads of it.
            self.permalinks.ask(work.target, adapter, account)
        return said

    def _guarded(self, work: Work, adapter: Adapter, seq: int) -> str | None:
        """Let the guards speak; None: go ahead."""
        policy = GuardPolicy(
            wait_seconds=self.limits.guard_wait_seconds,
            suspension_grace_hours=self.limits.suspension_grace_hours,
            required_scopes=adapter.required_scopes_of(work.account.remote_user_id),
        )
        refusal = refusal_of(work, policy, message_seq=seq)
        if refusal is None:
            return None
        return self._held_back(work, refusal, seq)

    def _held_back(self, work: Work, refusal: Refusal, seq: int) -> str:
        """Move a target that a guard refuses, or leave it as it is, and set its index row accordingly."""
        log.info("guard_refused", guard=refusal.guard, reason=refusal.move.reason if refusal.move else None)
        settled = None
        if refusal.tenant_waits_until is not None and refusal.move is not None:
            tenant, reason = str(work.target.tenant_id), refusal.move.reason or refusal.guard
            self.index.hold(scope="tenant", key=tenant, until=refusal.tenant_waits_until, reason=reason)
        if refusal.move is not None:
            settled = self.targets.move(work.target, refusal.move, actor=f"guard:{refusal.guard}")
        if settled is not None:
            self.index.finish(settled)
        else:
            self.repair(work, message_seq=seq)
        return refusal.guard

    def _network_guards(self, work: Work, seq: int) -> Work | str:
        """Guards 5 and 8 where they need a network: a token that is about to end, and the rate buckets."""
        checked = self.tokens.ensure(work)
        match checked:
            case AccountReady(account=account):
                work = replace(work, account=account)
            case AccountLost(detail=detail):
                tell_owner(self.index, work.account, tenant_id=work.target.tenant_id, reason=detail)
                move = Move(to=TargetStatus.NEEDS_RECONNECT, reason="account_needs_reconnect", detail=detail)
                return self._held_back(work, Refusal(guard="account_active", move=move), seq)
            case AccountWaits(seconds=seconds, detail=detail, because=because):
                hold_after(self.index, work.account, because, now=work.read_at)
                return self._waits(
                    work, seq, guard="account_active", reason="token_refresh", detail=detail, seconds=seconds
                )
            case _:
                assert_never(checked)
        seconds = self.buckets.wait_seconds(work)
        if seconds > 0:
            return self._waits(
                work,
                seq,
                guard="rate_allows",
                reason="rate_bucket",
                detail="our own count of what the platform allows is used up",
                seconds=seconds,
            )
        return work

    def _waits(self, work: Work, seq: int, *, guard: str, reason: str, detail: str, seconds: float) -> str:
        until = work.read_at + timedelta(seconds=seconds)
        move = wait_before_claim(work.target, reason=reason, detail=detail, until=until)
        return self._held_back(work, Refusal(guard=guard, move=move), seq)

    def _credentials_unreadable(self, work: Work, problem: str, seq: int) -> str:
        """A token that does not decrypt is our fault, not the customer's: wait, and tell the operator."""
        self.index.alarm(key=f"vault:{work.account.id}", message=problem, tenant_id=work.target.tenant_id)
        detail = "the stored token of the account can't be read; the operator has been told"
        return self._waits(
            work,
            seq,
            guard="account_active",
            reason="credentials_unreadable",
            detail=detail,
            seconds=self.limits.guard_wait_seconds,
        )

    def repair(self, work: Work, *, message_seq: int) -> None:
        """Set the index from the cell: gone work is done, newer work is pending, work in flight is asked later.

        Never at once: a lease that is over is the sweep's to settle, and until it has, asking is no use.
        """
        not_before = None
        if work.target.lease_until is not None:
            not_before = max(work.target.lease_until, work.read_at) + _SOON
        self.index.repair(target=work.target, message_seq=message_seq, not_before=not_before)

    def refused_claim(self, work: Work, adapter: Adapter) -> str:
        """Find out why a claim was refused, from fresh rows, and act on that."""
        fresh = self.targets.load(work.target.tenant_id, work.target.id)
        if fresh is None:
            return "unknown_target"
        why = self._guarded(fresh, adapter, work.target.seq)
        if why is None:
            # The claim saw what this look does not see: let it come again, but not at once.
            not_before = fresh.read_at + _SOON
            self.index.repair(target=fresh.target, message_seq=work.target.seq, not_before=not_before)
            return "lost_race"
        return why
