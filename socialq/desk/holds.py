"""Holds by people: nothing is sent on an account, through an app, on a platform, of a cell or of a tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from socialq.desk import tenants
from socialq.desk.refusals import refusal, unknown
from socialq.providers.registry import ADAPTERS
from socialq.store.central import alarms, holds
from socialq.store.central.holds import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from socialq.desk.connect import Account
    from socialq.desk.tenants import Tenant
    from socialq.store.sessions import Row
    from socialq.store.stores import Stores

SCOPES: tuple[str, ...] = get_args(Scope)
_BY_ID = frozenset({"account", "app", "tenant"})
_LIFTABLE = holds.ALL_SOURCES - holds.STATES
_SAID_OTHERWISE = frozenset({"suspended", "disabled"})
_NOT_ACTIVE = {
    "needs_reconnect": "needs to be connected again (account add) before anything goes out",
    "disabled": "is switched off (account enable ends that)",
}
_WAYS_OUT = {
    "suspended": "resume the tenant (tenant resume)",
    "stopped": "release it (cell release)",
    "disabled": "switch the account on again (account enable)",
    "monthly_limit": "wait for the next month, or give the tenant a higher limit (tenant limit)",
}


def hold(
    stores: Stores, *, scope: Scope, key: str, until: datetime, reason: str, now: datetime, actor: str
) -> int:
    """Hold a scope until an instant; returns how many posts' publish-by times the hold outlasts.

    `key`: the id of an account, app or tenant, the name of a platform or cell.
    """
    key = _known_key(stores, scope, key)
    if until <= now:
        raise refusal("until", until.isoformat(), "is past", "give a time to come")
    if not reason.strip():
        raise refusal("reason", "", "there is no reason", "say why, for whoever lifts the hold")
    return holds.set_hold(
        stores.central, scope=scope, key=key, until=until, reason=reason.strip(), set_by=actor
    )


def out_already(stores: Stores, *, scope: Scope, key: str) -> int:
    """Count posts of a scope whose messages are with the workers: they may still go out."""
    return holds.out_already(stores.central, scope=scope, key=_known_key(stores, scope, key))


def lift(stores: Stores, *, scope: Scope, key: str, actor: str) -> None:
    """End a hold early: its posts go out at their own times, and those that are due go now.

    One that follows a state ends with that state: lifted alone, its posts would be refused one by one.
    """
    plain = _liftable(stores, scope, key)
    lifted = holds.lift(stores.central, scope=scope, key=plain, actor=actor, sources=_LIFTABLE)
    left = holds.of(stores.central, scope=scope, key=plain)
    if lifted:
        # Whoever lifts it knows of it. Should the platform refuse us again, that is told again.
        alarms.clear(stores.central, key=f"ours:{scope}:{plain}")
    if lifted and not left:
        return
    if not left:
        raise refusal("hold", f"{scope} {key}", "there is no such hold", "list holds to see those there are")
    problem = (
        f"is still held, because {left[0]['reason']}" if lifted else f"is held because {left[0]['reason']}"
    )
    raise refusal("hold", f"{scope} {key}", problem, _WAYS_OUT[left[0]["source"]])


def list_all(stores: Stores) -> list[Row]:
    """List the holds that have not ended, those that end first above."""
    with stores.central.transaction() as session:
        return holds.current(session)


def keeps_back(stores: Stores, *, tenant: Tenant, accounts: Sequence[Account], due: datetime) -> list[str]:
    """Say what keeps posts of a tenant on accounts from going out at their time, a sentence each.

    Nothing is refused for it: what keeps them may end before.
    """
    said = [
        f"{account.name} {_NOT_ACTIVE[account.status]}" for account in accounts if account.status != "active"
    ]
    if tenant.status == "suspended":
        said.append(f"the agency {tenant.name} is suspended: its posts wait, and fail when the grace is over")
    names = {("tenant", str(tenant.id)): tenant.name, ("cell", tenant.cell): f"the cell {tenant.cell}"}
    for account in accounts:
        names["account", str(account.id)] = account.name
        names["app", str(account.provider_app_id)] = f"the application of {account.name}"
        names["platform", account.platform] = account.platform
    for row in list_all(stores):
        name = names.get((row["scope"], row["key"]))
        if name is not None and row["until"] > due and row["source"] not in _SAID_OTHERWISE:
            until = "it is lifted" if row["until"] >= holds.ENDLESS else f"{row['until']:%Y-%m-%d %H:%M} UTC"
            said.append(f"{name} is held until {until} ({row['reason']})")
    return said


def _known_key(stores: Stores, scope: Scope, key: str) -> str:
    """Refuse a key that can hold nothing: people would believe that something is held."""
    if scope == "tenant":
        return str(tenants.find(stores, key).id)
    plain = _plain(scope, key)
    if scope in _BY_ID and tenants.as_id(plain) is None:
        raise refusal("key", key, "is not an id", f"give the {scope}'s id, as its list shows it")
    if scope == "platform" and plain not in ADAPTERS:
        raise unknown("key", key, what="platform", known=sorted(ADAPTERS))
    if scope == "cell" and plain not in (known := stores.cell_names()):
        raise unknown("key", key, what="cell", known=known)
    return plain


def _plain(scope: Scope, key: str) -> str:
    """Spell an id as the index does; it may be written in capitals."""
    text = key.strip()
    known = tenants.as_id(text) if scope in _BY_ID else None
    return text if known is None else str(known)


def _liftable(stores: Stores, scope: Scope, key: str) -> str:
    """Spell the key of a hold that is there, even of a platform or a cell that is no more."""
    if scope == "tenant" and tenants.as_id(key.strip()) is None:
        return str(tenants.find(stores, key).id)
    return _plain(scope, key)
