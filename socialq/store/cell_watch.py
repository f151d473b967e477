"""Notices a cell that is down, so that it stalls only itself.

A cell whose relay can't reach it gets a hold of scope `cell`: nothing of it is dispatched, so nothing of it takes
a worker's slot or a place in the queue. The relay keeps asking with every tick, and lifts the hold itself.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from socialq.store.central import alarms, holds
from socialq.store.patience import PASSING

if TYPE_CHECKING:
    from socialq.store.stores import Stores

log = structlog.get_logger(__name__)

_HELD_FOR: Final = timedelta(seconds=60)
_HOLD_AGAIN_SECONDS: Final = 30.0
_REASON: Final = "cell_down"
_ASK_CENTRAL_AGAIN_SECONDS: Final = 5.0


class CellWatch:
    """Holds and frees cells by what their relays meet."""

    def __init__(self, stores: Stores) -> None:
        """Keep holds and alarms in the central database of `stores`."""
        self._stores = stores
        self._central = stores.central
        self._held_at: dict[str, float] = {}
        self._asked_at: dict[str, float] = {}

    def lost(self, cell: str, error: Exception) -> None:
        """Hold a cell that can't be reached, for a minute at a time.

        A window also ends when the central database, a pool or a lock is in trouble: whether it is the cell is
        asked of the cell itself.
        """
        if self._answers(cell):
            log.warning("window_ended", cell=cell, error=type(error).__name__)
            return
        now = time.monotonic()
        if now - self._held_at.get(cell, -_HOLD_AGAIN_SECONDS) < _HOLD_AGAIN_SECONDS:
            return
        self._held_at[cell] = now
        log.error("cell_unreachable", cell=cell, error=type(error).__name__)
        until = holds.now(self._central) + _HELD_FOR
        holds.set_hold(
            self._central,
            scope="cell",
            key=cell,
            until=until,
            reason=_REASON,
            set_by="relay",
            source="cell_down",
        )
        message = f"the database of cell {cell} can't be reached; its posts wait, those of other cells go out"
        alarms.raise_alarm(self._central, key=f"cell:{cell}", message=message)

    def reached(self, cell: str) -> None:
        """Free a cell that was held because it could not be reached."""
        now = time.monotonic()
        if now - self._asked_at.get(cell, -_ASK_CENTRAL_AGAIN_SECONDS) < _ASK_CENTRAL_AGAIN_SECONDS:
            return
        self._asked_at[cell] = now
        if holds.lift(self._central, scope="cell", key=cell, actor="relay", sources=["cell_down"]):
            self._held_at.pop(cell, None)
            log.warning("cell_is_back", cell=cell)
        alarms.clear(self._central, key=f"cell:{cell}")

    def _answers(self, cell: str) -> bool:
        try:
            connection = self._stores.cell(cell).machine.connect()
        except PASSING:
            return False
        try:
            connection.execute("SELECT 1")
        except PASSING:
            return False
        finally:
            connection.close()
        return True
