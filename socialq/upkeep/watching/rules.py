"""The table of rules: what is looked for, kind by kind. What a kind means to whom: `docs/operations.md`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from socialq.upkeep.watching import of_machinery, of_schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.upkeep.watching.findings import Finding, Sight


@dataclass(frozen=True, slots=True)
class CentralRule:
    """Looks at what all cells share."""

    kind: str
    read: Callable[[Sight], list[Finding]]


@dataclass(frozen=True, slots=True)
class CellRule:
    """Looks at one cell at a time."""

    kind: str
    read: Callable[[Sight, str], list[Finding]]


Rule = CentralRule | CellRule

RULES: Final[tuple[Rule, ...]] = (
    CellRule("late", of_schedule.late),
    CellRule("duplicate", of_schedule.twice),
    CentralRule("window", of_machinery.windows),
    CentralRule("due", of_machinery.due),
    CentralRule("queue", of_machinery.queue),
    CentralRule("paused", of_machinery.paused),
    CellRule("reconnect", of_schedule.reconnect),
    CentralRule("resend", of_machinery.resent),
    CellRule("parked", of_schedule.parked),
    CentralRule("worker", of_machinery.workers),
)
"""A rule's findings, and the alarms that it clears, have keys that begin with its kind and a colon."""
