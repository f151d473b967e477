"""What a rule finds, and what it looks through."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from socialq.store import watching_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from uuid import UUID

    from socialq.store.sessions import CellDatabases, Row
    from socialq.store.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a person should know of."""

    key: str
    """`kind:what`: the same as long as it is the same thing."""
    message: str
    """For the operator: which post, which account, how late, and the first thing to do. No content, no token."""
    red: bool = True
    """Whether posts do not go out, or went out twice, because of it. Else it is only worth knowing."""
    tenant_id: UUID | None = None

    @property
    def kind(self) -> str:
        """Which rule's it is."""
        return self.key.partition(":")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """From when on something is worth an alarm."""

    late_seconds: float = 120.0
    """A slot that passed longer ago than this, without publication or a reason."""
    silent_seconds: float = 30.0
    """A window, or beat's ticks, not seen for so long."""
    due_seconds: float = 60.0
    """The oldest row that could go out."""
    deaf_seconds: float = 90.0
    """A worker's canary."""
    sends: int = 5
    """How often a message may be sent before it is said that nobody answers."""
    queue_bounds: Mapping[str, int] = field(default_factory=dict)
    """Messages in Redis, by queue."""
    ahead_seconds: float = 7 * 86400.0
    """How long before its end an account that can't be refreshed is told of."""


@dataclass(slots=True)
class _Central:
    counts: Row
    beats: list[Row]
    holds: list[Row]


class Sight:
    """What rules look through in one pass. The central database is read once."""

    def __init__(
        self,
        stores: Stores,
        *,
        limits: Limits,
        queue_lengths: Callable[[], Mapping[str, int]],
        not_refreshing: Collection[str] = (),
        open_keys: Collection[str] = (),
    ) -> None:
        """Look at `stores`; `not_refreshing` are the platforms whose tokens just end."""
        self.stores = stores
        self.limits = limits
        self.queue_lengths = queue_lengths
        self.not_refreshing = frozenset(not_refreshing)
        self.open_keys = frozenset(open_keys)

    @cached_property
    def cell_names(self) -> list[str]:
        return self.stores.cell_names()

    @cached_property
    def _central(self) -> _Central:
        with self.stores.central.transaction(actor="watch") as session:
            return _Central(*watching_facts.central_state(session))

    @property
    def counts(self) -> Row:
        """The dispatch index, counted."""
        return self._central.counts

    @property
    def ages(self) -> dict[str, float]:
        """How many seconds ago each heartbeat was."""
        return {row["name"]: float(row["age_seconds"]) for row in self._central.beats}

    @property
    def holds(self) -> list[Row]:
        """The holds that have not ended."""
        return self._central.holds

    @cached_property
    def held(self) -> list[Row]:
        """Scope and key of what is held, or was until not long enough ago to be late."""
        return watching_facts.held(self.stores.central, seconds=self.limits.late_seconds)

    def names_of(self, cell: CellDatabases, rows: Collection[Row]) -> dict[UUID, str]:
        """Name the accounts of rows (tenant_id, account_id), each read as its tenant."""
        by_tenant: dict[UUID, set[UUID]] = {}
        for row in rows:
            by_tenant.setdefault(row["tenant_id"], set()).add(row["account_id"])
        names: dict[UUID, str] = {}
        for tenant_id, account_ids in by_tenant.items():
            names |= watching_facts.account_names(cell, tenant_id=tenant_id, account_ids=account_ids)
        return names

    def known_of(self, kind: str) -> list[str]:
        """Return what open alarms of a kind are of."""
        return [key.removeprefix(f"{kind}:") for key in self.open_keys if key.startswith(f"{kind}:")]


def lasting(seconds: float) -> str:
    """Spell a duration for people: 40 s, 12 min, 3 h, 2 days."""
    for bound, unit, name in ((120.0, 1.0, "s"), (7200.0, 60.0, "min"), (172800.0, 3600.0, "h")):
        if seconds < bound:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86400.0:.0f} days"
