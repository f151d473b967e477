"""Holds by people: nothing is sent on an account, through an app, on a platform, of a cell or of a tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from socialq.desk.refusals import refusal
from socialq.store.central import holds
from socialq.store.central.holds import Scope

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.store.sessions import Row
    from socialq.store.stores import Stores

SCOPES: tuple[str, ...] = get_args(Scope)


def hold(
    stores: Stores, *, scope: Scope, key: str, until: datetime, reason: str, now: datetime, actor: str
) -> int:
    """Hold a scope until an instant; returns how many posts' publish-by times the hold outlasts."""
    if until <= now:
        raise refusal("until", until.isoformat(), "is past", "give a time to come")
    if not reason.strip():
        raise refusal("reason", "", "there is no reason", "say why, for whoever lifts the hold")
    return holds.set_hold(
        stores.central, scope=scope, key=key, until=until, reason=reason.strip(), set_by=actor
    )


def lift(stores: Stores, *, scope: Scope, key: str, actor: str) -> None:
    """End a hold early: its posts go out at their own times, and those that are due go now."""
    if not holds.lift(stores.central, scope=scope, key=key, actor=actor):
        raise refusal("hold", f"{scope} {key}", "there is no such hold", "list holds to see those there are")


def list_all(stores: Stores) -> list[Row]:
    """List the holds that have not ended, those that end first above."""
    with stores.central.transaction() as session:
        return holds.current(session)
