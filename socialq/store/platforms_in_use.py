"""Which platforms have accounts at all, asked once a minute."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

import structlog

from socialq.store.patience import PASSING

if TYPE_CHECKING:
    from socialq.store.stores import Stores

log = structlog.get_logger(__name__)

_ASK_AGAIN_SECONDS: Final = 60.0
_PLATFORMS = "SELECT DISTINCT platform FROM cell.accounts"


class PlatformsInUse:
    """Says whether accounts are on more than one platform. Where that can't be asked, they may be."""

    def __init__(self, stores: Stores) -> None:
        """Ask every cell of `stores`."""
        self._stores = stores
        self._lock = threading.Lock()
        self._asked_at = -_ASK_AGAIN_SECONDS
        self._several = True

    def several(self) -> bool:
        """Answer from what was known a minute ago at most; one thread asks, the others don't wait."""
        if time.monotonic() - self._asked_at >= _ASK_AGAIN_SECONDS and self._lock.acquire(blocking=False):
            try:
                self._asked_at = time.monotonic()
                self._several = len(self._platforms()) != 1
            except PASSING as error:
                log.warning("platforms_not_known", error=type(error).__name__)
                self._several = True
            finally:
                self._lock.release()
        return self._several

    def _platforms(self) -> set[str]:
        found: set[str] = set()
        for cell in self._stores.cell_names():
            with self._stores.cell(cell).machine.transaction(actor="worker") as session:
                found.update(row["platform"] for row in session.all(_PLATFORMS))
        return found
