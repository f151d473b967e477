"""Why a target is where it is: the first of seven hops that it has not passed, since when, and who acts next.

Arrives: a target. Leaves: a `Why`, for the command line and the post's page. What must stay true: it reads the schedule
and the rows, never what a job says of itself; each hop is a small function of what is known; a cell that is away is
itself an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from socialq.domain.errors import InputProblem, InputRefused
from socialq.store import why_facts
from socialq.store.central.holds import ENDLESS
from socialq.store.patience import PASSING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import Row
    from socialq.store.stores import Stores
    from socialq.store.why_facts import InCell, InCentral

_SILENT_SECONDS: Final = 30.0
_NOBODY: Final = "nobody has to do anything"
_IN_REST: Final = frozenset({"needs_attention", "needs_reconnect", "failed"})
_UNPLANNED: Final = frozenset({"draft", "invalid", "ready"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Why a hop is not passed."""

    because: str
    who: str
    """Who acts next, and how."""
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One hop of a target's way."""

    name: str
    state: str
    """`passed`, `stopped` or `not_reached`."""
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Where a target is."""

    target_id: UUID
    post_id: UUID | None
    account: str | None
    status: str | None
    """None: its cell can't be read."""
    hops: tuple[Hop, ...]
    stopped_at: str | None
    """The first hop that is not passed; None: it is published."""
    because: str
    since: datetime | None
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    cell_name: str
    cell: InCell | None
    central: InCentral
    now: datetime

    @property
    def target(self) -> Row:
        """The target's row, or, where the cell is away, as much of one as the index tells."""
        if self.cell is not None:
            return self.cell.target
        index = self.central.index or {}
        return {"status": None, "next_kind": index.get("kind"), "next_at": index.get("due_at")}

    @property
    def waits_for_its_time(self) -> bool:
        """Whether it was at the platform already, and its next try or look is at a time to come."""
        waits = self.target["status"] in {"retry_scheduled", "unknown_outcome"}
        return waits and self.target["next_at"] > self.now


def explain(stores: Stores, *, tenant: UUID, target_id: UUID) -> Why:
    """Walk a target's hops. Raises `InputRefused` where the tenant has no such target."""
    name = stores.cell_name_of(tenant)
    away = False
    try:
        cell = why_facts.in_cell(stores.cell(name), tenant_id=tenant, target_id=target_id)
    except PASSING:
        cell, away = None, True
    central = why_facts.in_central(
        stores.central, tenant_id=tenant, target_id=target_id, cell=name, known=cell
    )
    now = why_facts.now_of(cell, central)
    if now is None or (cell is None and not away):
        problem, way_out = "there is no such target", "copy its id from `socialq targets list`"
        raise InputRefused(
            [InputProblem(field="target", value=str(target_id), problem=problem, way_out=way_out)]
        )
    return _walk(target_id, _Known(cell_name=name, cell=cell, central=central, now=now))


def _walk(target_id: UUID, known: _Known) -> Why:
    hops: list[Hop] = []
    stopped: tuple[str, Stop] | None = None
    for name, ask in _HOPS.items():
        if stopped is not None:
            hops.append(Hop(name=name, state="not_reached", detail=""))
            continue
        said = ask(known)
        if isinstance(said, Stop):
            stopped = name, said
        detail = said.because if isinstance(said, Stop) else said
        hops.append(Hop(name=name, state="stopped" if isinstance(said, Stop) else "passed", detail=detail))
    target = known.target
    at, stop = stopped if stopped is not None else (None, None)
    return Why(
        target_id=target_id,
        post_id=target.get("post_id"),
        account=target.get("account"),
        status=target["status"],
        hops=tuple(hops),
        stopped_at=at,
        because="it is published" if stop is None else stop.because,
        since=target.get("published_at") if stop is None else stop.since,
        who=_NOBODY if stop is None else stop.who,
    )


def _slot(known: _Known) -> Stop | str:
    target = known.target
    if target["status"] in _UNPLANNED:
        who = (
            "a person: approve it and give it a time"
            if target["status"] != "invalid"
            else "a person: edit it"
        )
        return Stop(because=f"it has no time: it is {target['status']}", who=who, since=target["moved_at"])
    if target["status"] == "cancelled":
        why = target["detail"] or target["reason"] or "without a reason"
        return Stop(because=f"it was cancelled: {why}", who=_NOBODY, since=target["moved_at"])
    at = target.get("publish_at") or target["next_at"]
    if (
        target["status"] in {None, "scheduled"}
        and target["next_at"] is not None
        and target["next_at"] > known.now
    ):
        return Stop(because=f"its slot is at {_at(target['next_at'])}", who=_NOBODY)
    return f"its slot was at {_at(at)}" if at else "its slot is over"


def _outbox(known: _Known) -> Stop | str:
    if known.cell is None:
        hold = _first_hold(known, scope="cell")
        return Stop(
            because=f"the database of cell {known.cell_name} can't be reached",
            who="the operator: bring it back; its posts go out by themselves then",
            since=None if hold is None else hold["set_at"],
        )
    event = known.cell.event
    if event is None or known.target["next_kind"] is None or known.target["status"] == "publishing":
        return "its changes are relayed"
    if event["parked_at"] is not None:
        return Stop(
            because=f"its last change was set aside: {event['failure']}",
            who="the operator: mend what it says, then `socialq outbox unpark`",
            since=event["parked_at"],
        )
    window = f"relay:{known.cell_name}"
    return Stop(
        because=f"its last change has not reached the dispatch index{_silence(known, window)}",
        who=f"the relay of cell {known.cell_name}, within seconds (a beat and a control worker)",
        since=event["created_at"],
    )


def _index(known: _Known) -> Stop | str:
    target, row = known.target, known.central.index
    if target["next_kind"] is None or target["status"] == "publishing":
        return "nothing is to be sent" if target["next_kind"] is None else "it was in the index"
    if row is None or row["seq"] < target["seq"] or row["status"] == "done":
        return Stop(
            because="the dispatch index does not have it as it stands",
            who="the audit, within a minute (a beat and a control worker), or `socialq index rebuild`",
            since=target["moved_at"],
        )
    return f"the index has it, due at {_at(row['due_at'])}"


def _hold(known: _Known) -> Stop | str:
    target = known.target
    if target["next_kind"] is None or target["status"] == "publishing":
        return "nothing holds it"
    if target["next_kind"] == "publish" and (state := _state(target)) is not None:
        return state
    hold = _first_hold(known)
    if hold is not None:
        until = "until it is lifted" if hold["until"] >= ENDLESS else f"until {_at(hold['until'])}"
        return Stop(
            because=f"{hold['scope']} {hold['key']} is held {until}: {hold['reason']}",
            who=_LIFTS.get(hold["source"], "nobody: the hold ends by itself").format(**hold),
            since=hold["set_at"],
        )
    until_account = target["account_hold_until"]
    if until_account is not None and until_account > known.now:
        return Stop(
            because=f"{target['account']} waits until {_at(until_account)}, as the platform asked",
            who=_NOBODY,
        )
    return "nothing holds it"


_LIFTS: Final = {
    "person": "{set_by}, who set it, or anybody: `socialq hold lift {scope} {key}`",
    "breaker": "a person: look at the account, then `socialq hold lift {scope} {key}`; else it ends by itself",
    "cell_down": "the operator: bring the cell's database back",
    "suspended": "the operator: `socialq tenant resume`",
    "stopped": "the operator: `socialq cell release`",
    "disabled": "a person: `socialq account enable`",
    "monthly_limit": "the operator: `socialq tenant limit`, or the next month",
}


def _state(target: Row) -> Stop | None:
    """What a tenant's or an account's own state keeps, hold or no hold."""
    if target["stopped_at"] is not None:
        reason = target["stop_reason"] or "stopped"
        return Stop(
            because=f"the agency is stopped: {reason}", who=_LIFTS["stopped"], since=target["stopped_at"]
        )
    if target["tenant_status"] == "suspended":
        return Stop(because="the agency is suspended", who=_LIFTS["suspended"], since=target["suspended_at"])
    if target["account_status"] == "disabled":
        reason = target["account_reason"] or "by a person"
        return Stop(because=f"{target['account']} is switched off: {reason}", who=_LIFTS["disabled"])
    return None


def _queue(known: _Known) -> Stop | str:
    target, row = known.target, known.central.index
    out = target["status"] == "publishing" or known.waits_for_its_time or target["next_kind"] is None
    if out or row is None or row["status"] != "pending":
        return "its message was sent to the workers"
    holder = None if known.cell is None else known.cell.holder
    if holder is not None:
        return Stop(
            because=f"another post of {target['account']} is in flight: target {holder['id']} is {holder['status']}",
            who=f"that one: `socialq why {holder['id']}`",
            since=holder["updated_at"],
        )
    if row["ready_at"] > known.now:
        return Stop(because=f"it is asked again at {_at(row['ready_at'])}", who="the dispatcher, then")
    others = f"; {known.central.out} messages are out" if known.central.out else ""
    return Stop(
        because=f"it is due, and its message is not sent yet{others}{_silence(known, 'dispatch')}",
        who="the dispatcher, within seconds (a beat, a control worker, Redis; and workers, if the queue is full)",
        since=row["ready_at"],
    )


def _claim(known: _Known) -> Stop | str:
    target, row = known.target, known.central.index
    attempt = None if known.cell is None else known.cell.attempt
    if target["status"] in _IN_REST and attempt is None:
        return _rest(target)
    enqueued = row is not None and row["status"] == "enqueued" and row["seq"] == target.get("seq")
    if enqueued and row is not None and target["next_kind"] is not None and target["status"] != "publishing":
        times = f", sent {row['sends']} times" if row["sends"] > 1 else ""
        return Stop(
            because=f"its message is out{times}, and no worker has taken it up",
            who="a publishing worker; after a while the sweep sends it again",
            since=row["enqueued_at"],
        )
    return "no worker has claimed it" if attempt is None else f"claimed at {_at(attempt['claimed_at'])}"


def _platform(known: _Known) -> Stop | str:
    target = known.target
    attempt = (None if known.cell is None else known.cell.attempt) or {}
    if target["status"] == "publishing":
        where = "its request was sent" if attempt.get("marked_at") else "nothing of it was sent yet"
        return Stop(
            because=f"worker {attempt.get('worker')} is at it (attempt {attempt.get('attempt_no')}): {where}",
            who=f"the platform; after {_at(target['lease_until'])} the sweep settles it",
            since=attempt.get("marked_at") or attempt.get("claimed_at"),
        )
    if target["status"] == "unknown_outcome":
        return Stop(
            because=f"the answer to its request was lost; {target['looks_done']} looks are done",
            who=f"socialq looks for it at {_at(target['next_at'])}; nothing is sent before it is known",
            since=target["lost_at"],
        )
    if target["status"] == "retry_scheduled":
        said = target["detail"] or attempt.get("message") or target["reason"] or "it did not work"
        return Stop(
            because=f"attempt {target['attempt_count']} came to nothing: {said}",
            who=f"socialq tries again at {_at(target['next_at'])}",
            since=attempt.get("finished_at") or target["moved_at"],
        )
    if target["status"] in _IN_REST:
        return _rest(target)
    return f"published at {_at(target['published_at'])}" if target.get("published_at") else "accepted"


_RESTS: Final = {
    "needs_attention": "a person: look at the account; then `target mark-published`, `target retry` or `target cancel`",
    "needs_reconnect": "the account's owner: `socialq account connect`; then `target retry`",
    "failed": "a person: edit it, or `target retry`, or `target cancel`",
}


def _rest(target: Row) -> Stop:
    said = target["detail"] or target["reason"] or target["status"]
    return Stop(
        because=f"{target['status'].replace('_', ' ')}: {said}",
        who=_RESTS[target["status"]],
        since=target["moved_at"],
    )


def _first_hold(known: _Known, *, scope: str | None = None) -> Row | None:
    looks = known.target["next_kind"] == "look"
    fitting = (
        hold
        for hold in known.central.holds
        if (scope is None or hold["scope"] == scope) and (hold["holds_looks"] or not looks)
    )
    return next(fitting, None)


def _silence(known: _Known, window: str) -> str:
    age = known.central.ages.get(window)
    if age is None:
        return f"; its window ({window}) was never seen"
    return f"; its window ({window}) was last seen {age:.0f} s ago" if age > _SILENT_SECONDS else ""


def _at(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"


_HOPS: Final[dict[str, Callable[[_Known], Stop | str]]] = {
    "slot": _slot,
    "outbox": _outbox,
    "index": _index,
    "hold": _hold,
    "queue": _queue,
    "claim": _claim,
    "platform": _platform,
}
