"""Agencies: adding, suspending, resuming, finding.

A tenant stands in two databases: centrally, and mirrored in its cell, where the claim checks it. The cell is
written first, so that whatever is known centrally is known in its cell; each call can be repeated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from socialq.desk.refusals import refusal, unknown
from socialq.domain.ids import new_id
from socialq.store.cell import tenant_state
from socialq.store.central import cells, holds, tenants
from socialq.store.stores import UnknownTenantError

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.store.sessions import CellDatabases, Row
    from socialq.store.stores import Stores

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_MOST_A_MONTH: Final = 2**31 - 1

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """An agency, as the central database knows it."""

    id: UUID
    name: str
    cell: str
    status: str
    suspended_at: datetime | None
    monthly_limit: int | None
    created_at: datetime


def add(
    stores: Stores, *, name: str, cell: str = "default", monthly_limit: int | None = None, actor: str
) -> Tenant:
    """Add a tenant to a cell. `monthly_limit` is posts published in a calendar month; None: no limit."""
    _check(name, monthly_limit)
    with stores.central.transaction(actor=actor) as session:
        known_cells = cells.names(session)
        taken = tenants.by_name(session, name)
    if cell not in known_cells:
        raise unknown("cell", cell, what="cell", known=known_cells)
    if taken is not None:
        raise _taken(name)
    tenant_id = new_id()
    # A name taken in between leaves a row in the cell that nothing refers to, and no harm.
    with stores.cell(cell).app.transaction(tenant=tenant_id, actor=actor) as session:
        tenant_state.insert(session, tenant_id=tenant_id, name=name, monthly_limit=monthly_limit)
    with stores.central.transaction(actor=actor) as session:
        row = tenants.insert(session, tenant_id=tenant_id, name=name, cell=cell, monthly_limit=monthly_limit)
    if row is None:
        raise _taken(name)
    return Tenant(**row)


def suspend(stores: Stores, *, tenant: UUID, reason: str, grace_hours: float = 24.0, actor: str) -> Tenant:
    """Suspend a tenant: its posts wait, and fail after the grace period. Repeating it changes nothing.

    A hold keeps them from being asked for until the grace is over; from then on each fails at its time.
    """
    if not reason.strip():
        raise refusal("reason", "", "there is no reason", "say why, for whoever resumes the tenant")
    with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
        since = tenant_state.suspend(session, tenant)
    if since is None:
        raise unknown("tenant", tenant, what="tenant")
    with stores.central.transaction(actor=actor) as session:
        row = tenants.suspend(session, tenant, suspended_at=since)
    holds.set_hold(
        stores.central,
        scope="tenant",
        key=str(tenant),
        until=since + timedelta(hours=grace_hours),
        reason="the tenant is suspended",
        set_by=actor,
        source="suspended",
    )
    _log.warning("tenant.suspended", tenant=str(tenant), reason=reason.strip(), actor=actor)
    return _found(row, tenant)


def resume(stores: Stores, *, tenant: UUID, actor: str) -> Tenant:
    """Make a suspended tenant active: its waiting posts go out from now on. Repeating it changes nothing."""
    with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
        known = tenant_state.resume(session, tenant)
    if not known:
        raise unknown("tenant", tenant, what="tenant")
    with stores.central.transaction(actor=actor) as session:
        row = tenants.resume(session, tenant)
    holds.lift(stores.central, scope="tenant", key=str(tenant), actor=actor, sources=["suspended"])
    _log.info("tenant.resumed", tenant=str(tenant), actor=actor)
    return _found(row, tenant)


def set_limit(stores: Stores, *, tenant: UUID, monthly_limit: int | None, actor: str) -> Tenant:
    """Set how many posts a calendar month may bring; None: any. Posts that waited for a higher limit go out now."""
    _check_limit(monthly_limit)
    with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
        known = tenant_state.set_limit(session, tenant, monthly_limit=monthly_limit)
    if not known:
        raise unknown("tenant", tenant, what="tenant")
    with stores.central.transaction(actor=actor) as session:
        row = tenants.set_limit(session, tenant, monthly_limit=monthly_limit)
    # Should the new limit be used up too, the first post that is refused says so, for all.
    holds.lift(stores.central, scope="tenant", key=str(tenant), actor=actor, sources=["monthly_limit"])
    return _found(row, tenant)


def find(stores: Stores, name_or_id: str) -> Tenant:
    """Find a tenant by its name or its id."""
    text = name_or_id.strip()
    with stores.central.transaction() as session:
        tenant_id = as_id(text)
        row = tenants.by_name(session, text) or (tenants.by_id(session, tenant_id) if tenant_id else None)
    if row is None:
        # The names of other agencies are nobody's business.
        raise unknown("tenant", name_or_id, what="tenant")
    return Tenant(**row)


def list_all(stores: Stores) -> list[Tenant]:
    """List every tenant, by name."""
    with stores.central.transaction() as session:
        return [Tenant(**row) for row in tenants.list_all(session)]


def cell_of(stores: Stores, tenant: UUID) -> CellDatabases:
    """Give the databases of a tenant's cell, or refuse the tenant."""
    try:
        return stores.cell_of(tenant)
    except UnknownTenantError:
        raise unknown("tenant", tenant, what="tenant") from None


def as_id(text: str) -> UUID | None:
    """Read a text as an id; None where it is none, and so must be a name."""
    try:
        return UUID(text)
    except ValueError:
        return None


def _check(name: str, monthly_limit: int | None) -> None:
    if not _NAME.fullmatch(name):
        way_out = "take a to z, 0 to 9, - and _, 63 at most, beginning with a letter or digit"
        raise refusal("name", name, "is not a name for a tenant", way_out)
    _check_limit(monthly_limit)


def _check_limit(monthly_limit: int | None) -> None:
    if monthly_limit is not None and not 0 <= monthly_limit <= _MOST_A_MONTH:
        raise refusal("monthly_limit", monthly_limit, "is not a number of posts", "give 0 or more, or none")


def _taken(name: str) -> Exception:
    return refusal("name", name, "belongs to another tenant", "choose another name")


def _found(row: Row | None, tenant: UUID) -> Tenant:
    if row is None:
        raise unknown("tenant", tenant, what="tenant")
    return Tenant(**row)
