"""`socialq account add|list`."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import click

from socialq.cli.accounts.connecting import connect
from socialq.cli.accounts.credentials import Credentials, connected, may_be_private, signed_in
from socialq.cli.accounts.in_sandbox import credentials_of, made_in_sandbox
from socialq.cli.client import tenant_option
from socialq.cli.opening import actor, opened
from socialq.cli.output import cell, json_option, print_json, show, status, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.desk.connect import Account
    from socialq.wiring import Wiring


@click.group(name="account")
def command() -> None:
    """Channels of a brand."""


command.add_command(connect)


def _secret_file(name: str, help_text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(name, type=click.File(encoding="utf-8"), help=help_text)


@command.command("add")
@tenant_option
@click.option("--client", required=True, help="Name or id of the brand.")
@click.option("--sandbox", metavar="NAME", help="Make this account in the running sandbox, and connect it.")
@click.option("--platform", default="mastodon", show_default=True)
@click.option("--base-url", help="The server's address, such as https://social.example")
@_secret_file("--token-file", "A file with the access token, or the app password; - for standard input.")
@click.option("--identifier", help="Who signs in, where that takes an app password (Bluesky): the handle.")
@_secret_file("--refresh-token-file", "A file with the refresh token, where the platform gives one.")
@click.option("--expires-in", type=click.IntRange(min=1), help="Seconds until the access token ends.")
@click.option("--client-id", help="The OAuth application's id; a refresh token needs it.")
@_secret_file("--client-secret-file", "A file with the application's secret; none for a public one.")
@json_option
def add(
    *,
    tenant: str,
    client: str,
    sandbox: str | None,
    platform: str,
    base_url: str | None,
    token_file: IO[str] | None,
    identifier: str | None,
    refresh_token_file: IO[str] | None,
    expires_in: int | None,
    client_id: str | None,
    client_secret_file: IO[str] | None,
    as_json: bool,
) -> None:
    """Connect an account: in the sandbox by name, elsewhere by the server's address and a token.

    A token is never taken from the command line, where other users of the machine could see it. An account that
    is known already gets the new tokens and keeps its posts.
    """
    from socialq.desk import clients, tenants

    if (sandbox is None) == (base_url is None or token_file is None):
        raise click.UsageError("give either --sandbox NAME, or both --base-url and --token-file")
    if client_secret_file is not None and client_id is None:
        raise click.UsageError("--client-secret-file: say whose secret it is, with --client-id")
    with opened(require=("database", "encryption_key")) as wiring:
        agency = tenants.find(wiring.stores, tenant)
        brand = clients.find(wiring.stores, tenant=agency.id, name_or_id=client)
        if sandbox is None:
            given = Credentials(
                base_url=str(base_url),
                token=_read(token_file) or "",
                refresh_token=_read(refresh_token_file),
                expires_in_seconds=expires_in,
                client_id=client_id,
                client_secret=_read(client_secret_file) or "",
            )
        else:
            made = made_in_sandbox(wiring.settings.sandbox_url, platform=platform, name=sandbox)
            given = credentials_of(made)
        private = may_be_private(wiring, in_sandbox=sandbox is not None)
        if identifier is not None:
            given = signed_in(wiring, given, platform=platform, identifier=identifier, private=private)
        account = connected(wiring, brand, given, platform=platform, private=private)
    if as_json:
        print_json(account)
    else:
        click.echo(f"Connected {account.name} for {brand.name} ({account.id}).")


@command.command("list")
@tenant_option
@json_option
def list_all(*, tenant: str, as_json: bool) -> None:
    """List an agency's accounts."""
    from socialq.desk import connect, tenants

    with opened() as wiring:
        agency = tenants.find(wiring.stores, tenant)
        found = connect.list_accounts(wiring.stores, tenant=agency.id)
    if as_json:
        print_json(found)
        return
    built = table("account", "status!", "why", "id!")
    for account in found:
        why = account.status_reason or account.flag_reason
        built.add_row(cell(account.name), status(account.status), cell(why), str(account.id))
    show(built, empty=f"{agency.name} has no account yet: `socialq account add` connects one.")


def _read(file: IO[str] | None) -> str | None:
    return None if file is None else file.read()


@command.command("disable")
@click.argument("name")
@tenant_option
@click.option("--reason", required=True, help="Why; for whoever switches it on again.")
def disable(*, name: str, tenant: str, reason: str) -> None:
    """Switch an account off: its posts wait until it is switched on again."""
    from socialq.desk import switching

    with opened() as wiring:
        account = _named(wiring, tenant=tenant, name=name)
        expiring = switching.disable(
            wiring.stores, tenant=account.tenant_id, account_id=account.id, reason=reason, actor=actor()
        )
    click.echo(f"Account {account.name} is switched off.")
    if expiring:
        click.echo(f"{expiring} of its posts expire unless it is switched on before.")


@command.command("enable")
@click.argument("name")
@tenant_option
def enable(*, name: str, tenant: str) -> None:
    """Switch an account on again: what is due goes out."""
    from socialq.desk import switching

    with opened() as wiring:
        account = _named(wiring, tenant=tenant, name=name)
        switching.enable(wiring.stores, tenant=account.tenant_id, account_id=account.id, actor=actor())
    click.echo(f"Account {account.name} is switched on.")


def _named(wiring: Wiring, *, tenant: str, name: str) -> Account:
    """Find the one account of that name or id."""
    from socialq.cli.naming import chosen_accounts
    from socialq.desk import connect, tenants

    agency = tenants.find(wiring.stores, tenant)
    chosen = chosen_accounts(connect.list_accounts(wiring.stores, tenant=agency.id), name)
    if len(chosen) != 1:
        raise click.UsageError("NAME is one account")
    return chosen[0]
