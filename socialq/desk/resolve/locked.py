"""What every decision does with a target whose row it has locked.

A locked target arrives; its account's row, or the target as moved, leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.store.cell import accounts

if TYPE_CHECKING:
    from socialq.domain.targets import Target
    from socialq.store.sessions import Row, Session


def account_of(session: Session, target: Target) -> Row:
    """Return the row of a target's account."""
    (account,) = accounts.by_ids(session, [target.account_id])
    return account


def applied(moved: Target | None) -> Target:
    """Return the moved target; its row was locked, so nobody can have changed it."""
    if moved is None:
        raise AssertionError("a locked target changed under its lock")
    return moved
