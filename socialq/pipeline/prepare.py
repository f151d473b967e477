"""The prepare lane: whatever can be done before the slot is done before the slot.

Arrives: a message of kind `prepare`, some minutes ahead. Leaves: prepare results, stored as they appear, and the
lane's index row done or pending again. What must stay true: nothing is published here and nothing of the
target's own state changes; its lease never stands in the publish's way; what fails here fails without harm, and
is done again at the slot; what is certain to fail there is told before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import structlog

from socialq.domain.ids import new_token
from socialq.domain.outcomes import AuthLost, Ours, PermissionLost, Prepared, RateLimited, Rejected, Transient
from socialq.domain.retry import delay_seconds
from socialq.domain.states import CLAIMABLE, NextKind
from socialq.pipeline.access import account_access, part_content
from socialq.pipeline.breaking import note_trouble
from socialq.pipeline.pausing import hold_after, learn, tell_owner
from socialq.pipeline.ports import AccountLost, AccountReady, AccountWaits
from socialq.providers.hearing import Hearing
from socialq.vault import VaultError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.hops import Message
    from socialq.domain.outcomes import PrepareFailure
    from socialq.domain.settlement import Rules
    from socialq.domain.targets import PartState
    from socialq.domain.work import Work
    from socialq.pipeline.places import Places
    from socialq.pipeline.ports import Credentials, Files, FreshTokens, Index, Prepares, Targets
    from socialq.providers.base import AccountAccess, Adapter
    from socialq.providers.http import Http

log = structlog.get_logger(__name__)

_LEASE_SECONDS: Final = 120.0
_TOO_CLOSE: Final = timedelta(seconds=5)
_SOON: Final = timedelta(seconds=2)
_ASK_AGAIN_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """Prepares one target. Stateless; shared between threads."""

    targets: Targets
    prepares: Prepares
    index: Index
    credentials: Credentials
    tokens: FreshTokens
    files: Files
    http: Http
    adapter_for: Callable[[str], Adapter]
    places: Places
    rules: Rules

    def prepare(self, message: Message) -> str:
        """Work off one message; returns a word for the log."""
        work = self.targets.load(message.tenant_id, message.target_id)
        if work is None:
            return "unknown_target"
        if not _wanted(work, message):
            self.index.set_prepare(target=work.target, message_seq=message.seq, at=None)
            return "obsolete"
        with self.places.place(work.account.platform) as taken:
            if taken:
                return self._prepare(work, message)
        self.index.set_prepare(
            target=work.target, message_seq=message.seq, at=_in_time(work, work.read_at + _SOON)
        )
        return "platform_busy"

    def _prepare(self, work: Work, message: Message) -> str:
        try:
            checked = self.tokens.ensure(work, until=work.target.next_at)
            access = account_access(
                work if not isinstance(checked, AccountReady) else replace(work, account=checked.account),
                self.credentials,
            )
        except (VaultError, LookupError) as error:
            self.index.alarm(
                key=f"vault:{work.account.id}", message=str(error), tenant_id=work.target.tenant_id
            )
            self.index.set_prepare(target=work.target, message_seq=message.seq, at=None)
            return "credentials_unreadable"
        if not isinstance(checked, AccountReady):
            return self._not_ready(work, message, checked)
        token = new_token()
        tries = self.prepares.take(work.target, token=token, lease_seconds=_LEASE_SECONDS)
        if not isinstance(tries, int):
            # Should its holder have died, the lease ends, and this is done then.
            again_at = None if tries is None else _in_time(work, tries)
            self.index.set_prepare(target=work.target, message_seq=message.seq, at=again_at)
            return "taken"
        work = replace(work, account=checked.account)
        stopped = self._all_parts(work, access, token)
        return self._end(work, message, token, stopped, tries=tries)

    def _not_ready(self, work: Work, message: Message, checked: AccountWaits | AccountLost) -> str:
        """Say of a lost account that it is; one that must wait is asked again while there is time."""
        again_at = None
        if isinstance(checked, AccountWaits):
            again_at = _in_time(work, work.read_at + timedelta(seconds=checked.seconds))
            hold_after(self.index, work.account, checked.because, now=work.read_at)
        else:
            tell_owner(self.index, work.account, tenant_id=work.target.tenant_id, reason=checked.detail)
        log.info("not_prepared", detail=checked.detail)
        self.index.set_prepare(target=work.target, message_seq=message.seq, at=again_at)
        return "account_not_ready"

    def _all_parts(self, work: Work, account: AccountAccess, token: UUID) -> PrepareFailure | str | None:
        """Run every step of every part; returns what stopped it: a failure, or that the publish has begun."""
        adapter = self.adapter_for(account.platform)
        for part in work.parts:
            stopped = None if part.live else self._part(work, account, adapter, part, token)
            if stopped is not None:
                return stopped
        return None

    def _part(
        self, work: Work, account: AccountAccess, adapter: Adapter, state: PartState, token: UUID
    ) -> PrepareFailure | str | None:
        instant = work.target.key_instant or work.target.publish_at
        if instant is None:
            return "no_time"
        part = part_content(work, state.part_no, key_instant=instant, files=self.files)
        results: dict[str, Any] = dict(state.prepared)
        while steps := adapter.prepare_steps(account, part, results):
            heard = Hearing(self.http)
            result = steps[0].run(heard)
            if not isinstance(result, Prepared):
                self._learn(work, adapter, heard, result)
                return result
            named = {steps[0].name: result.result}
            results.update(named)
            kept = self.prepares.store(
                work.target, token=token, part_no=part.number, result=named, lease_seconds=_LEASE_SECONDS
            )
            self._learn(work, adapter, heard, result)
            if not kept:
                return "publish_has_begun"
        return None

    def _learn(self, work: Work, adapter: Adapter, heard: Hearing, result: Prepared | PrepareFailure) -> None:
        """Read the limits from a step's last answer; what its failure says itself, `_end` holds."""
        if heard.last is not None and not isinstance(result, RateLimited | Ours):
            learn(self.index, work.account, adapter, heard.last, now=work.read_at)

    def _end(
        self, work: Work, message: Message, token: UUID, stopped: PrepareFailure | str | None, *, tries: int
    ) -> str:
        renewed = isinstance(stopped, AuthLost) and isinstance(self.tokens.renew(work), AccountReady)
        again_at = (
            None
            if stopped is None or isinstance(stopped, str)
            else self._again_at(work, stopped, tries, renewed=renewed)
        )
        ended = self.prepares.end(work.target, token=token, again_at=again_at)
        self.index.set_prepare(target=work.target, message_seq=message.seq, at=again_at if ended else None)
        hold_after(self.index, work.account, stopped, now=work.read_at)
        note_trouble(
            self.index,
            stopped,
            account=work.account,
            target=work.target,
            limits=self.rules.breaker,
            now=work.read_at,
        )
        if isinstance(stopped, AuthLost | PermissionLost | Rejected) and not renewed:
            self._tell(work, stopped)
        word = "prepared" if stopped is None else "again" if again_at else "left_to_the_publish"
        log.info("prepared" if stopped is None else "not_prepared", result=word)
        return word

    def _again_at(self, work: Work, failure: PrepareFailure, tries: int, *, renewed: bool) -> datetime | None:
        """Return when to try again; None: it would be too close to the slot, or no use."""
        if isinstance(failure, Transient) and not failure.spends_budget:
            # Nothing failed: the platform is still at work on a file, and is asked again when it said.
            return _in_time(
                work, work.read_at + timedelta(seconds=failure.retry_after_seconds or _ASK_AGAIN_SECONDS)
            )
        if tries >= self.rules.retry.budget:
            return None
        if renewed:
            return _in_time(work, work.read_at)
        if isinstance(failure, AuthLost | PermissionLost | Rejected):
            return None
        wait_seconds = delay_seconds(self.rules.retry, tries_spent=tries + 1, random=self.rules.random)
        if isinstance(failure, RateLimited | Ours):
            wait_seconds = max(wait_seconds, failure.retry_after_seconds)
        return _in_time(work, work.read_at + timedelta(seconds=wait_seconds))

    def _tell(self, work: Work, failure: AuthLost | PermissionLost | Rejected) -> None:
        """Say before the slot what will fail at the slot."""
        message = (
            f"target {work.target.id} on {work.account.platform}:{work.account.handle} will fail at its time:"
            f" {failure.evidence.message}"
        )
        self.index.alarm(key=f"prepare:{work.target.id}", message=message, tenant_id=work.target.tenant_id)


def _in_time(work: Work, at: datetime) -> datetime | None:
    slot = work.target.next_at
    return at if slot is not None and at < slot - _TOO_CLOSE else None


def _wanted(work: Work, message: Message) -> bool:
    target = work.target
    waits = (
        target.status in CLAIMABLE and target.next_kind is NextKind.PUBLISH and not target.cancel_requested
    )
    return (
        waits
        and target.seq == message.seq
        and work.tenant.status == "active"
        and work.tenant.stopped_at is None
        and work.account.status == "active"
        and work.approved_version_id == target.version_id
        and all(
            media_id in work.media and work.media[media_id].status == "ready" for media_id in work.media_ids
        )
    )
