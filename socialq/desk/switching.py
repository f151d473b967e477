"""Switching an account off and on again: its posts wait meanwhile, and nothing asks for them.

The cell is written first, as the claim reads it there; then the hold that keeps the account's rows from being picked.
Each call can be repeated, and what a crash leaves between the two is put right by the audit of holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from socialq.desk.refusals import refusal, unknown
from socialq.desk.tenants import cell_of
from socialq.store.cell import accounts
from socialq.store.central import holds

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.sessions import Row
    from socialq.store.stores import Stores

_LONGEST_REASON: Final = 500


def disable(stores: Stores, *, tenant: UUID, account_id: UUID, reason: str, actor: str) -> int:
    """Switch an account off; returns how many of its posts are going to expire unless it is switched on again."""
    why = reason.strip()[:_LONGEST_REASON]
    if not why:
        raise refusal("reason", "", "there is no reason", "say why, for whoever switches it on again")
    _switch(
        stores,
        tenant=tenant,
        account_id=account_id,
        status="disabled",
        reason=why,
        sources=("active", "needs_reconnect", "disabled"),
        actor=actor,
    )
    return holds.set_hold(
        stores.central,
        scope="account",
        key=str(account_id),
        until=holds.ENDLESS,
        reason="the account is switched off",
        set_by=actor,
        source="disabled",
    )


def enable(stores: Stores, *, tenant: UUID, account_id: UUID, actor: str) -> None:
    """Switch an account on: its posts go out at their own times, and those that are due go now."""
    _switch(
        stores,
        tenant=tenant,
        account_id=account_id,
        status="active",
        reason=None,
        sources=("active", "disabled"),
        actor=actor,
    )
    holds.lift(stores.central, scope="account", key=str(account_id), actor=actor, sources=["disabled"])


def _switch(
    stores: Stores,
    *,
    tenant: UUID,
    account_id: UUID,
    status: str,
    reason: str | None,
    sources: tuple[str, ...],
    actor: str,
) -> Row:
    with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
        row = accounts.switch(session, account_id, status=status, reason=reason, sources=sources)
        known = accounts.by_ids(session, [account_id])
    if row is not None:
        return row
    if not known:
        raise unknown("account", account_id, what="account")
    raise refusal("account", account_id, f"is {known[0]['status']}", "connect it again (account add)")
