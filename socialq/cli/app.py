"""`socialq app list`."""

from __future__ import annotations

import click

from socialq.cli.opening import opened
from socialq.cli.output import cell, json_option, print_json, show, table


@click.group(name="app")
def command() -> None:
    """OAuth applications that accounts are connected through."""


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
    show(built, empty="No application is known yet: `socialq account add --client-id …` keeps one.")
