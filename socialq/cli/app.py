"""`socialq app add|list`."""

from __future__ import annotations

from typing import IO, Any

import click

from socialq.cli.opening import actor, opened
from socialq.cli.output import cell, json_option, print_json, show, table


@click.group(name="app")
def command() -> None:
    """OAuth applications that accounts are connected through."""


@command.command("add")
@click.argument("platform")
@click.option("--client-id", required=True, help="Its id, as the platform shows it.")
@click.option(
    "--client-secret-file",
    type=click.File(encoding="utf-8"),
    help="A file with its secret; - for standard input; none for a public application.",
)
@click.option("--base-url", help="The server's address; without it the platform's own.")
@click.option("--tenant", help="Name or id of the one agency that may use it; without it all may.")
@click.option("--name", default="", help="What people know it by.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="NAME",
    help="What the platform has approved it for, if not all that is asked for; repeat it.",
)
def add(
    *,
    platform: str,
    client_id: str,
    client_secret_file: IO[str] | None,
    base_url: str | None,
    tenant: str | None,
    name: str,
    scopes: tuple[str, ...],
) -> None:
    """Keep an application that was registered with a platform, for `socialq account connect`.

    A secret is never taken from the command line, where other users of the machine could see it. Without one a
    known application keeps the secret it has.

    LinkedIn approves each application for organisations: one that is not approved for them is added with
    --scope openid --scope profile --scope w_member_social, and connects people. Instagram's posts can be taken down by
    an application for Facebook's login that Meta has approved for --scope instagram_manage_contents.
    """
    from socialq.desk import apps, connect, tenants
    from socialq.providers.base import AppCredentials
    from socialq.providers.registry import adapter_for

    adapter = connect.known_adapter(platform, adapter_for)
    approved = apps.checked_scopes(adapter.consent, platform, scopes)
    root = base_url or adapter.api_root
    if not root:
        raise click.UsageError(f"--base-url: {platform} has no server of its own; give the server's address")
    secret = "" if client_secret_file is None else client_secret_file.read()
    with opened(require=("database", "encryption_key")) as wiring:
        url = connect.checked_url(root, allow_private=wiring.settings.allow_private_addresses)
        app = apps.checked(AppCredentials(client_id=client_id, client_secret=secret, scopes=approved))
        where: dict[str, Any] = {"platform": platform, "base_url": url, "app": app, "actor": actor()}
        if tenant is None:
            apps.share(wiring.stores, wiring.vault, name=name, **where)
        else:
            agency = tenants.find(wiring.stores, tenant)
            apps.keep(wiring.stores, wiring.vault, tenant=agency.id, name=name, **where)
    click.echo(f"Kept the application {app.client_id} for {tenant or 'everybody'}.")


@command.command("list")
@json_option
def list_all(*, as_json: bool) -> None:
    """List them; `socialq hold set app ID` holds all accounts of one. Secrets are never shown."""
    from socialq.desk import apps

    with opened() as wiring:
        found = apps.list_all(wiring.stores)
    if as_json:
        print_json(found)
        return
    built = table("platform!", "server", "client id", "secret", "of", "id!")
    for app in found:
        built.add_row(
            app.platform,
            cell(app.base_url),
            cell(app.client_id),
            "kept" if app.has_secret else "none",
            "everybody" if app.tenant_id is None else str(app.tenant_id),
            str(app.id),
        )
    show(built, empty="No application is known yet: `socialq app add` keeps one.")
