"""Takedown: a person has what is live of a target taken off the platform again.

Arrives: a target, and maybe one of its ids. Leaves: what became of each live part, recorded as a try of its own
and in the target's history. What must stay true: each try is committed before the platform is asked; nothing is
published here and no remote id is forgotten; a lost answer is asked once more, since a repeat does no harm; then a
reading is to show that the part is gone, and without proof the try is recorded as unknown; what is being sent is
never touched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, Protocol

import structlog

from socialq.domain.errors import InputProblem, InputRefused
from socialq.domain.outcomes import TakenDown, Unknown
from socialq.domain.states import CLAIMABLE, TargetStatus
from socialq.domain.targets import Move
from socialq.pipeline.access import account_access
from socialq.pipeline.pausing import hold_after
from socialq.pipeline.ports import AccountReady
from socialq.providers.http import NetworkFailure, read_lost

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from socialq.domain.outcomes import Evidence, TakedownOutcome
    from socialq.domain.targets import Target
    from socialq.domain.work import Work
    from socialq.pipeline.ports import Credentials, FreshTokens, Index, Targets
    from socialq.providers.base import AccountAccess, Adapter
    from socialq.providers.http import Call, Http

log = structlog.get_logger(__name__)

State = Literal["taken_down", "unknown", "failed"]

_UNDER_WAY: Final = frozenset({TargetStatus.PUBLISHING, TargetStatus.UNKNOWN_OUTCOME}) | CLAIMABLE
_WITHDRAWN: Final = frozenset(
    {TargetStatus.FAILED, TargetStatus.NEEDS_ATTENTION, TargetStatus.NEEDS_RECONNECT}
)


class Takedowns(Protocol):
    """Tries, and what is live."""

    def live(self, target: Target) -> Sequence[tuple[int, str]]:
        """Read what is live of a target: part and remote id, the last part first."""

    def begin(
        self, target: Target, *, part_no: int, remote_id: str, asked_by: str, reason: str
    ) -> UUID | None:
        """Commit a try before the platform is asked; None: another one is under way."""

    def end(self, target: Target, takedown_id: UUID, *, state: str, evidence: Evidence) -> None:
        """Record how a try ended."""

    def tell(self, target: Target, move: Move, *, actor: str) -> bool:
        """Record in the target's history what was taken down; False where its row has changed meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of one live part."""

    part_no: int
    remote_id: str
    state: State
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Takedown:
    """Takes targets down. Stateless."""

    targets: Targets
    takedowns: Takedowns
    index: Index
    credentials: Credentials
    tokens: FreshTokens
    http: Http
    adapter_for: Callable[[str], Adapter]

    def take_down(
        self, *, tenant_id: UUID, target_id: UUID, only: str | None = None, reason: str, actor: str
    ) -> list[Taken]:
        """Take down what is live of a target, or `only` one id of it; the last part goes first.

        It stops at the first part that stays. Raises `InputRefused` before anything is asked of the platform.
        """
        work = self.targets.load(tenant_id, target_id)
        if work is None:
            raise _refusal(target_id, "there is no such target", "copy its id from a list")
        live = self._meant(work.target, only)
        adapter = self.adapter_for(work.account.platform)
        account = self._account(work)
        calls = [(part_no, remote_id, _call(adapter, account, remote_id)) for part_no, remote_id in live]
        done: list[Taken] = []
        for part_no, remote_id, call in calls:
            one = self._one(
                work, adapter, account, call, part_no=part_no, remote_id=remote_id, reason=reason, actor=actor
            )
            done.append(one)
            if done[-1].state != "taken_down":
                break
        unsettled = [part.part_no for part in work.parts if part.unresolved]
        all_of = len(self.takedowns.live(work.target)) == 0
        self._tell(work.target, done, all_of=all_of, unsettled=unsettled, actor=actor)
        return done

    def _meant(self, target: Target, only: str | None) -> list[tuple[int, str]]:
        if target.status in _UNDER_WAY:
            raise _refusal(
                target.id, "is being sent or will be", "cancel it first, then take down what is live"
            )
        live = list(self.takedowns.live(target))
        if not live:
            raise _refusal(target.id, "has nothing live that is known here", "look at the account itself")
        if only is None:
            return live
        meant = [one for one in live if one[1] == only]
        if not meant:
            known = ", ".join(remote_id for _, remote_id in live)
            raise _refusal(only, "is not a live id of this target", f"choose one of {known}")
        return meant

    def _account(self, work: Work) -> AccountAccess:
        checked = self.tokens.ensure(work)
        if not isinstance(checked, AccountReady):
            raise _refusal(work.account.handle, checked.detail, "connect the account again, or try later")
        return account_access(replace(work, account=checked.account), self.credentials)

    def _one(
        self,
        work: Work,
        adapter: Adapter,
        account: AccountAccess,
        call: Call,
        *,
        part_no: int,
        remote_id: str,
        reason: str,
        actor: str,
    ) -> Taken:
        takedown_id = self.takedowns.begin(
            work.target, part_no=part_no, remote_id=remote_id, asked_by=actor, reason=reason
        )
        if takedown_id is None:
            message = "somebody else is taking it down at this moment"
            return Taken(part_no=part_no, remote_id=remote_id, state="unknown", message=message)
        outcome = self._ask(adapter, call)
        if isinstance(outcome, Unknown):
            outcome = self._ask(adapter, call)
        if isinstance(outcome, Unknown):
            outcome = adapter.look_gone(self.http, account, remote_id=remote_id, doubt=outcome)
        state = _state_of(outcome)
        self.takedowns.end(work.target, takedown_id, state=state, evidence=outcome.evidence)
        hold_after(self.index, work.account, outcome, now=work.read_at)
        log.info("takedown", state=state, part=part_no, code=outcome.evidence.code)
        return Taken(part_no=part_no, remote_id=remote_id, state=state, message=outcome.evidence.message)

    def _ask(self, adapter: Adapter, call: Call) -> TakedownOutcome:
        answer = self.http.send(call)
        if isinstance(answer, NetworkFailure):
            return read_lost(answer, platform=adapter.platform)
        return adapter.read_takedown(answer)

    def _tell(
        self, target: Target, done: Sequence[Taken], *, all_of: bool, unsettled: Sequence[int], actor: str
    ) -> None:
        """Write what was taken down into the target's history; one that is not published is withdrawn with it."""
        gone = [one.remote_id for one in done if one.state == "taken_down"]
        if not gone:
            return
        # A part whose request's answer was lost may be live, and nobody has seen it: the target isn't withdrawn.
        all_of = all_of and not unsettled
        withdrawn = all_of and target.status in _WITHDRAWN
        move = Move(
            to=TargetStatus.CANCELLED if withdrawn else target.status,
            reason="taken_down" if all_of else "partly_taken_down",
            detail=f"taken down by {actor}: {', '.join(gone)}" + _may_be_live(unsettled),
            next_kind=None if withdrawn else target.next_kind,
            next_at=None if withdrawn else target.next_at,
            event="target.taken_down",
        )
        if not self.takedowns.tell(target, move, actor=actor):
            # What was taken down stands in its own rows; only the sentence of the target is another's by now.
            log.warning("takedown_not_told", target=str(target.id))


def _call(adapter: Adapter, account: AccountAccess, remote_id: str) -> Call:
    call = adapter.takedown_call(account, remote_id=remote_id)
    if call is None:
        problem = f"{adapter.platform} takes nothing down by its API for this account"
        raise _refusal(remote_id, problem, adapter.takedown_by_hand)
    return call


def _may_be_live(part_numbers: Sequence[int]) -> str:
    if not part_numbers:
        return ""
    named = ", ".join(str(number) for number in part_numbers)
    return f"; part {named} may be live: the answer to its request was lost"


def _state_of(outcome: TakedownOutcome) -> State:
    if isinstance(outcome, TakenDown):
        return "taken_down"
    return "unknown" if isinstance(outcome, Unknown) else "failed"


def _refusal(value: object, problem: str, way_out: str) -> InputRefused:
    return InputRefused([InputProblem(field="target", value=str(value), problem=problem, way_out=way_out)])
