"""`cells` (central): the databases that hold tenants' rows; the default one is the central database."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from socialq.store.sessions import Session


def names(session: Session) -> list[str]:
    """Name every cell."""
    return [row["name"] for row in session.all("SELECT name FROM central.cells ORDER BY name")]
