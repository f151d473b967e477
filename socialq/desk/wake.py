"""Wakes the relay when something is due at once, instead of at its next scan.

Called after the commit, in a transaction of its own: inside a larger one a notification makes commits wait
for each other.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import psycopg
from sqlalchemy.exc import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from socialq.domain.targets import Target
    from socialq.store.sessions import CellDatabases

CHANNEL: Final = "socialq_outbox"

SOON: Final = timedelta(seconds=10)
"""Two ticks: what is due later is found by the relay's next scan, in time."""


def wake_relay(cell: CellDatabases, targets: Iterable[Target], *, now: datetime) -> None:
    """Notify the cell's relay if any of `targets` is due within two ticks of `now` (aware)."""
    due = [target.next_at for target in targets if target.next_at is not None]
    if not due or min(due) > now + SOON:
        return
    try:
        cell.app.notify(CHANNEL)
    except (psycopg.Error, SQLAlchemyError):
        # The change is committed, and the relay finds it by its scan. Failing here would tell a person that
        # nothing was done.
        return
