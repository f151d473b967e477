"""Who keeps vacuum from removing old row versions of a cell's database: read through a function of its owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.store.sessions import Database

_HOLDERS: Final = "SELECT kind, name, seconds, xmin_position FROM cell.vacuum_holders()"
_SAMPLE: Final = """
SELECT clock_timestamp() AS at, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS position
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class VacuumHolder:
    """A transaction, a prepared transaction or a replication slot."""

    kind: str
    name: str
    seconds: float | None
    """Since it began; None for what has no clock."""
    xmin_position: int | None
    """The oldest transaction it keeps, as a place in the count of all transactions of the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Where the server's count of transactions stood at an instant, by its own clock."""

    at: datetime
    position: int


def read(machine: Database) -> tuple[list[VacuumHolder], Sample]:
    """Read the holders, and where the count of transactions stands."""
    holders, [sample] = machine.pipelined((_HOLDERS, {}), (_SAMPLE, {}))
    return [VacuumHolder(**row) for row in holders], Sample(**sample)
