"""The rows of a cell in memory, written only as the tables' constraints and the trigger of the real one allow.

Rows are the frozen records of the domain, so a snapshot is a reference. Each condition that guards an invariant
has a name; one that is in `without` is left out, which is how the simulation shows that it would notice.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from socialq.domain.hops import Event
from socialq.domain.states import TargetStatus, check_move
from tests.situations import RULES_OF_A_ROW, is_legal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.settlement import Rules
    from socialq.domain.targets import Move, PartState, Target
    from socialq.domain.work import AccountRow, TenantState

S = TargetStatus


class RuleBrokenError(AssertionError):
    """A row was written that the database would have refused, or that an invariant forbids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What stood in the row when a part was marked: for the invariants, not for any hop."""

    at: datetime
    attempt_no: int
    by_holder: bool
    lease_was_on: bool
    in_time: bool
    withdrawn: bool
    seen: bool
    allowed: bool
    """Tenant, account and approval let it go out."""


@dataclass(kw_only=True)
class Rows:
    """Rows of one cell."""

    clock: Any
    rules: Rules
    without: frozenset[str] = frozenset()
    name: str = "default"
    targets: dict[UUID, Target] = field(default_factory=dict)
    parts: dict[UUID, tuple[PartState, ...]] = field(default_factory=dict)
    contents: dict[UUID, Mapping[str, Any]] = field(default_factory=dict)
    """By version."""
    approved: dict[UUID, UUID | None] = field(default_factory=dict)
    """The approved version by post."""
    accounts: dict[UUID, AccountRow] = field(default_factory=dict)
    tenants: dict[UUID, TenantState] = field(default_factory=dict)
    attempts: dict[tuple[UUID, int], str] = field(default_factory=dict)
    sightings: dict[tuple[UUID, str], tuple[UUID, int, datetime]] = field(default_factory=dict)
    publications: dict[str, UUID] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    marks: dict[tuple[UUID, int], Mark] = field(default_factory=dict)
    changed: set[UUID] = field(default_factory=set)
    """Targets whose rows were written since the invariants were last checked."""
    _events_made: int = 0

    def asks(self, guard: str) -> bool:
        return guard not in self.without

    def now(self) -> datetime:
        return self.clock.now()

    # Writing rows, as the tables' constraints and the trigger allow it.

    def write(self, target: Target, **changes: Any) -> Target:
        """Write a row and check what the database would check."""
        made = replace(target, **changes)
        before = self.targets.get(target.id)
        if before is not None and not is_legal(before.status, made.status):
            raise RuleBrokenError(f"a target went from {before.status} to {made.status}")
        row = _Row(made)
        broken = [name for name, holds in RULES_OF_A_ROW.items() if not holds(row)]
        if broken:
            raise RuleBrokenError(f"row of {made.id} breaks {broken}")
        if made.holds_account and self.asks("one holder") and self.holder(made) is not None:
            raise RuleBrokenError("two targets hold one account")
        self.targets[made.id] = made
        self.changed.add(made.id)
        return made

    def write_part(self, target_id: UUID, part_no: int, **changes: Any) -> None:
        parts = self.parts[target_id]
        self.parts[target_id] = tuple(
            replace(part, **changes) if part.part_no == part_no else part for part in parts
        )
        self.changed.add(target_id)

    def leave_event(self, target_id: UUID) -> None:
        self._events_made += 1
        self.events.append(Event(id=self._events_made, target_id=target_id))

    def apply(self, target: Target, move: Move) -> Target | None:
        """`post_targets.apply`."""
        if move.to is not target.status:
            check_move(target.status, move.to)
        row = self.targets[target.id]
        unchanged = row.seq == target.seq and row.status is target.status
        if self.asks("move as read") and not (unchanged and row.lease_token == target.lease_token):
            return None
        given_up = {"lease_token": None, "lease_until": None, "holds_account": False}
        moved = self.write(
            row,
            status=move.to,
            reason=move.reason,
            detail=move.detail,
            next_kind=move.next_kind,
            next_at=move.next_at,
            seq=row.seq + 1,
            **{**given_up, **move.changes},
        )
        self.leave_event(target.id)
        return moved

    def holder(self, target: Target) -> Target | None:
        return next(
            (
                other
                for other in self.targets.values()
                if other.holds_account and other.account_id == target.account_id and other.id != target.id
            ),
            None,
        )

    def part(self, target_id: UUID, part_no: int) -> PartState:
        return self.parts[target_id][part_no - 1]

    def seen(self, target_id: UUID, part_no: int) -> list[str]:
        return [
            remote_id
            for (_, remote_id), (owner, number, _) in self.sightings.items()
            if owner == target_id and number == part_no
        ]


class _Row:
    """A target as the rules of a row read it."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __getitem__(self, column: str) -> Any:
        return getattr(self._target, column)
