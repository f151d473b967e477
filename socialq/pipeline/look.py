"""Hop 6, look: an unknown outcome is resolved by looking at the platform.

Arrives: a message of kind `look`, at the time the target's next work says. Leaves: a settled target: found,
proven absent, still unknown, or for a person. What must stay true: nothing is published here; absence is only
proven by a finished look at or after its time; an id that another part owns is never adopted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, assert_never

import structlog

from socialq.domain import keys
from socialq.domain.finding import after_look, after_published_look, nobody_can_look, stop_looking
from socialq.domain.outcomes import AuthLost, CannotTell, Evidence, Found, Transient
from socialq.domain.states import NextKind, TargetStatus
from socialq.pipeline.access import account_access, part_content
from socialq.pipeline.pausing import hold_after, hold_what_it_says
from socialq.pipeline.ports import AccountLost, AccountReady, AccountWaits
from socialq.pipeline.settle import apply_evidence, follow, situation_of
from socialq.vault import VaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from socialq.domain.hops import Message
    from socialq.domain.outcomes import LookResult
    from socialq.domain.settlement import Decision, Rules
    from socialq.domain.targets import PartState, Target
    from socialq.domain.work import AccountRow, Settled, Work
    from socialq.pipeline.places import Places
    from socialq.pipeline.ports import Credentials, EvidenceStore, Files, FreshTokens, Index, Targets
    from socialq.providers.base import Adapter
    from socialq.providers.http import Http

log = structlog.get_logger(__name__)

_SOON: Final = timedelta(seconds=2)

_BEFORE_THE_MARK: Final = timedelta(hours=1)
"""Sightings this much older than the mark still keep their ids from being adopted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looker:
    """Looks for one target. Stateless; shared between threads."""

    targets: Targets
    index: Index
    evidence: EvidenceStore
    credentials: Credentials
    tokens: FreshTokens
    files: Files
    http: Http
    adapter_for: Callable[[str], Adapter]
    places: Places
    rules: Rules

    def look(self, message: Message) -> str:
        """Work off one message; returns a word for the log."""
        work = self.targets.load(message.tenant_id, message.target_id)
        if work is None:
            return "unknown_target"
        with self.places.place(work.account.platform) as taken:
            if taken:
                return self._look(work, message)
        self.index.repair(target=work.target, message_seq=message.seq, not_before=work.read_at + _SOON)
        return "platform_busy"

    def _look(self, work: Work, message: Message) -> str:
        if apply_evidence(self.targets, self.index, self.evidence, work):
            return "late_evidence"
        part = self._part_to_find(work, message)
        if part is None and self._is_due(work, message) and work.target.status is TargetStatus.PUBLISHED:
            # A look was planned, and by now there is nothing left to look for.
            settled = self.targets.move(work.target, stop_looking(work.target), actor="look")
            if settled is not None:
                follow(self.index, work.target.tenant_id, settled)
            return "nothing_to_find"
        if part is None or part.first_marked_at is None:
            self._put_right(work, message)
            return "obsolete"
        adapter = self.adapter_for(work.account.platform)
        if not _can_look(adapter, work.account):
            return self._blind(work, message, part)
        try:
            result = self._ask(work, part, adapter)
        except (VaultError, LookupError) as error:
            # Our fault, and no reason to leave the account held for ever: it counts as a look that failed.
            self.index.alarm(
                key=f"vault:{work.account.id}", message=str(error), tenant_id=work.target.tenant_id
            )
            evidence = Evidence(code="account.unreadable", message="the account's stored token can't be read")
            result = CannotTell(failure=Transient(evidence=evidence))
        log.info("looked", result=type(result).__name__, part=part.part_no)
        settled = self._settle(work, part, adapter, result)
        if settled is None:
            self.index.repair(target=work.target, message_seq=message.seq)
            return "lost_race"
        follow(self.index, work.target.tenant_id, settled)
        return settled.status

    def _blind(self, work: Work, message: Message, part: PartState) -> str:
        """Settle a look that nobody can make on this account."""
        target = work.target
        if target.status is TargetStatus.PUBLISHED:
            settled = self.targets.move(target, stop_looking(target), actor="look")
        else:
            settled = self.targets.settle_look(
                target=target,
                part_no=part.part_no,
                found=None,
                publication_key="",
                decide=lambda locked, _parts, _now: nobody_can_look(locked),
            )
        if settled is None:
            self.index.repair(target=target, message_seq=message.seq)
            return "lost_race"
        follow(self.index, target.tenant_id, settled)
        return settled.status

    def _put_right(self, work: Work, message: Message) -> None:
        """Set the index from the cell. What is in flight, or early by this cell's clock, does not come at once."""
        target = work.target
        comes_at_once = target.seq != message.seq and target.lease_until is None
        not_before = None if comes_at_once else max(target.lease_until or work.read_at, work.read_at) + _SOON
        self.index.repair(target=target, message_seq=message.seq, not_before=not_before)

    @staticmethod
    def _is_due(work: Work, message: Message) -> bool:
        """Whether this message is the present one, and its time has come by the cell's clock."""
        target = work.target
        if target.next_kind is not NextKind.LOOK or target.next_at is None:
            return False
        return target.seq == message.seq and target.next_at <= work.read_at

    @classmethod
    def _part_to_find(cls, work: Work, message: Message) -> PartState | None:
        """Return the part to look for; None where the message is old, early, or nothing is to be found."""
        target = work.target
        if not cls._is_due(work, message):
            return None
        if target.status is TargetStatus.PUBLISHED:
            return next((part for part in work.parts if part.unknown_count), None)
        return next((part for part in work.parts if part.unresolved), None)

    def _ask(self, work: Work, part: PartState, adapter: Adapter) -> LookResult:
        checked = self.tokens.ensure(work)
        match checked:
            case AccountReady(account=account):
                work = replace(work, account=account)
            case AccountLost(detail=detail):
                return CannotTell(failure=AuthLost(evidence=Evidence(code="account.lost", message=detail)))
            case AccountWaits(seconds=seconds, detail=detail, because=because):
                hold_after(self.index, work.account, because, now=work.read_at)
                evidence = Evidence(code="account.waits", message=detail)
                return CannotTell(failure=Transient(evidence=evidence, retry_after_seconds=seconds))
            case _:
                assert_never(checked)
        sent_after = part.first_marked_at
        instant = work.target.key_instant
        if sent_after is None or instant is None:
            raise ValueError(f"part {part.part_no} of target {work.target.id} was never marked")
        claimed_ids = self.targets.claimed_ids(
            tenant_id=work.target.tenant_id,
            account_id=work.account.id,
            since=sent_after - _BEFORE_THE_MARK,
        )
        return adapter.look(
            self.http,
            account_access(work, self.credentials),
            part_content(work, part.part_no, key_instant=instant, files=self.files),
            sent_after=sent_after,
            claimed_ids=claimed_ids,
            prepared=part.prepared,
        )

    def _settle(self, work: Work, part: PartState, adapter: Adapter, result: LookResult) -> Settled | None:
        target = work.target
        made: list[Decision] = []

        def decide(locked: Target, parts: Sequence[PartState], now: datetime) -> Decision:
            situation = situation_of(adapter, locked, parts, part.part_no, now, account=work.account)
            if locked.status is TargetStatus.PUBLISHED:
                made[:] = [after_published_look(situation, result, self.rules)]
            else:
                made[:] = [after_look(situation, result, self.rules)]
            return made[0]

        instant = target.key_instant
        if instant is None:
            raise ValueError(f"target {target.id} was never marked")
        settled = self.targets.settle_look(
            target=target,
            part_no=part.part_no,
            found=result if isinstance(result, Found) else None,
            publication_key=keys.publication_key(target.id, instant, target.version_id),
            decide=decide,
        )
        if settled is not None and isinstance(result, CannotTell):
            hold_what_it_says(self.index, work, made[0].account)
            hold_after(self.index, work.account, result.failure, now=work.read_at)
        return settled


def _can_look(adapter: Adapter, account: AccountRow) -> bool:
    return adapter.finder_of(remote_user_id=account.remote_user_id, scopes=account.scopes) is not None
