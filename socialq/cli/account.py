"""`socialq account add|list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from socialq.cli.client import tenant_option
from socialq.cli.failures import Failure
from socialq.cli.opening import actor, opened
from socialq.cli.output import cell, json_option, print_json, show, status, table

if TYPE_CHECKING:
    from socialq.wiring import Wiring


@click.group(name="account")
def command() -> None:
    """Channels of a brand."""


@command.command("add")
@tenant_option
@click.option("--client", required=True, help="Name or id of the brand.")
@click.option("--sandbox", metavar="NAME", help="Make this account in the running sandbox, and connect it.")
@click.option("--platform", default="mastodon", show_default=True)
@click.option("--base-url", help="The server's address, such as https://social.example")
@click.option(
    "--token-file",
    type=click.File(encoding="utf-8"),
    help="A file with the access token; - for standard input.",
)
@json_option
def add(
    *,
    tenant: str,
    client: str,
    sandbox: str | None,
    platform: str,
    base_url: str | None,
    token_file: Any,
    as_json: bool,
) -> None:
    """Connect an account: in the sandbox by name, elsewhere by the server's address and a token.

    A token is never taken from the command line, where other users of the machine could see it. An account that
    is known already gets the new token and keeps its posts.
    """
    from socialq.desk import clients, connect, tenants

    if (sandbox is None) == (base_url is None or token_file is None):
        raise click.UsageError("give either --sandbox NAME, or both --base-url and --token-file")
    with opened(require=("database", "encryption_key")) as wiring:
        agency = tenants.find(wiring.stores, tenant)
        brand = clients.find(wiring.stores, tenant=agency.id, name_or_id=client)
        if sandbox is not None:
            made = made_in_sandbox(wiring.settings.sandbox_url, platform=platform, name=sandbox)
            base_url, token = made["base_url"], made["access_token"]
        else:
            token = token_file.read()
        account = connect.add_account(
            wiring.stores,
            wiring.vault,
            wiring.http,
            tenant=agency.id,
            client=brand.id,
            platform=platform,
            base_url=str(base_url),
            token=token,
            actor=actor(),
            allow_private_addresses=_may_be_private(wiring, in_sandbox=sandbox is not None),
        )
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


def made_in_sandbox(url: str, *, platform: str, name: str) -> dict[str, Any]:
    """Make an account in the sandbox, or take the one it has; returns its base_url and access_token."""
    import requests

    if not url:
        raise Failure(
            "Error: no sandbox is known: start `socialq up --sandbox`, or `socialq sandbox` and set"
            " SOCIALQ_SANDBOX_URL to its address"
        )
    try:
        answer = requests.post(f"{url}/_accounts", json={"platform": platform, "account": name}, timeout=5)
        content = answer.json()
    except (requests.RequestException, ValueError):
        raise Failure(f"Error: the sandbox at {url} does not answer: is it running?") from None
    if answer.status_code != 200:
        raise Failure(f"Error: the sandbox refuses: {content.get('error', answer.status_code)}")
    return dict(content)


def _may_be_private(wiring: Wiring, *, in_sandbox: bool) -> bool:
    """Say whether this account's address may be on a private network."""
    allowed = wiring.settings.allow_private_addresses
    if in_sandbox and not allowed:
        raise Failure(
            "Error: the sandbox is on a private address, and calling those is not allowed: set"
            " SOCIALQ_ALLOW_PRIVATE_ADDRESSES=true, here and for the workers (`socialq up --sandbox` does)"
        )
    return allowed
