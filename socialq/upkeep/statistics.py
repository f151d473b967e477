"""Gathers the planner's statistics of tables that have just grown, before autovacuum would.

Arrives: time, every few seconds. Leaves: tables analysed that more than half changed in. What must stay true: a
database that can't be reached keeps no other from its turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from socialq.store.patience import PASSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.store.sessions import Database
    from socialq.store.stores import Stores

log = structlog.get_logger(__name__)

_CELL: Final = "SELECT cell.gather_statistics() AS analysed"
_CENTRAL: Final = "SELECT central.gather_statistics() AS analysed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Looks at every database. Any number may run at once: ANALYZE waits for itself."""

    stores: Stores

    def gather(self) -> int:
        """Analyse what has grown; returns how many tables."""
        analysed = 0
        for name, database, statement in self._databases():
            try:
                [row] = database.autocommit(statement)
            except PASSING as error:
                log.warning("statistics_missed", database=name, error=type(error).__name__)
            else:
                analysed += int(row["analysed"])
        return analysed

    def _databases(self) -> Iterator[tuple[str, Database, str]]:
        yield "central", self.stores.central, _CENTRAL
        for cell in self.stores.cell_names():
            yield cell, self.stores.cell(cell).machine, _CELL
