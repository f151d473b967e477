"""The targets of every tenant, on PostgreSQL: the publish path's transactions, one per method.

Implements `socialq.pipeline.ports.Targets`. Reads and claims fail fast; what records an outcome is tried
again for a while, since losing it would turn a known outcome into an unknown one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg

from socialq.domain.finding import after_late_acceptance
from socialq.domain.outcomes import Evidence
from socialq.domain.states import NextKind, TargetStatus
from socialq.domain.work import AccountBusy, Claimed, PartKept, Settled
from socialq.store.cell import claims, post_targets, settlements, target_parts, work
from socialq.store.patience import reaching_cell, with_patience

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.outcomes import Accepted, Found
    from socialq.domain.settlement import Decision, Rules
    from socialq.domain.targets import Move, PartState, Target
    from socialq.domain.work import ClaimRequest, Work
    from socialq.store.sessions import Session
    from socialq.store.stores import Stores

    Decide = Callable[[Target, Sequence[PartState], datetime], Decision]

_HOLDER = """
SELECT COALESCE(lease_until, next_at) AS free_at FROM cell.post_targets
WHERE account_id = (SELECT account_id FROM cell.post_targets WHERE id = %(target_id)s) AND holds_account
"""

_CLAIMED_IDS = """
SELECT remote_id FROM cell.sightings WHERE account_id = %(account_id)s AND first_seen_at >= %(since)s
"""

_WORKER: Final = "worker"

Result = TypeVar("Result")


class PostgresTargets:
    """`Targets` on the cells' databases."""

    def __init__(self, stores: Stores, *, rules: Rules, settle_patience_seconds: float = 30.0) -> None:
        """Use `stores`; outcomes are tried to be recorded for `settle_patience_seconds`."""
        self._stores = stores
        self._rules = rules
        self._patience_seconds = settle_patience_seconds

    def load(self, tenant_id: UUID, target_id: UUID) -> Work | None:
        """Read a target's work in one round trip."""
        app = self._stores.cell_of(tenant_id).app
        with reaching_cell():
            [rows] = app.pipelined(work.load(target_id), tenant=tenant_id, actor=_WORKER)
        return work.work_of(rows[0]) if rows else None

    def claim(self, request: ClaimRequest) -> Claimed | AccountBusy | None:
        """Claim in one round trip; the account's holder is looked up only when there is one."""
        app = self._stores.cell_of(request.tenant_id).app
        try:
            with reaching_cell():
                results = app.pipelined(
                    *claims.claim(request), tenant=request.tenant_id, actor=request.worker
                )
        except psycopg.errors.UniqueViolation as error:
            if error.diag.constraint_name != "post_targets_account_held":
                raise
            holder = (_HOLDER, {"target_id": request.target_id})
            [rows] = app.pipelined(holder, tenant=request.tenant_id)
            return AccountBusy(free_at=rows[0]["free_at"] if rows else None)
        rows = results[-1]
        return _claimed(rows[0]) if rows else None

    def account_is_free(self, target: Target) -> bool:
        """Say whether no target holds this target's account."""
        holder = (_HOLDER, {"target_id": target.id})
        [rows] = self._stores.cell_of(target.tenant_id).app.pipelined(holder, tenant=target.tenant_id)
        return not rows

    def mark(
        self, *, tenant_id: UUID, target_id: UUID, token: UUID, part_no: int, lease_seconds: float
    ) -> Claimed | None:
        """Mark in one round trip."""
        statement = claims.mark(
            target_id=target_id, token=token, part_no=part_no, lease_seconds=lease_seconds
        )
        with reaching_cell():
            [rows] = self._stores.cell_of(tenant_id).app.pipelined(statement, tenant=tenant_id, actor=_WORKER)
        return _claimed(rows[0]) if rows else None

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
        """Keep a prepare step's result."""
        statement = claims.store_prepared(
            target_id=target_id, token=token, part_no=part_no, result=result, lease_seconds=lease_seconds
        )
        app = self._stores.cell_of(tenant_id).app
        [rows] = self._patiently(lambda: app.pipelined(statement, tenant=tenant_id, actor=_WORKER))
        return bool(rows)

    def part_accepted(
        self, *, target: Target, token: UUID, part_no: int, answer: Accepted, lease_seconds: float
    ) -> PartKept | None:
        """Record a live part."""
        statement = settlements.part_accepted(
            target_id=target.id, token=token, part_no=part_no, answer=answer, lease_seconds=lease_seconds
        )
        app = self._stores.cell_of(target.tenant_id).app
        [rows] = self._patiently(lambda: app.pipelined(statement, tenant=target.tenant_id, actor=_WORKER))
        if not rows:
            return None
        alarm = None if rows[0]["first_seen"] else self._whose_id(target, part_no, answer)
        return PartKept(alarm=alarm)

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
        """Record that the last part is live, in one round trip."""
        target = work.target
        first = work.parts[0]
        statement = settlements.accepted(
            target_id=target.id,
            token=token,
            part_no=part_no,
            answer=answer,
            first=(first.remote_id or answer.remote_id, first.permalink or answer.permalink),
            publication_key=publication_key,
            look_again_seconds=look_again_seconds,
        )
        app = self._stores.cell_of(target.tenant_id).app
        [rows] = self._patiently(lambda: app.pipelined(statement, tenant=target.tenant_id, actor=_WORKER))
        if not rows:
            return None
        alarm = None if rows[0]["first_seen"] else self._whose_id(target, part_no, answer)
        kind = rows[0]["next_kind"]
        return Settled(
            target_id=target.id,
            account_id=target.account_id,
            status=TargetStatus.PUBLISHED,
            seq=rows[0]["seq"],
            next_kind=None if kind is None else NextKind(kind),
            next_at=rows[0]["next_at"],
            alarm=alarm,
        )

    def late_acceptance(
        self, *, work: Work, attempt_no: int, part_no: int, answer: Accepted, publication_key: str
    ) -> Settled | None:
        """Record an acceptance after the claim was lost: sighting, attempt, part; then what follows from it."""

        def step(session: Session) -> Settled | None:
            locked = settlements.lock(session, work.target.id)
            if locked is None:
                return None
            target, parts, now = locked
            settlements.end_attempt(
                session,
                target_id=target.id,
                attempt_no=attempt_no,
                state="accepted",
                evidence=answer.evidence,
            )
            ours = settlements.see(
                session, target=target, part_no=part_no, remote_id=answer.remote_id, source="late_answer"
            )
            alarm = self._duplicate_alarm(session, target, part_no, ours=ours, seen=answer)
            if not ours:
                return _settled(target, alarm=alarm)
            target_parts.accept(
                session,
                target_id=target.id,
                part_no=part_no,
                remote_id=answer.remote_id,
                permalink=answer.permalink,
                remote_ref=answer.remote_ref,
                accepted_at=answer.accepted_at,
            )
            move = after_late_acceptance(target, parts, part_no, now=now, rules=self._rules)
            moved = None if move is None else post_targets.apply(session, target, move)
            if moved is None:
                return _settled(target, alarm=alarm)
            if moved.status is TargetStatus.PUBLISHED:
                # What was sent counts, not what an edit has made of the target since.
                sent = work.target
                as_sent = replace(
                    moved, version_id=sent.version_id, key_instant=sent.key_instant or sent.publish_at
                )
                first = target_parts.full_parts(session, target.id)[0]
                settlements.publish(session, target=as_sent, publication_key=publication_key, first=first)
            return _settled(moved, alarm=alarm)

        return self._in_transaction(work.target.tenant_id, step)

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
        """Lock, decide, apply, record the attempt."""

        def step(session: Session) -> Settled | None:
            locked = settlements.lock(session, target_id)
            if locked is None or locked[0].lease_token != token:
                return None
            target, parts, now = locked
            decision = decide(target, parts, now)
            part = next(part for part in parts if part.part_no == part_no)
            moved = settlements.apply(session, target, part, decision)
            if moved is None:
                return None
            settlements.end_attempt(
                session,
                target_id=target_id,
                attempt_no=target.attempt_count,
                state=decision.attempt_state,
                evidence=evidence,
            )
            return _settled(moved, alarm=decision.alarm)

        return self._in_transaction(tenant_id, step)

    def late_failure(
        self, *, tenant_id: UUID, target_id: UUID, attempt_no: int, state: str, evidence: Evidence
    ) -> None:
        """Record how an attempt ended after its claim was lost."""

        def step(session: Session) -> None:
            settlements.end_attempt(
                session, target_id=target_id, attempt_no=attempt_no, state=state, evidence=evidence
            )

        self._in_transaction(tenant_id, step)

    def move(self, target: Target, move: Move, *, actor: str) -> Settled | None:
        """Move an unclaimed target."""

        def step(session: Session) -> Settled | None:
            moved = post_targets.apply(session, target, move)
            return None if moved is None else _settled(moved)

        return self._in_transaction(target.tenant_id, step, actor=actor)

    def settle_look(
        self, *, target: Target, part_no: int, found: Found | None, publication_key: str, decide: Decide
    ) -> Settled | None:
        """Settle a look on the row it was made for: compare-and-set on seq."""

        def step(session: Session) -> Settled | None:
            locked = settlements.lock(session, target.id)
            if locked is None or locked[0].seq != target.seq:
                return None
            current, parts, now = locked
            decision = decide(current, parts, now)
            alarm = decision.alarm
            if found is not None:
                if not settlements.see(
                    session, target=current, part_no=part_no, remote_id=found.remote_id, source="look"
                ):
                    # Another part has adopted it since the look began: this look says nothing any more.
                    return None
                alarm = self._duplicate_alarm(session, current, part_no, ours=True, seen=found)
                if decision.found is not None:
                    target_parts.accept(
                        session,
                        target_id=current.id,
                        part_no=part_no,
                        remote_id=found.remote_id,
                        permalink=found.permalink,
                        remote_ref=found.remote_ref,
                        accepted_at=found.created_at,
                    )
            part = next(part for part in parts if part.part_no == part_no)
            moved = settlements.apply(session, current, part, decision)
            if moved is None:
                return None
            if part.marked_attempt is not None:
                settlements.end_attempt(
                    session,
                    target_id=current.id,
                    attempt_no=part.marked_attempt,
                    state=decision.attempt_state,
                    evidence=Evidence(code=f"look.{decision.attempt_state}", message=moved.detail or ""),
                )
            if moved.status is TargetStatus.PUBLISHED and current.status is not TargetStatus.PUBLISHED:
                first = target_parts.full_parts(session, current.id)[0]
                settlements.publish(session, target=moved, publication_key=publication_key, first=first)
            return _settled(moved, alarm=alarm)

        return self._in_transaction(target.tenant_id, step, actor="look")

    def claimed_ids(self, *, tenant_id: UUID, account_id: UUID, since: datetime) -> frozenset[str]:
        """Read the remote ids of an account that some part owns."""
        statement = (_CLAIMED_IDS, {"account_id": account_id, "since": since})
        with reaching_cell():
            [rows] = self._stores.cell_of(tenant_id).app.pipelined(statement, tenant=tenant_id, actor=_WORKER)
        return frozenset(row["remote_id"] for row in rows)

    def _whose_id(self, target: Target, part_no: int, answer: Accepted) -> str | None:
        def step(session: Session) -> str | None:
            ours = settlements.see(
                session, target=target, part_no=part_no, remote_id=answer.remote_id, source="answer"
            )
            return self._duplicate_alarm(session, target, part_no, ours=ours, seen=answer)

        return self._in_transaction(target.tenant_id, step)

    @staticmethod
    def _duplicate_alarm(
        session: Session, target: Target, part_no: int, *, ours: bool, seen: Accepted | Found
    ) -> str | None:
        """Say what is wrong where one part has two remote ids, or two parts share one."""
        if not ours:
            return (
                f"part {part_no} of target {target.id} got the id {seen.remote_id}, which another part owns"
            )
        ids = settlements.sightings_of(session, target_id=target.id, part_no=part_no)
        if len(ids) < 2:
            return None
        known = {part.remote_id: part.permalink for part in target_parts.full_parts(session, target.id)}
        links = {**known, seen.remote_id: seen.permalink or known.get(seen.remote_id)}
        copies = ", ".join(f"{one} ({links[one]})" if links.get(one) else one for one in ids)
        return (
            f"part {part_no} of target {target.id} is live more than once: {copies}; where the platform allows"
            f" it, `socialq target take-down {target.id} --only ID --reason …` takes one of them down"
        )

    def _in_transaction(
        self, tenant_id: UUID, step: Callable[[Session], Result], *, actor: str = _WORKER
    ) -> Result:
        def once() -> Result:
            with self._stores.cell_of(tenant_id).app.transaction(tenant=tenant_id, actor=actor) as session:
                return step(session)

        return self._patiently(once)

    def _patiently(self, step: Callable[[], Result]) -> Result:
        with reaching_cell():
            return with_patience(step, seconds=self._patience_seconds)


def _claimed(row: Mapping[str, Any]) -> Claimed:
    return Claimed(
        attempt_no=row["attempt_count"],
        lease_until=row["lease_until"],
        key_instant=row["key_instant"],
        marked=row["marked"],
    )


def _settled(target: Target, *, alarm: str | None = None) -> Settled:
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
