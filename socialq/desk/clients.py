"""Clients: the brands an agency works for, each in its time zone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import psycopg

from socialq.desk.refusals import refusal, unknown
from socialq.desk.tenants import as_id, cell_of
from socialq.domain.ids import new_id
from socialq.domain.text import BadText, clean_text
from socialq.domain.zones import known_zone
from socialq.store.cell import clients

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from socialq.store.stores import Stores

_LONGEST_NAME: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A brand."""

    tenant_id: UUID
    id: UUID
    name: str
    time_zone: str
    """IANA name: times written without a zone are read in it."""
    created_at: datetime


def add(stores: Stores, *, tenant: UUID, name: str, time_zone: str, actor: str) -> Client:
    """Add a client to a tenant."""
    plain = _checked_name(name)
    zone = known_zone(time_zone, field="time_zone")
    for _attempt in (1, 2):
        try:
            with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
                row = clients.insert(
                    session, tenant_id=tenant, client_id=new_id(), name=plain, time_zone=zone
                )
        except psycopg.errors.ForeignKeyViolation:
            # The tenant has left this cell for another one since its place was looked up.
            stores.forget_tenant(tenant)
            continue
        if row is None:
            raise refusal("name", plain, "belongs to another client of this tenant", "choose another name")
        return Client(**row)
    raise refusal("tenant", tenant, "is being moved to another cell", "try again in a moment")


def find(stores: Stores, *, tenant: UUID, name_or_id: str) -> Client:
    """Find a tenant's client by its name or its id."""
    text = name_or_id.strip()
    with cell_of(stores, tenant).app.transaction(tenant=tenant) as session:
        client_id = as_id(text)
        row = clients.by_name(session, text) or (clients.by_id(session, client_id) if client_id else None)
        known = [] if row else clients.names(session)
    if row is None:
        raise unknown("client", name_or_id, what="client", known=known)
    return Client(**row)


def _checked_name(name: str) -> str:
    try:
        plain = clean_text(name).strip()
    except BadText as error:
        raise refusal("name", name, "has characters that nobody can see", "write it again") from error
    if not plain or "\n" in plain or len(plain) > _LONGEST_NAME:
        way_out = f"give one line of 1 to {_LONGEST_NAME} characters"
        raise refusal("name", name, "is not a name for a client", way_out)
    return plain
