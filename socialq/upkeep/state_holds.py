"""Keeps holds in step with the states they follow.

Arrives: time, once a minute. Leaves: a hold for each suspended or stopped tenant and each account that is switched
off, and none for those that are not any more; alarms of holds that have ended closed. What must stay true: the cell is
the truth; a cell that can't be read neither sets nor lifts anything.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from socialq.store.cell import state_holds
from socialq.store.central import holds
from socialq.store.patience import PASSING
from socialq.store.stores import UnknownTenantError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.store.central.holds import Scope, Source
    from socialq.store.sessions import Row
    from socialq.store.stores import Stores

    Key = tuple[Scope, str, Source]

log = structlog.get_logger(__name__)

_ACTOR: Final = "audit"
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_REASONS: Final[dict[str, str]] = {
    "suspended": "the tenant is suspended",
    "stopped": "the tenant is stopped",
    "disabled": "the account is switched off",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateHolds:
    """Compares states and holds. Any number may run at once."""

    stores: Stores
    suspension_grace_hours: float

    def audit(self) -> dict[str, int]:
        """Set what is missing and lift what is over; returns how many of each."""
        with self.stores.central.transaction(actor=_ACTOR) as session:
            known = {
                _key(row): row["until"] for row in holds.current(session) if row["source"] in holds.STATES
            }
        wanted: dict[Key, datetime] = {}
        all_read = True
        done = {"set": 0, "lifted": 0}
        for cell in self.stores.cell_names():
            try:
                in_cell = dict(self._wanted(cell))
            except PASSING as error:
                log.warning("holds_not_audited", cell=cell, error=type(error).__name__)
                all_read = False
                continue
            wanted |= in_cell
            missing = {key: until for key, until in in_cell.items() if known.get(key, _NEVER) < until}
            done["set"] += self._set(cell, missing)
        if all_read:
            over = [key for key in known if key not in wanted and not self._still_used_up(key)]
            done["lifted"] = self._lift(over)
        holds.clear_ended_alarms(self.stores.central)
        return done

    def _wanted(self, cell: str) -> Iterator[tuple[Key, datetime]]:
        tenants, accounts = state_holds.read(self.stores.cell(cell))
        for row in tenants:
            key = str(row["tenant_id"])
            if row["stopped_at"] is not None:
                yield ("tenant", key, "stopped"), holds.ENDLESS
            if row["status"] == "suspended":
                until = row["suspended_at"] + timedelta(hours=self.suspension_grace_hours)
                if until > datetime.now(UTC):
                    yield ("tenant", key, "suspended"), until
        for account_id in accounts:
            yield ("account", str(account_id), "disabled"), holds.ENDLESS

    def _set(self, cell: str, missing: dict[Key, datetime]) -> int:
        alike: dict[tuple[Scope, Source, datetime], list[str]] = defaultdict(list)
        for (scope, key, source), until in missing.items():
            alike[scope, source, until].append(key)
        for (scope, source, until), keys in alike.items():
            log.warning("holds_were_missing", cell=cell, scope=scope, source=source, holds=len(keys))
            holds.set_many(
                self.stores.central,
                scope=scope,
                keys=keys,
                until=until,
                reason=_REASONS[source],
                set_by=_ACTOR,
                source=source,
                cell=cell,
            )
        return len(missing)

    def _still_used_up(self, key: Key) -> bool:
        """Say whether a tenant's monthly limit is still used up: it may have been raised, or claims have failed."""
        _, tenant, source = key
        if source != "monthly_limit":
            return False
        try:
            return state_holds.limit_is_used_up(self.stores.cell_of(UUID(tenant)), UUID(tenant))
        except UnknownTenantError:
            return False
        except PASSING:
            return True

    def _lift(self, over: list[Key]) -> int:
        for scope, key, source in over:
            log.warning("hold_is_over", scope=scope, key=key, source=source)
            holds.lift(self.stores.central, scope=scope, key=key, actor=_ACTOR, sources=[source])
        return len(over)


def _key(row: Row) -> Key:
    return row["scope"], row["key"], row["source"]
