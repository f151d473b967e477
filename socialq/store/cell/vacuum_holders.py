"""Who keeps vacuum from removing old row versions of a cell's database: read through a function of its owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from socialq.store.sessions import Database

_HOLDERS: Final = "SELECT kind, name, seconds, xmin_position FROM cell.vacuum_holders()"
_POSITION: Final = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS position"


@dataclass(frozen=True, slots=True, kw_only=True)
class VacuumHolder:
    """A transaction, a prepared transaction or a replication slot."""

    kind: str
    name: str
    seconds: float | None
    """Since it began; None for what has no clock."""
    xmin_position: int | None
    """The oldest transaction it keeps, as a place in the count of all transactions of the server."""


def read(machine: Database) -> tuple[list[VacuumHolder], int]:
    """Read the holders, and how many transactions the server has begun so far."""
    holders, [position] = machine.pipelined((_HOLDERS, {}), (_POSITION, {}))
    return [VacuumHolder(**row) for row in holders], int(position["position"])
