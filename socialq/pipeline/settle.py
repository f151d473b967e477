"""Hop 5, settle: an outcome becomes a target's state, and the index row follows.

Arrives: an outcome of a claim that may or may not still be ours. Leaves: one transaction in the cell, then the
index row finished by compare-and-set on seq, holds and alarms set. What must stay true: a remote id is stored
before anything else is done, and an answer that comes after its claim was lost is still recorded, as evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from socialq.domain.hops import CellUnreachableError, LateEvidence
from socialq.domain.outcomes import (
    Accepted,
    AuthLost,
    Duplicate,
    Ours,
    PermissionLost,
    RateLimited,
    Rejected,
    Transient,
    Unknown,
)
from socialq.domain.settlement import Situation
from socialq.pipeline.breaking import note_trouble
from socialq.pipeline.pausing import hold_what_it_says

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.settlement import Decision, Failure, Rules
    from socialq.domain.targets import PartState, Target
    from socialq.domain.work import AccountRow, Settled, Work
    from socialq.pipeline.ports import Decide, EvidenceStore, Index, Targets
    from socialq.providers.base import Adapter, Part

log = structlog.get_logger(__name__)

_JUST_REFRESHED: Final = timedelta(seconds=60)

ATTEMPT_STATES: Final = {
    Transient: "transient",
    RateLimited: "rate_limited",
    AuthLost: "auth_lost",
    PermissionLost: "permission_lost",
    Rejected: "rejected",
    Duplicate: "duplicate",
    Unknown: "unknown",
    Ours: "ours",
}
"""How an attempt that ended in each outcome is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settler:
    """Settles one claim."""

    targets: Targets
    index: Index
    evidence: EvidenceStore
    rules: Rules
    work: Work
    token: UUID
    attempt_no: int
    lease_seconds: float
    publication_key: str

    def accepted(self, part: Part, answer: Accepted, *, last: bool) -> str | None:
        """Record an acceptance; None: the claim is still ours and the next part follows.

        Where the cell can't be reached for long, the acceptance is kept centrally: the lease will end, the
        outcome will count as unknown, and this is read before anybody looks.
        """
        try:
            return self._accepted(part, answer, last=last)
        except CellUnreachableError:
            log.exception("acceptance_kept_centrally", part=part.number, remote_id=answer.remote_id)
            self.evidence.keep(
                LateEvidence(
                    tenant_id=self.work.target.tenant_id,
                    target_id=self.work.target.id,
                    part_no=part.number,
                    attempt_no=self.attempt_no,
                    publication_key=self.publication_key,
                    remote_id=answer.remote_id,
                    permalink=answer.permalink,
                    remote_ref=answer.remote_ref,
                )
            )
            return "kept_centrally"

    def _accepted(self, part: Part, answer: Accepted, *, last: bool) -> str | None:
        target = self.work.target
        if not last:
            kept = self.targets.part_accepted(
                target=target,
                token=self.token,
                part_no=part.number,
                answer=answer,
                lease_seconds=self.lease_seconds,
            )
            if kept is None:
                return self._late(part, answer)
            if kept.alarm is not None:
                self.index.alarm(key=f"target:{target.id}", message=kept.alarm, tenant_id=target.tenant_id)
            return None
        settled = self.targets.accepted(
            work=self.work,
            token=self.token,
            part_no=part.number,
            answer=answer,
            publication_key=self.publication_key,
            look_again_seconds=self.rules.look_again_seconds if self._had_unknown() else None,
        )
        if settled is None:
            return self._late(part, answer)
        log.info("published", part=part.number, remote_id=answer.remote_id)
        self._follow(settled)
        return "published"

    def decided(self, part_no: int, outcome: Failure, decide: Decide) -> str:
        """Settle by decision; an answer for a claim that is not ours any more is recorded all the same."""
        target = self.work.target
        made: list[tuple[Decision, datetime]] = []

        def remember(locked: Target, parts: Sequence[PartState], now: datetime) -> Decision:
            decision = decide(locked, parts, now)
            made[:] = [(decision, now)]
            return decision

        settled = self.targets.settle(
            tenant_id=target.tenant_id,
            target_id=target.id,
            token=self.token,
            part_no=part_no,
            evidence=outcome.evidence,
            decide=remember,
        )
        if settled is None:
            log.warning("answer_after_lost_claim", outcome=type(outcome).__name__)
            self.targets.late_failure(
                tenant_id=target.tenant_id,
                target_id=target.id,
                attempt_no=self.attempt_no,
                state=ATTEMPT_STATES[type(outcome)],
                evidence=outcome.evidence,
            )
            return "lost_claim"
        log.info(
            "settled",
            status=settled.status,
            outcome=type(outcome).__name__,
            code=outcome.evidence.code,
            part=part_no,
        )
        decision, now = made[0]
        hold_what_it_says(self.index, self.work, decision.account)
        self._follow(settled)
        note_trouble(
            self.index,
            outcome,
            account=self.work.account,
            target=target,
            limits=self.rules.breaker,
            now=now,
        )
        return settled.status

    def _late(self, part: Part, answer: Accepted) -> str:
        """The claim is lost, the post is live: evidence, whatever state the target is in by now."""
        log.warning("acceptance_after_lost_claim", part=part.number, remote_id=answer.remote_id)
        settled = self.targets.late_acceptance(
            work=self.work,
            attempt_no=self.attempt_no,
            part_no=part.number,
            answer=answer,
            publication_key=self.publication_key,
        )
        if settled is not None:
            self._follow(settled)
        return "late_acceptance"

    def _follow(self, settled: Settled) -> None:
        follow(self.index, self.work.target.tenant_id, settled)

    def _had_unknown(self) -> bool:
        return any(part.unknown_count > 0 for part in self.work.parts)


def situation_of(
    adapter: Adapter,
    target: Target,
    parts: Sequence[PartState],
    part_no: int,
    now: datetime,
    *,
    account: AccountRow,
) -> Situation:
    """Gather what a decision looks at."""
    finder = adapter.finder_of(remote_user_id=account.remote_user_id, scopes=account.scopes)
    return Situation(
        target=target,
        part=next(part for part in parts if part.part_no == part_no),
        any_live=any(part.live for part in parts),
        parts_after=sum(part.part_no > part_no for part in parts),
        next_part_unresolved=any(part.part_no == part_no + 1 and part.unresolved for part in parts),
        now=now,
        refresh_may_help=_refresh_may_help(account, now),
        lag_seconds=None if finder is None else finder.lag.total_seconds(),
    )


def _refresh_may_help(account: AccountRow, now: datetime) -> bool:
    """Whether a refused token may just be over before its time: a refresh is possible and was not just made."""
    if account.refresh_token is None:
        return False
    return account.refreshed_at is None or now - account.refreshed_at > _JUST_REFRESHED


def follow(index: Index, tenant_id: UUID, settled: Settled) -> None:
    """Finish the index row of a settled target and raise its alarm, if any."""
    index.finish(settled)
    if settled.alarm is not None:
        index.alarm(key=f"target:{settled.target_id}", message=settled.alarm, tenant_id=tenant_id)


def apply_evidence(targets: Targets, index: Index, evidence: EvidenceStore, work: Work) -> bool:
    """Record in the cell what was kept centrally for a target; True: there was something, and it is recorded."""
    waiting = evidence.of_target(work.target.id)
    for one in waiting:
        answer = Accepted(remote_id=one.remote_id, permalink=one.permalink, remote_ref=dict(one.remote_ref))
        settled = targets.late_acceptance(
            work=work,
            attempt_no=one.attempt_no,
            part_no=one.part_no,
            answer=answer,
            publication_key=one.publication_key,
        )
        if settled is not None:
            follow(index, work.target.tenant_id, settled)
    if waiting:
        evidence.mark_applied(waiting)
    return bool(waiting)
