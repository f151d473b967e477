"""A person takes their consent back at the platform, or wants their data deleted: the platform tells it here.

Arrives: the id of an application and a request that the platform has signed with that application's secret. Leaves:
accounts that wait to be connected again, their tokens gone if that was asked for, and a code by which the person
can see that it was done. What must stay true: nothing is done for a request that no known application's secret has
signed; an account that was connected anew since is left alone; what an agency has written and published is its own
and stays; nothing that is kept of a deletion says who asked for it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import structlog

from socialq.desk import apps
from socialq.providers.graph.signed_request import SignedRequest, read_signed_request
from socialq.store.cell import accounts
from socialq.store.central import alarms, deletions, provider_apps

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import Row
    from socialq.store.stores import Stores
    from socialq.vault import Vault

_ACTOR: Final = "platform"
_WITHDRAWN: Final = "the person who connected it has removed the application there"
_NO_TOKEN: Final = "deleted"  # noqa: S105 - what stands in the place of a token

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A deletion that was asked for, and done."""

    code: str
    requested_at: datetime
    done_at: datetime
    accounts: int


def deauthorise(stores: Stores, vault: Vault, *, client_id: str, signed: str) -> int | None:
    """Mark what a person has granted to an application; returns how many accounts, None for a forged request."""
    found = _signed_by(stores, vault, client_id=client_id, signed=signed)
    if found is None:
        return None
    request, app_ids = found
    return sum(1 for _ in _withdrawn(stores, request, app_ids))


def delete_data(stores: Stores, vault: Vault, *, client_id: str, signed: str) -> Deletion | None:
    """Do the same, and delete the tokens and what is known of the person; None for a forged request.

    Raises where a database can't be reached; asked again, it is done again.
    """
    found = _signed_by(stores, vault, client_id=client_id, signed=signed)
    if found is None:
        return None
    request, app_ids = found
    count = 0
    for account in _withdrawn(stores, request, app_ids):
        _forget(stores, vault, account, before=request.issued_at)
        count += 1
    row = deletions.insert(
        stores.central,
        code=secrets.token_urlsafe(16),
        client_id=client_id,
        requested_at=request.issued_at,
        accounts=count,
    )
    return Deletion(**row)


def deletion(stores: Stores, code: str) -> Deletion | None:
    """Say what became of a deletion."""
    row = deletions.read(stores.central, code)
    return None if row is None else Deletion(**row)


def _signed_by(
    stores: Stores, vault: Vault, *, client_id: str, signed: str
) -> tuple[SignedRequest, list[UUID]] | None:
    """Read a request, and say which of the applications with this id have signed it: agencies may have their own."""
    request: SignedRequest | None = None
    app_ids: list[UUID] = []
    for row in provider_apps.with_client_id(stores.central, client_id):
        secret = apps.credentials_of(vault, row).client_secret
        found = read_signed_request(signed, client_secret=secret) if secret else None
        if found is not None:
            request = found
            app_ids.append(row["id"])
    return None if request is None else (request, app_ids)


def _withdrawn(stores: Stores, request: SignedRequest, app_ids: list[UUID]) -> Iterator[Row]:
    """Mark the person's accounts in every cell, each in its own tenant's transaction, and tell their owners."""
    before = request.issued_at
    for name in stores.cell_names():
        cell = stores.cell(name)
        granted = accounts.granted_by(cell.machine, app_ids=app_ids, user_id=request.user_id)
        for tenant_id, account_id in granted:
            with cell.app.transaction(tenant=tenant_id, actor=_ACTOR) as session:
                row = accounts.withdraw(session, account_id, before=before, reason=_WITHDRAWN)
            if row is not None:
                _tell_owner(stores, row)
                yield row


def _tell_owner(stores: Stores, account: Row) -> None:
    log.warning("account_needs_reconnect", account=str(account["id"]), reason="deauthorised")
    message = f"{account['platform']}:{account['handle']} must be connected again, its posts wait for it: {_WITHDRAWN}"
    alarms.raise_alarm(
        stores.central, key=f"account:{account['id']}", message=message, tenant_id=account["tenant_id"]
    )


def _forget(stores: Stores, vault: Vault, account: Row, *, before: datetime) -> None:
    place: dict[str, Any] = {
        "tenant_id": account["tenant_id"],
        "table": "accounts",
        "row_id": account["id"],
    }
    token = vault.encrypt(_NO_TOKEN, **place, field="access_token")
    cell = stores.cell_of(account["tenant_id"])
    with cell.app.transaction(tenant=account["tenant_id"], actor=_ACTOR) as session:
        accounts.forget_person(session, account["id"], access_token=token, before=before)
