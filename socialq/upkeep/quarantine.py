"""Quarantine: what becomes of a cell whose database was restored, promoted, or loaded from a dump.

Arrives: a cell that is not in the database it was in, or has gone back in it; or an operator's word. Leaves: its
tenants stopped and held until they are released; everything that may have been sent since the recovery point an
unknown outcome, looked for and not sent again; its rows in the index made anew. What must stay true: until all of that
is done the claim refuses whatever comes from there, since the rows' origin is another database than they are in; a
quarantine that is cut short is done again by the next check; nothing is released but by a person.

https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from socialq.domain.states import CLAIMABLE, TERMINAL, TargetStatus
from socialq.store.cell import quarantines
from socialq.store.central import alarms, cells, holds, index_rebuild, late_evidence

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from socialq.store.sessions import CellDatabases, Row
    from socialq.store.stores import Stores

log = structlog.get_logger(__name__)

_NIL: Final = UUID(int=0)
_BATCH: Final = 500
_ACTOR: Final = "quarantine"
_STOP_REASON: Final = (
    "its database was restored; what may have been sent since is looked for (cell release ends this)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """What a quarantine came to."""

    cell: str
    since: datetime
    """From when on what was sent is not known."""
    tenants: int
    doubted: int
    """Targets that may have been sent since, and are looked for."""
    changed: tuple[UUID, ...]
    """Targets whose later changes are lost, as the index knows: they rest, so that a person may look at them."""
    lost: int
    """Targets that the index knows and the cell does not: planned after the recovery point."""


@dataclass(slots=True, kw_only=True)
class _Ahead:
    """What the index knows that the cell has lost."""

    by_tenant: dict[UUID, list[UUID]] = field(default_factory=dict)
    resting: dict[UUID, list[UUID]] = field(default_factory=dict)
    """Of each tenant: targets at rest whose last change is lost. A person may have sent them since."""
    changed: list[UUID] = field(default_factory=list)
    lost: int = 0

    def compare(self, mirrored: Row, target: Row | None) -> None:
        """Note a target that is gone, or behind its row in the index."""
        if target is None:
            self.lost += 1
        elif mirrored["seq"] > target["seq"]:
            status = TargetStatus(target["status"])
            if status in CLAIMABLE:
                self.by_tenant.setdefault(target["tenant_id"], []).append(mirrored["target_id"])
            elif status not in TERMINAL:
                self.changed.append(mirrored["target_id"])
                self.resting.setdefault(target["tenant_id"], []).append(mirrored["target_id"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Checks, quarantines and releases cells. Any number may check at once."""

    stores: Stores
    rebuild: Callable[[str], int]
    """Mirrors a cell's next work anew."""
    first_look_seconds: float

    def check(self, cell: str) -> Quarantined | None:
        """Quarantine a cell whose database is not what it was; None: it is."""
        # What was noted first: the count only grows, so a check that was noted meanwhile proves nothing.
        last = cells.position(self.stores.central, cell)
        place = quarantines.place(self.stores.cell(cell).machine)
        gone_back = last is not None and place.position < last
        if place.moved or gone_back:
            log.error("cell_restored", cell=cell, moved=place.moved, gone_back=gone_back)
            return self.quarantine(cell, everybody=gone_back)
        if last is None or place.position > last:
            cells.note_position(self.stores.central, cell, position=place.position)
        return None

    def quarantine(self, cell: str, *, since: datetime | None = None, everybody: bool = True) -> Quarantined:
        """Stop a cell's tenants and doubt what may have been sent since the recovery point.

        `since` (aware): not after the recovery point; without it the last change that the database knows of.
        """
        databases = self.stores.cell(cell)
        recovered_to = since or quarantines.last_known(databases.machine)
        tenants = quarantines.stop(databases.machine, reason=_STOP_REASON, everybody=everybody)
        self._hold(cell, tenants)
        ahead = self._what_the_index_knows(cell)
        doubted = sum(
            self._doubt(databases, tenant, ahead.by_tenant.get(tenant, []), since=recovered_to)
            for tenant in tenants
        ) + sum(
            self._doubt_resting(databases, tenant, ids, since=recovered_to)
            for tenant, ids in ahead.resting.items()
        )
        with self.stores.central.transaction(actor=_ACTOR) as session:
            late_evidence.apply_again(session, cell=cell, since=recovered_to)
            index_rebuild.forget_cell(session, cell)
        self.rebuild(cell)
        place = quarantines.place(databases.machine)
        cells.note_position(self.stores.central, cell, position=place.position, after_restore=True)
        quarantines.complete(databases.machine, tenants)
        done = Quarantined(
            cell=cell,
            since=recovered_to,
            tenants=len(tenants),
            doubted=doubted,
            changed=tuple(ahead.changed),
            lost=ahead.lost,
        )
        self._tell(done)
        return done

    def release(self, cell: str, *, tenant: UUID | None = None) -> list[UUID]:
        """Let a cell's tenants publish again, or one of them; returns who was released."""
        machine = self.stores.cell(cell).machine
        released = quarantines.release(machine, tenant=tenant)
        keys = [str(one) for one in released]
        holds.lift_many(
            self.stores.central, scope="tenant", keys=keys, actor=_ACTOR, source="stopped", cell=cell
        )
        if not quarantines.stopped(machine):
            alarms.clear(self.stores.central, key=f"quarantine:{cell}")
        log.warning("cell_released", cell=cell, tenants=len(released))
        return released

    def _hold(self, cell: str, tenants: list[UUID]) -> None:
        holds.set_many(
            self.stores.central,
            scope="tenant",
            keys=[str(tenant) for tenant in tenants],
            until=holds.ENDLESS,
            reason="the tenant is stopped",
            set_by=_ACTOR,
            source="stopped",
            cell=cell,
        )

    def _what_the_index_knows(self, cell: str) -> _Ahead:
        """Compare the index, if it was not restored with the cell, with what the cell knows."""
        machine = self.stores.cell(cell).machine
        found, after = _Ahead(), (_NIL, "")
        while page := self._page(cell, after):
            known = {
                row["id"]: row for row in quarantines.seqs_of(machine, [one["target_id"] for one in page])
            }
            for one in page:
                if one["lane"] == "main":
                    found.compare(one, known.get(one["target_id"]))
            after = (page[-1]["target_id"], page[-1]["lane"])
        return found

    def _page(self, cell: str, after: tuple[UUID, str]) -> list[Row]:
        with self.stores.central.transaction(actor=_ACTOR) as session:
            return index_rebuild.rows_of_cell(session, cell=cell, after=after, limit=_BATCH, out_too=True)

    def _doubt(self, databases: CellDatabases, tenant: UUID, ahead: list[UUID], *, since: datetime) -> int:
        detail = f"its database was restored to {since:%Y-%m-%d %H:%M} UTC; it may have been sent since"
        total = 0
        while True:
            with databases.app.transaction(tenant=tenant, actor=_ACTOR) as session:
                ids = [row["id"] for row in quarantines.doubtful(session, ahead=ahead, limit=_BATCH)]
                if not ids:
                    return total
                total += quarantines.doubt(
                    session, ids, since=since, first_look_seconds=self.first_look_seconds, detail=detail
                )

    def _doubt_resting(
        self, databases: CellDatabases, tenant: UUID, ids: list[UUID], *, since: datetime
    ) -> int:
        detail = (
            f"its database was restored to {since:%Y-%m-%d %H:%M} UTC, and it was changed after that: it may be live;"
            " look at the account before you send it"
        )
        with databases.app.transaction(tenant=tenant, actor=_ACTOR) as session:
            return quarantines.doubt_resting(session, ids, since=since, detail=detail)

    def _tell(self, done: Quarantined) -> None:
        message = (
            f"cell {done.cell} was restored to {done.since:%Y-%m-%d %H:%M} UTC: {done.tenants} tenants are stopped,"
            f" {done.doubted} posts that may have been sent since are looked for,"
            f" {len(done.changed) + done.lost} changes are lost; `socialq cell release {done.cell}` lets them publish"
            " again"
        )
        log.error("alarm", key=f"quarantine:{done.cell}", message=message)
        alarms.raise_alarm(self.stores.central, key=f"quarantine:{done.cell}", message=message)
