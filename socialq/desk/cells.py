"""Cells: adding a database for tenants, and moving a tenant that has nothing yet.

A cell is a database with the cell schema. Its address is kept encrypted; it is tried before it is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import psycopg

from socialq.desk.refusals import refusal, unknown
from socialq.desk.tenants import Tenant
from socialq.store import migrate
from socialq.store.cell import tenant_state
from socialq.store.central import cells, tenants

if TYPE_CHECKING:
    from socialq.store.stores import Stores
    from socialq.vault import Vault

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_WAY_OUT: Final = "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE of a database that exists"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A database for tenants."""

    name: str
    tenants: int
    own_database: bool
    """False: the central database itself."""


def add(stores: Stores, vault: Vault, *, name: str, database_url: str, actor: str) -> tuple[Cell, list[str]]:
    """Bring the database at `database_url` up to date and add it as a cell; returns it and what was applied."""
    if not _NAME.fullmatch(name):
        way_out = "take a to z, 0 to 9, - and _, 40 at most, beginning with a letter"
        raise refusal("name", name, "is not a name for a cell", way_out)
    with stores.central.transaction(actor=actor) as session:
        if name in cells.names(session):
            raise refusal("name", name, "belongs to another cell", "choose another name")
    applied = _upgrade(database_url)
    sealed = vault.encrypt(database_url, tenant_id=None, table="cells", row_id=name, field="database_url")
    with stores.central.transaction(actor=actor) as session:
        if not cells.insert(session, name=name, database_url=sealed):
            raise refusal("name", name, "belongs to another cell", "choose another name")
    return Cell(name=name, tenants=0, own_database=True), applied


def list_all(stores: Stores) -> list[Cell]:
    """List every cell with how many tenants it has."""
    with stores.central.transaction() as session:
        return [Cell(**row) for row in cells.with_counts(session)]


def move_tenant(stores: Stores, *, tenant: Tenant, cell: str, actor: str) -> Tenant:
    """Move a tenant that has nothing yet to another cell; one with content is refused."""
    with stores.central.transaction(actor=actor) as session:
        known = cells.names(session)
    if cell not in known:
        raise unknown("cell", cell, what="cell", known=known)
    if cell == tenant.cell:
        return tenant
    # First out of the old cell: its foreign keys say, once and for all, whether there is something left in it.
    # Whatever stops this half-way is mended by asking for the same move again.
    _leave(stores, tenant, actor=actor)
    with stores.cell(cell).app.transaction(tenant=tenant.id, actor=actor) as session:
        tenant_state.insert(
            session, tenant_id=tenant.id, name=tenant.name, monthly_limit=tenant.monthly_limit
        )
        if tenant.status == "suspended":
            tenant_state.suspend(session, tenant.id)
    with stores.central.transaction(actor=actor) as session:
        row = tenants.move(session, tenant.id, source=tenant.cell, to=cell)
    if row is None:
        raise refusal("tenant", tenant.name, "was moved by somebody else meanwhile", "look at it again")
    stores.forget_tenant(tenant.id)
    return Tenant(**row)


def _leave(stores: Stores, tenant: Tenant, *, actor: str) -> None:
    try:
        with stores.cell(tenant.cell).app.transaction(tenant=tenant.id, actor=actor) as session:
            tenant_state.delete(session, tenant.id)
    except psycopg.errors.ForeignKeyViolation:
        problem = f"has clients in cell {tenant.cell} already; only an empty tenant can be moved"
        raise refusal("tenant", tenant.name, problem, "add a new tenant in the other cell") from None


def _upgrade(database_url: str) -> list[str]:
    try:
        with psycopg.connect(database_url, connect_timeout=5):
            pass
        return migrate.upgrade(database_url, lines=("cell",))
    except (psycopg.Error, ValueError) as error:
        # The error's text may repeat the address, and with it the password.
        problem = f"can't be used ({type(error).__name__})"
        raise refusal("database_url", "", problem, _WAY_OUT) from None
