"""Hop 4, the claim and what is sent under it: prepare, connect, mark, one request a part, settle.

Arrives: work that passed the guards, with the account opened. Leaves: a word for the log; everything else is in
the database. What must stay true: the connection is made before the mark, the mark is committed before the
request leaves, no request starts later than `mark_to_send_seconds` after its mark was asked for, no transaction
is open while a platform is awaited, and whatever comes back is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import structlog

from socialq.domain import keys
from socialq.domain.ids import new_token
from socialq.domain.outcomes import Accepted, Evidence, Ours, Prepared, RateLimited, Transient, Unknown
from socialq.domain.settlement import after_failure, cancelled_before_mark, expired
from socialq.domain.text import is_keepable
from socialq.domain.work import AccountBusy, ClaimRequest
from socialq.pipeline.access import part_content
from socialq.pipeline.pausing import learn
from socialq.pipeline.settle import Settler, situation_of
from socialq.providers.hearing import Hearing
from socialq.providers.http import NetworkFailure, read_lost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.outcomes import PrepareFailure, PublishOutcome
    from socialq.domain.settlement import Decision, Situation
    from socialq.domain.targets import PartState, Target
    from socialq.domain.work import Claimed, Work
    from socialq.pipeline.publish import Publisher
    from socialq.providers.base import AccountAccess, Adapter, Part
    from socialq.providers.http import Answer, Opened

log = structlog.get_logger(__name__)

_ASK_AGAIN_SECONDS: Final = 1.0


@dataclass(slots=True, kw_only=True)
class Run:
    """One claim, from before it to its settle."""

    publisher: Publisher
    work: Work
    adapter: Adapter
    account: AccountAccess
    token: UUID = field(default_factory=new_token)
    attempt_no: int = 0
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    answer: Answer | None = None
    """The last answer to a request, until what it says of the limits is read."""
    began_at: float = 0.0
    """On the monotonic clock, when the work had just been read."""

    def run(self) -> str:
        """Claim and send every part that is not live yet."""
        self.began_at = self.publisher.clock.monotonic()
        part_state = self.work.next_part
        if part_state is None:
            return self._nothing_left()
        part = self._part(part_state.part_no, self._key_instant())
        if self.adapter.prepare_steps(self.account, part, self._prepared(part.number)):
            claimed = self._claim(part.number, mark=False)
            return claimed if isinstance(claimed, str) else self._send_rest(part.number)
        return self._claim_and_send(part)

    def _nothing_left(self) -> str:
        log.error("nothing_left_to_send", target=str(self.work.target.id))
        self.publisher.repair(self.work, message_seq=self.work.target.seq)
        return "nothing_left"

    def _claim_and_send(self, part: Part) -> str:
        """Where nothing is left to prepare the claim is the mark: connect, claim, send."""
        opened = self._connect(part)
        if isinstance(opened, NetworkFailure):
            claimed = self._claim(part.number, mark=False)
            return (
                claimed
                if isinstance(claimed, str)
                else self._settle(part.number, read_lost(opened, platform=self.adapter.platform))
            )
        try:
            asked_at = self.publisher.clock.monotonic()
            claimed = self._claim(part.number, mark=True)
            if isinstance(claimed, str):
                return claimed
            if not claimed.marked:
                return self._mark_refused(part.number)
            outcome = self._send(opened, part, asked_at=asked_at)
        finally:
            opened.close()
        return self._after(part, outcome)

    def _send_rest(self, part_no: int) -> str:
        """Prepare, connect, mark and send one part of a claim that is ours, then the ones after it."""
        part = self._part(part_no, self._key_instant())
        failure = self._prepare(part)
        if failure is not None:
            return failure
        opened = self._connect(part)
        if isinstance(opened, NetworkFailure):
            return self._settle(part.number, read_lost(opened, platform=self.adapter.platform))
        try:
            asked_at = self.publisher.clock.monotonic()
            marked = self.publisher.targets.mark(
                tenant_id=self.work.target.tenant_id,
                target_id=self.work.target.id,
                token=self.token,
                part_no=part.number,
                lease_seconds=self.publisher.limits.lease_seconds,
            )
            if marked is None:
                return self._mark_refused(part.number)
            outcome = self._send(opened, part, asked_at=asked_at)
        finally:
            opened.close()
        return self._after(part, outcome)

    def _claim(self, part_no: int, *, mark: bool) -> Claimed | str:
        work, publisher = self.work, self.publisher
        claimed = publisher.targets.claim(
            ClaimRequest(
                tenant_id=work.target.tenant_id,
                target_id=work.target.id,
                version_id=work.target.version_id,
                seq=work.target.seq,
                token=self.token,
                lease_seconds=publisher.limits.lease_seconds,
                worker=publisher.worker,
                part_no=part_no,
                mark=mark,
                required_scopes=sorted(self.adapter.required_scopes_of(work.account.remote_user_id)),
                media_ids=work.media_ids,
                limited=work.tenant.monthly_limit is not None,
            )
        )
        match claimed:
            case None:
                return publisher.refused_claim(work, self.adapter)
            case AccountBusy(free_at=free_at):
                publisher.index.repair(
                    target=work.target,
                    message_seq=work.target.seq,
                    not_before=_after(free_at, work.read_at),
                    waits_for_account=True,
                )
                if publisher.targets.account_is_free(work.target):
                    # Its holder settled while the row was being set to wait: nobody else would free it.
                    publisher.index.repair(target=work.target, message_seq=work.target.seq)
                return "account_busy"
            case _:
                self.attempt_no = claimed.attempt_no
                structlog.contextvars.bind_contextvars(attempt=claimed.attempt_no)
                return claimed

    def _prepare(self, part: Part) -> str | None:
        """Run the steps that are left, storing each result; a word when the claim ends here."""
        while steps := self.adapter.prepare_steps(self.account, part, self._prepared(part.number)):
            heard = Hearing(self.publisher.http)
            result = steps[0].run(heard)
            self.answer = heard.last
            if isinstance(result, Prepared) and not is_keepable(result.result):
                result = Transient(evidence=_unkeepable(self.adapter.platform))
            if not isinstance(result, Prepared):
                return self._settle_and_learn(part.number, result)
            kept = self._store(part, {steps[0].name: result.result})
            self._learn()
            if not kept:
                return "lost_claim"
        return None

    def _store(self, part: Part, named: dict[str, dict[str, object]]) -> bool:
        """Keep results of steps; False: the claim is lost."""
        self.results.setdefault(part.number, {}).update(named)
        return self.publisher.targets.store_prepared(
            tenant_id=self.work.target.tenant_id,
            target_id=self.work.target.id,
            token=self.token,
            part_no=part.number,
            result=named,
            lease_seconds=self.publisher.limits.lease_seconds,
        )

    def _connect(self, part: Part) -> Opened | NetworkFailure:
        call = self.adapter.publish_call(self.account, part, self._prepared(part.number))
        return self.publisher.http.open(call, deadline_seconds=self.publisher.limits.publish_deadline_seconds)

    def _send(self, opened: Opened, part: Part, *, asked_at: float) -> PublishOutcome:
        """Send the one request, unless the mark is too old to be trusted."""
        waited_seconds = self.publisher.clock.monotonic() - asked_at
        if waited_seconds > self.publisher.limits.mark_to_send_seconds:
            evidence = Evidence(
                code="worker.stalled",
                message=f"the worker stood still for {waited_seconds:.1f} s; nothing was sent",
            )
            return Transient(evidence=evidence, spends_budget=False)
        answer = opened.send()
        if isinstance(answer, NetworkFailure):
            return read_lost(answer, platform=self.adapter.platform)
        self.answer = answer
        return self.adapter.read_publish(answer, part)

    def _after(self, part: Part, outcome: PublishOutcome) -> str:
        if not isinstance(outcome, Accepted):
            if isinstance(outcome, Unknown) and outcome.learned:
                # Before the settle, under the lease: a later try begins without what the platform has dropped.
                self._store(part, outcome.learned)
            return self._settle_and_learn(part.number, outcome)
        last = part.number == self.work.parts[-1].part_no
        settled = self._settler().accepted(part, outcome, last=last)
        self._learn()
        return settled or self._next_part(part, outcome)

    def _settle_and_learn(self, part_no: int, outcome: PublishOutcome | PrepareFailure) -> str:
        said = self._settle(part_no, outcome)
        if not isinstance(outcome, RateLimited | Ours):
            self._learn()
        return said

    def _learn(self) -> None:
        """Read the limits from the last answer, now that its outcome is recorded."""
        answer, self.answer = self.answer, None
        if answer is not None:
            publisher = self.publisher
            # By the database's clock: this machine's may be off, and the hold is everybody's.
            since = timedelta(seconds=publisher.clock.monotonic() - self.began_at)
            learn(publisher.index, self.work.account, self.adapter, answer, now=self.work.read_at + since)

    def _next_part(self, part: Part, outcome: Accepted) -> str:
        """Go on with a thread under the same claim, with the part that was just accepted as the parent."""
        self.work = _with_live_part(self.work, part.number, outcome)
        following = self.work.next_part
        if following is None:
            raise AssertionError("a part that is not the last one has one after it")
        return self._send_rest(following.part_no)

    def _settle(self, part_no: int, outcome: PublishOutcome | PrepareFailure) -> str:
        if isinstance(outcome, Accepted):
            raise TypeError("an acceptance is not settled by decision")
        failure = outcome

        def decide(target: Target, parts: Sequence[PartState], now: datetime) -> Decision:
            return after_failure(self._situation(target, parts, part_no, now), failure, self.publisher.rules)

        return self._settler().decided(part_no, failure, decide)

    def _mark_refused(self, part_no: int) -> str:
        """The mark was refused: withdrawn, out of time, or not ours any more."""

        def decide(target: Target, parts: Sequence[PartState], now: datetime) -> Decision:
            situation = self._situation(target, parts, part_no, now)
            if target.cancel_requested:
                return cancelled_before_mark(situation)
            if target.publish_by is not None and now >= target.publish_by:
                return expired(situation)
            evidence = Evidence(code="mark.refused", message="the mark was refused; nothing was sent")
            return after_failure(
                situation, Transient(evidence=evidence, spends_budget=True), self.publisher.rules
            )

        refused = Transient(evidence=Evidence(code="mark.refused", message="nothing was sent"))
        return self._settler().decided(part_no, refused, decide)

    def _settler(self) -> Settler:
        return Settler(
            targets=self.publisher.targets,
            index=self.publisher.index,
            evidence=self.publisher.evidence,
            rules=self.publisher.rules,
            work=self.work,
            token=self.token,
            attempt_no=self.attempt_no,
            lease_seconds=self.publisher.limits.lease_seconds,
            publication_key=self._publication_key(),
        )

    def _situation(
        self, target: Target, parts: Sequence[PartState], part_no: int, now: datetime
    ) -> Situation:
        return situation_of(self.adapter, target, parts, part_no, now, account=self.work.account)

    def _prepared(self, part_no: int) -> Mapping[str, Any]:
        stored = next(part.prepared for part in self.work.parts if part.part_no == part_no)
        return {**stored, **self.results.get(part_no, {})}

    def _part(self, part_no: int, key_instant: datetime) -> Part:
        return part_content(self.work, part_no, key_instant=key_instant, files=self.publisher.files)

    def _key_instant(self) -> datetime:
        """The publication key's instant: frozen by the first mark, and until then the slot itself."""
        instant = self.work.target.key_instant or self.work.target.publish_at
        if instant is None:
            raise ValueError(f"target {self.work.target.id} was claimed without a time")
        return instant

    def _publication_key(self) -> str:
        return keys.publication_key(self.work.target.id, self._key_instant(), self.work.target.version_id)


def _after(free_at: datetime | None, now: datetime) -> datetime:
    """Return when to ask for a busy account again, if its holder's settle does not say so before: never at once."""
    return max(free_at or now, now) + timedelta(seconds=_ASK_AGAIN_SECONDS)


def _with_live_part(work: Work, part_no: int, answer: Accepted) -> Work:
    parts = tuple(
        replace(part, remote_id=answer.remote_id, remote_ref=answer.remote_ref, permalink=answer.permalink)
        if part.part_no == part_no
        else part
        for part in work.parts
    )
    return replace(work, parts=parts)


def _unkeepable(platform: str) -> Evidence:
    return Evidence(
        code=f"{platform}.unreadable",
        message="the answer holds characters that no database keeps, such as NUL",
    )
