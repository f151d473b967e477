"""Alarms when something holds vacuum back: an open transaction, a replication slot, a standby.

Arrives: time, once a minute. Leaves: an alarm for each cell whose database keeps old row versions for too long,
and its all-clear. What must stay true: a cell that can't be read neither raises nor clears anything, and keeps
no other from being checked; what has no clock is judged by where the count of transactions stood a while ago.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import structlog

from socialq.store.cell import vacuum_holders
from socialq.store.cell.vacuum_holders import Sample
from socialq.store.central import alarms, heartbeats
from socialq.store.patience import PASSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.store.cell.vacuum_holders import VacuumHolder
    from socialq.store.stores import Stores

log = structlog.get_logger(__name__)

_MOST_NAMED: Final = 3
_SAMPLES_KEPT: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class VacuumCheck:
    """Checks every cell. Any number may run at once."""

    stores: Stores
    held_seconds: float
    """How long vacuum may be held back before it alarms."""

    def check(self) -> dict[str, list[VacuumHolder]]:
        """Check every cell; returns who holds vacuum back for too long, by cell."""
        found: dict[str, list[VacuumHolder]] = {}
        for cell in self.stores.cell_names():
            try:
                found[cell] = self._check_cell(cell)
            except PASSING as error:
                log.warning("vacuum_check_missed", cell=cell, error=type(error).__name__)
        return found

    def _check_cell(self, cell: str) -> list[VacuumHolder]:
        holders, sample = vacuum_holders.read(self.stores.cell(cell).machine)
        samples = self._remember(cell, sample)
        held = held_too_long(holders, samples, now=sample.at, held_seconds=self.held_seconds)
        key = f"oldest_xmin:{cell}"
        if held:
            message = _message(cell, held, held_seconds=self.held_seconds)
            log.error("alarm", key=key, message=message)
            alarms.raise_alarm(self.stores.central, key=key, message=message)
        else:
            alarms.clear(self.stores.central, key=key)
        return held

    def _remember(self, cell: str, sample: Sample) -> list[Sample]:
        """Keep the sample with those of the last while, in the check's own heartbeat; returns all."""
        name = f"vacuum_check:{cell}"
        with self.stores.central.transaction(actor="upkeep") as session:
            detail: dict[str, Any] = heartbeats.detail_of(session, name) or {}
        known = [
            Sample(at=datetime.fromisoformat(at), position=int(position))
            for at, position in detail.get("samples", [])
        ]
        samples = with_sample(known, sample, held_seconds=self.held_seconds)
        kept = [[one.at.isoformat(), one.position] for one in samples]
        self.stores.central.pipelined(heartbeats.beat(name, {"samples": kept}))
        return samples


def held_too_long(
    holders: Sequence[VacuumHolder], samples: Sequence[Sample], *, now: datetime, held_seconds: float
) -> list[VacuumHolder]:
    """Pick the holders that have held vacuum back for longer than `held_seconds`.

    One without a clock has when it keeps a transaction that was over before a sample of that age was taken.
    """
    limit = now - timedelta(seconds=held_seconds)
    old = max((sample.position for sample in samples if sample.at <= limit), default=None)

    def too_long(holder: VacuumHolder) -> bool:
        if holder.seconds is not None:
            return holder.seconds > held_seconds
        return old is not None and holder.xmin_position is not None and holder.xmin_position < old

    return [holder for holder in holders if too_long(holder)]


def with_sample(known: Sequence[Sample], sample: Sample, *, held_seconds: float) -> list[Sample]:
    """Add a sample, unless the last one is as good; keep those of the last while and one before.

    That one before is what holders without a clock are compared with.
    """
    if known and sample.at - known[-1].at < timedelta(seconds=held_seconds / _SAMPLES_KEPT):
        return list(known)
    samples = [*known, sample]
    past = [one for one in samples if one.at <= sample.at - timedelta(seconds=held_seconds)]
    return samples[max(0, len(past) - 1) :]


def _message(cell: str, held: Sequence[VacuumHolder], *, held_seconds: float) -> str:
    named = ", ".join(
        f"{holder.kind} {holder.name}" + ("" if holder.seconds is None else f" for {holder.seconds:.0f} s")
        for holder in held[:_MOST_NAMED]
    )
    more = f" and {len(held) - _MOST_NAMED} more" if len(held) > _MOST_NAMED else ""
    return (
        f"cell {cell}: vacuum has been held back for more than {held_seconds:.0f} s by {named}{more};"
        " tables and indexes grow until it ends"
    )
