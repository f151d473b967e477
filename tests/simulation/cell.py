"""A cell in memory as workers see it: what `PostgresTargets` does, with the same conditions.

Implements `Targets` of `socialq.pipeline.ports`. Each method is one transaction: nothing happens in between.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from socialq.domain.finding import after_late_acceptance
from socialq.domain.states import CLAIMABLE, NextKind, TargetStatus
from socialq.domain.work import AccountBusy, Claimed, PartKept, Settled, Work
from tests.simulation.rows import Mark, Rows, RuleBrokenError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.outcomes import Accepted, Evidence, Found
    from socialq.domain.settlement import Decision
    from socialq.domain.targets import Move, PartState, Target
    from socialq.domain.work import ClaimRequest

    Decide = Callable[[Target, Sequence[PartState], datetime], Decision]

S = TargetStatus


class Cell(Rows):
    """Rows of one cell, and what workers do with them."""

    def load(self, tenant_id: UUID, target_id: UUID) -> Work | None:
        del tenant_id
        target = self.targets.get(target_id)
        if target is None:
            return None
        return Work(
            target=target,
            parts=self.parts[target_id],
            content=self.contents[target.version_id],
            approved_version_id=self.approved[target.post_id],
            account=self.accounts[target.account_id],
            tenant=self.tenants[target.tenant_id],
            media={},
            media_ids=(),
            read_at=self.now(),
        )

    def claim(self, request: ClaimRequest) -> Claimed | AccountBusy | None:
        target = self.targets[request.target_id]
        if any(self._refuses_claim(target, request)):
            return None
        holder = self.holder(target)
        if holder is not None and self.asks("one holder"):
            return AccountBusy(free_at=holder.lease_until or holder.next_at)
        attempt_no = target.attempt_count + 1
        if (target.id, attempt_no) in self.attempts:
            raise RuleBrokenError("an attempt's number was used twice")
        self.attempts[target.id, attempt_no] = "in_flight"
        lease_until = self.now() + timedelta(seconds=request.lease_seconds)
        marked = request.mark and self._mark(target, request.part_no, attempt_no, by_holder=True)
        written = self.write(
            target,
            status=S.PUBLISHING,
            reason=None,
            detail=None,
            holds_account=True,
            lease_token=request.token,
            lease_until=lease_until,
            attempt_count=attempt_no,
            key_instant=self._frozen(target) if request.mark else target.key_instant,
        )
        return Claimed(
            attempt_no=attempt_no, lease_until=lease_until, key_instant=written.key_instant, marked=marked
        )

    def _refuses_claim(self, target: Target, request: ClaimRequest) -> Iterator[bool]:
        """Each condition of the claim, in its order."""
        parts = self.parts[target.id]
        yield self.asks("claim: seq") and target.seq != request.seq
        yield target.version_id != request.version_id
        yield self.asks("claim: state") and target.status not in CLAIMABLE
        yield self.asks("claim: withdrawn") and target.cancel_requested
        yield self.asks("claim: in time") and not (target.publish_by and target.publish_by > self.now())
        yield self.asks("claim: allowed") and not self._allowed(target)
        yield self.asks("claim: unresolved") and any(part.unresolved for part in parts)
        yield self.asks("claim: live") and (
            self.part(target.id, request.part_no).live or bool(self.seen(target.id, request.part_no))
        )

    def _allowed(self, target: Target) -> bool:
        tenant, account = self.tenants[target.tenant_id], self.accounts[target.account_id]
        held = account.hold_until is not None and account.hold_until > self.now()
        return (
            tenant.status == "active"
            and tenant.stopped_at is None
            and account.status == "active"
            and not held
            and self.approved[target.post_id] == target.version_id
        )

    def _frozen(self, target: Target) -> datetime | None:
        if self.asks("key frozen"):
            return target.key_instant or target.publish_at
        return target.publish_at

    def _mark(self, target: Target, part_no: int, attempt_no: int, *, by_holder: bool) -> bool:
        part = self.part(target.id, part_no)
        now = self.now()
        self.marks[target.id, part_no] = Mark(
            at=now,
            attempt_no=attempt_no,
            by_holder=by_holder,
            lease_was_on=target.lease_until is None or target.lease_until > now,
            in_time=target.publish_by is not None and target.publish_by > now,
            withdrawn=target.cancel_requested,
            seen=part.live or bool(self.seen(target.id, part_no)),
            allowed=target.status is S.PUBLISHING or self._allowed(target),
        )
        if part.live:
            return False
        self.write_part(
            target.id,
            part_no,
            marked_at=now,
            marked_attempt=attempt_no,
            mark_cleared=False,
            first_marked_at=part.first_marked_at or now,
        )
        return True

    def account_is_free(self, target: Target) -> bool:
        return not any(
            other.holds_account and other.account_id == target.account_id for other in self.targets.values()
        )

    def mark(
        self, *, tenant_id: UUID, target_id: UUID, token: UUID, part_no: int, lease_seconds: float
    ) -> Claimed | None:
        del tenant_id
        target, now = self.targets[target_id], self.now()
        ours = target.status is S.PUBLISHING and target.lease_token == token
        refused = (
            (self.asks("mark: token") and not ours)
            or (
                self.asks("mark: lease") and not (target.lease_until is not None and target.lease_until > now)
            )
            or (self.asks("mark: in time") and not (target.publish_by and target.publish_by > now))
            or (self.asks("mark: withdrawn") and target.cancel_requested)
            or (self.asks("mark: seen") and bool(self.seen(target_id, part_no)))
        )
        if refused or not self._mark(target, part_no, target.attempt_count, by_holder=ours):
            return None
        lease_until = now + timedelta(seconds=lease_seconds)
        written = replace(target, key_instant=self._frozen(target))
        if ours:
            written = self.write(written, lease_until=lease_until)
        return Claimed(
            attempt_no=target.attempt_count,
            lease_until=lease_until,
            key_instant=written.key_instant,
            marked=True,
        )

    def store_prepared(
        self,
        *,
        tenant_id: UUID,
        target_id: UUID,
        token: UUID,
        part_no: int,
        result: Mapping[str, Any],
        lease_seconds: float,
    ) -> bool:
        del tenant_id
        row = self.targets[target_id]
        if not self._is_held(row, token):
            return False
        self.write(row, lease_until=self.now() + timedelta(seconds=lease_seconds))
        self.write_part(target_id, part_no, prepared={**self.part(target_id, part_no).prepared, **result})
        return True

    def part_accepted(
        self, *, target: Target, token: UUID, part_no: int, answer: Accepted, lease_seconds: float
    ) -> PartKept | None:
        row = self.targets[target.id]
        if not self._is_held(row, token):
            return None
        self.write(row, lease_until=self.now() + timedelta(seconds=lease_seconds))
        return PartKept(alarm=self._accept(row, part_no, answer.remote_id))

    def accepted(
        self,
        *,
        work: Work,
        token: UUID,
        part_no: int,
        answer: Accepted,
        publication_key: str,
        look_again_seconds: float | None,
    ) -> Settled | None:
        row = self.targets[work.target.id]
        if not self._is_held(row, token):
            return None
        now = self.now()
        look_at = None if look_again_seconds is None else now + timedelta(seconds=look_again_seconds)
        moved = self.write(
            row,
            status=S.PUBLISHED,
            reason=None,
            detail=None,
            published_at=now,
            lease_token=None,
            lease_until=None,
            holds_account=False,
            seq=row.seq + 1,
            next_kind=None if look_at is None else NextKind.LOOK,
            next_at=look_at,
        )
        self.attempts[row.id, row.attempt_count] = "accepted"
        self.publications.setdefault(publication_key, row.id)
        alarm = self._accept(row, part_no, answer.remote_id)
        if look_at is not None:
            self.leave_event(row.id)
        return settled(moved, alarm)

    def _is_held(self, row: Target, token: UUID) -> bool:
        return row.status is S.PUBLISHING and (not self.asks("settle: token") or row.lease_token == token)

    def _accept(self, target: Target, part_no: int, remote_id: str) -> str | None:
        """Store a part's id and the sighting; what is wrong, if something is."""
        first = not self.part(target.id, part_no).live
        ours = self.see(target, part_no, remote_id)
        self.keep_id(target.id, part_no, remote_id)
        return None if ours and first else self._duplicate(target, part_no, remote_id, ours=ours)

    def see(self, target: Target, part_no: int, remote_id: str) -> bool:
        """`settlements.see`."""
        known = self.sightings.setdefault((target.account_id, remote_id), (target.id, part_no, self.now()))
        self.changed.add(target.id)
        return known[:2] == (target.id, part_no)

    def keep_id(self, target_id: UUID, part_no: int, remote_id: str) -> None:
        if self.asks("first id stays") and self.part(target_id, part_no).live:
            return
        self.write_part(target_id, part_no, remote_id=remote_id, accepted_at=self.now())

    def _duplicate(self, target: Target, part_no: int, remote_id: str, *, ours: bool) -> str | None:
        if not ours:
            return f"part {part_no} of {target.id} got {remote_id}, which another part owns"
        seen = self.seen(target.id, part_no)
        return f"part {part_no} of {target.id} is live more than once: {seen}" if len(seen) > 1 else None

    def late_acceptance(
        self, *, work: Work, attempt_no: int, part_no: int, answer: Accepted, publication_key: str
    ) -> Settled | None:
        row, parts = self.targets[work.target.id], self.parts[work.target.id]
        self.attempts[row.id, attempt_no] = "accepted"
        ours = self.see(row, part_no, answer.remote_id)
        alarm = self._duplicate(row, part_no, answer.remote_id, ours=ours)
        if not ours:
            return settled(row, alarm)
        self.keep_id(row.id, part_no, answer.remote_id)
        move = after_late_acceptance(row, parts, part_no, now=self.now(), rules=self.rules)
        moved = None if move is None else self.apply(row, move)
        if moved is None:
            return settled(row, alarm)
        if moved.status is S.PUBLISHED:
            self.publications.setdefault(publication_key, row.id)
        return settled(moved, alarm)

    def settle(
        self,
        *,
        tenant_id: UUID,
        target_id: UUID,
        token: UUID,
        part_no: int,
        evidence: Evidence,
        decide: Decide,
    ) -> Settled | None:
        del tenant_id, evidence
        row = self.targets[target_id]
        if self.asks("settle: token") and row.lease_token != token:
            return None
        decision = decide(row, self.parts[target_id], self.now())
        moved = self.decided(row, part_no, decision)
        if moved is None:
            return None
        self.attempts[row.id, row.attempt_count] = decision.attempt_state
        return settled(moved, decision.alarm)

    def decided(
        self, row: Target, part_no: int, decision: Decision, *, by_machine: bool = False
    ) -> Target | None:
        """`settlements.apply`."""
        moved = self.apply(row, decision.move)
        if moved is None:
            return None
        part = self.part(row.id, part_no)
        if decision.clear_mark or decision.count_unknown:
            self.write_part(
                row.id,
                part_no,
                mark_cleared=part.mark_cleared or decision.clear_mark,
                unknown_count=part.unknown_count + int(decision.count_unknown),
            )
        effect = decision.account
        if effect is not None and not by_machine:
            account = self.accounts[row.account_id]
            hold = effect.hold_until if effect.hold_scope == "account" else None
            until = max(filter(None, (account.hold_until, hold)), default=None)
            self.accounts[row.account_id] = replace(
                account,
                status=effect.status or account.status,
                status_reason=effect.reason if effect.status else account.status_reason,
                hold_until=until,
            )
        return moved

    def late_failure(
        self, *, tenant_id: UUID, target_id: UUID, attempt_no: int, state: str, evidence: Evidence
    ) -> None:
        del tenant_id, evidence
        if self.attempts[target_id, attempt_no] in {"in_flight", "unknown"}:
            self.attempts[target_id, attempt_no] = state

    def move(self, target: Target, move: Move, *, actor: str) -> Settled | None:
        del actor
        moved = self.apply(target, move)
        return None if moved is None else settled(moved, None)

    def settle_look(
        self, *, target: Target, part_no: int, found: Found | None, publication_key: str, decide: Decide
    ) -> Settled | None:
        row, parts = self.targets[target.id], self.parts[target.id]
        if self.asks("look: seq") and row.seq != target.seq:
            return None
        decision = decide(row, parts, self.now())
        alarm = decision.alarm
        if found is not None:
            if not self.see(row, part_no, found.remote_id) and self.asks("look: not another's"):
                return None
            alarm = self._duplicate(row, part_no, found.remote_id, ours=True)
            if decision.found is not None:
                self.keep_id(row.id, part_no, found.remote_id)
        moved = self.decided(row, part_no, decision)
        if moved is None:
            return None
        if moved.status is S.PUBLISHED and row.status is not S.PUBLISHED:
            self.publications.setdefault(publication_key, row.id)
        return settled(moved, alarm)

    def claimed_ids(self, *, tenant_id: UUID, account_id: UUID, since: datetime) -> frozenset[str]:
        del tenant_id
        return frozenset(
            remote_id
            for (account, remote_id), (_, _, seen_at) in self.sightings.items()
            if account == account_id and seen_at >= since
        )


def settled(target: Target, alarm: str | None) -> Settled:
    return Settled(
        target_id=target.id,
        account_id=target.account_id,
        status=target.status,
        seq=target.seq,
        next_kind=target.next_kind,
        next_at=target.next_at,
        holds_account=target.holds_account,
        alarm=alarm,
    )
