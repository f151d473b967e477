"""`socialq account connect` where a person gives a name and an app password: there is no page to agree on.

Arrives: a platform, and who signs in, given or asked for. Leaves: a connected account. What must stay true: the
password is read from a file or typed unseen, never taken from the command line, and not kept.
"""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

import click

from socialq.cli.accounts.credentials import Credentials, connected, may_be_private, signed_in
from socialq.cli.naming import chosen_accounts

if TYPE_CHECKING:
    from socialq.desk.connect import Account
    from socialq.providers.base import Adapter
    from socialq.wiring import Wiring


def connect_by_password(
    wiring: Wiring,
    adapter: Adapter,
    *,
    tenant: str,
    client: str | None,
    account: str | None,
    base_url: str | None,
    sandbox: bool,
    identifier: str | None,
    password_file: IO[str] | None,
) -> Account:
    """Sign in and connect; a known `account` is the only one that its new tokens may be for."""
    from socialq.desk import clients, connect, tenants

    agency = tenants.find(wiring.stores, tenant)
    known = _known(connect.list_accounts(wiring.stores, tenant=agency.id), account, adapter.platform)
    if known is None and client is None:
        raise click.UsageError("give --client for a new account, or --account for one that is known")
    brand = clients.find(
        wiring.stores, tenant=agency.id, name_or_id=client or str(known.client_id if known else "")
    )
    where = _address(wiring, adapter, base_url=base_url, sandbox=sandbox, known=known)
    who = _identifier(identifier, known=known)
    given = Credentials(base_url=where, token=_password(adapter, password_file))
    private = may_be_private(wiring, in_sandbox=sandbox)
    given = signed_in(wiring, given, platform=adapter.platform, identifier=who, private=private)
    if known is not None:
        _refuse_another(wiring, adapter, given, known)
    return connected(wiring, brand, given, platform=adapter.platform, private=private)


def _known(accounts: list[Account], name: str | None, platform: str) -> Account | None:
    if name is None:
        return None
    return chosen_accounts([one for one in accounts if one.platform == platform], name)[0]


def _address(
    wiring: Wiring, adapter: Adapter, *, base_url: str | None, sandbox: bool, known: Account | None
) -> str:
    """Return where to sign in."""
    if sandbox:
        return f"{wiring.settings.sandbox_url}/{adapter.platform}"
    where = base_url or (known.base_url if known else adapter.api_root)
    if not where:
        raise click.UsageError("--base-url: give the address of the server that the account is on")
    return where


def _identifier(given: str | None, *, known: Account | None) -> str:
    if given is not None:
        return given
    if known is not None:
        return known.handle
    if not sys.stdin.isatty():
        raise click.UsageError("--identifier: say who signs in")
    return str(click.prompt("Handle", err=True))


def _password(adapter: Adapter, file: IO[str] | None) -> str:
    if file is not None:
        return file.read()
    what = adapter.signs_in_with or "password"
    if not sys.stdin.isatty():
        raise click.UsageError(f"--token-file: give a file with the {what}; - for standard input")
    return str(click.prompt(what.capitalize(), hide_input=True, err=True))


def _refuse_another(wiring: Wiring, adapter: Adapter, given: Credentials, known: Account) -> None:
    """Refuse the sign-in of somebody else: a known account's queue is its own."""
    from socialq.desk.refusals import refusal
    from socialq.providers.base import Connection

    told = adapter.connect(wiring.http, base_url=given.base_url, token=given.token)
    if isinstance(told, Connection) and told.remote_user_id != known.remote_user_id:
        problem = f"is another account ({told.handle}), not {known.name}"
        raise refusal("identifier", told.handle, problem, "sign in as the one that is to be connected again")
