"""Scheduling: hop 1. A ready target gets its time, or another, or none.

Arrives: targets and an instant that was read from what a person wrote. Leaves: their next work, a row that
keeps the words, and an outbox event each, in one transaction; then the relay is woken if it is due at once.
What must stay true: a message under way with the old time is refused at the claim, since seq is newer.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from socialq.desk.refusals import refuse_if, unknown_problem
from socialq.desk.tenants import cell_of
from socialq.desk.wake import wake_relay
from socialq.domain.errors import InputProblem
from socialq.domain.local_time import check_not_past
from socialq.domain.states import NextKind, TargetStatus
from socialq.domain.targets import Move
from socialq.store.cell import many_targets, post_schedules, post_targets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from socialq.domain.local_time import Resolved
    from socialq.domain.targets import Target
    from socialq.store.sessions import Session
    from socialq.store.stores import Stores

S = TargetStatus

_PLANNED: Final = frozenset({S.SCHEDULED, S.RETRY_SCHEDULED})

_WHY_NOT_SCHEDULED: Final[Mapping[TargetStatus, tuple[str, str]]] = {
    S.DRAFT: ("is not approved", "approve its post first"),
    S.INVALID: ("is refused by the platform's rules", "edit its post first"),
    S.READY: ("has no time", "schedule it"),
    S.SCHEDULED: ("has a time already", "reschedule it"),
    S.RETRY_SCHEDULED: ("waits for another try", "reschedule or cancel it"),
    S.PUBLISHING: ("is being sent now", "wait for its outcome"),
    S.UNKNOWN_OUTCOME: ("may be live, and is being looked for", "wait for the outcome"),
    S.NEEDS_ATTENTION: ("waits for a person's decision", "retry, cancel or mark it published"),
    S.NEEDS_RECONNECT: ("waits for its account", "connect the account again, then retry"),
    S.FAILED: ("has failed", "retry it, or write a new post"),
    S.PUBLISHED: ("is published", "write a new post"),
    S.CANCELLED: ("is cancelled", "write a new post"),
}
"""Why a target can't be given a time, or lose it, in its state, and what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A time as it is stored."""

    publish_at: datetime
    publish_by: datetime
    """When it is too late and the target expires."""
    local_time: datetime
    """Naive, on the clocks of `time_zone`."""
    time_zone: str


def slot_of(
    resolved: Resolved, *, now: datetime, grace_minutes: float = 15.0, publish_by_hours: float = 24.0
) -> Slot:
    """Check a time against `now` (aware): up to `grace_minutes` past means now, older is refused."""
    publish_at = check_not_past(resolved.instant_utc, now, grace_minutes)
    return Slot(
        publish_at=publish_at,
        publish_by=publish_at + timedelta(hours=publish_by_hours),
        local_time=resolved.local,
        time_zone=resolved.zone,
    )


def schedule(
    stores: Stores,
    *,
    tenant: UUID,
    target_ids: Sequence[UUID],
    resolved: Resolved,
    now: datetime,
    grace_minutes: float = 15.0,
    publish_by_hours: float = 24.0,
    actor: str,
) -> list[Target]:
    """Give ready targets their time: all of them, or none and `InputRefused`."""
    slot = slot_of(resolved, now=now, grace_minutes=grace_minutes, publish_by_hours=publish_by_hours)
    cell = cell_of(stores, tenant)
    with cell.app.transaction(tenant=tenant, actor=actor) as session:
        targets = _locked(session, target_ids, allowed=frozenset({S.READY}))
        moved = set_times(session, [(target, slot) for target in targets], tenant=tenant, actor=actor)
    wake_relay(cell, moved, now=now)
    return moved


def reschedule(
    stores: Stores,
    *,
    tenant: UUID,
    target_ids: Sequence[UUID],
    resolved: Resolved,
    now: datetime,
    grace_minutes: float = 15.0,
    publish_by_hours: float = 24.0,
    actor: str,
) -> list[Target]:
    """Give planned targets another time: all of them, or none and `InputRefused`."""
    slot = slot_of(resolved, now=now, grace_minutes=grace_minutes, publish_by_hours=publish_by_hours)
    cell = cell_of(stores, tenant)
    with cell.app.transaction(tenant=tenant, actor=actor) as session:
        targets = _locked(session, target_ids, allowed=_PLANNED)
        moved = set_times(session, [(target, slot) for target in targets], tenant=tenant, actor=actor)
    wake_relay(cell, moved, now=now)
    return moved


def unschedule(stores: Stores, *, tenant: UUID, target_ids: Sequence[UUID], actor: str) -> list[Target]:
    """Take the time from scheduled targets: all of them become ready, or none and `InputRefused`."""
    move = Move(to=S.READY, changes={"publish_at": None, "publish_by": None}, event="target.unschedule")
    with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
        targets = _locked(session, target_ids, allowed=frozenset({S.SCHEDULED}))
        moved = [post_targets.apply(session, target, move) for target in targets]
    return [target for target in moved if target is not None]


def set_times(
    session: Session, times: Sequence[tuple[Target, Slot]], *, tenant: UUID, actor: str
) -> list[Target]:
    """Give targets, locked or new in this transaction, their times; keep what was written for each.

    One that waits for another try goes on waiting as such, until the new time.
    """
    moved = many_targets.apply(session, [(target, _planned(target, slot)) for target, slot in times])
    slots = {target.id: slot for target, slot in times}
    post_schedules.insert(
        session,
        [
            {
                "target_id": target.id,
                "seq": target.seq,
                "publish_at": slots[target.id].publish_at,
                "local_time": slots[target.id].local_time,
                "time_zone": slots[target.id].time_zone,
            }
            for target in moved
        ],
        tenant_id=tenant,
        scheduled_by=actor,
    )
    return moved


def _planned(target: Target, slot: Slot) -> Move:
    again = target.status in _PLANNED
    return Move(
        to=S.RETRY_SCHEDULED if target.status is S.RETRY_SCHEDULED else S.SCHEDULED,
        reason=target.reason if again else None,
        detail=target.detail if again else None,
        next_kind=NextKind.PUBLISH,
        next_at=slot.publish_at,
        changes={"publish_at": slot.publish_at, "publish_by": slot.publish_by},
        event="target.reschedule" if again else "target.schedule",
    )


def _locked(
    session: Session, target_ids: Sequence[UUID], *, allowed: frozenset[TargetStatus]
) -> list[Target]:
    """Lock the targets; refuse all if one is unknown or in a state that doesn't allow it."""
    wanted = list(dict.fromkeys(target_ids))
    found = {target.id: target for target in many_targets.lock(session, wanted)}
    problems = []
    for target_id in wanted:
        target = found.get(target_id)
        if target is None:
            problems.append(unknown_problem("target", target_id, what="target"))
        elif target.status not in allowed:
            problem, way_out = _WHY_NOT_SCHEDULED[target.status]
            problems.append(
                InputProblem(field="target", value=str(target_id), problem=problem, way_out=way_out)
            )
    refuse_if(problems)
    return [found[target_id] for target_id in wanted]
