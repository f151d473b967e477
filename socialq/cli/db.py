"""`socialq db upgrade`: brings the schema up to date."""

from __future__ import annotations

import os

import click

from socialq.cli.output import json_option, print_json


@click.group(name="db")
def command() -> None:
    """The database."""


@command.command("upgrade")
@json_option
def upgrade(*, as_json: bool) -> None:
    """Bring the schema up to date, as the database's owner. Two at once wait for each other."""
    from socialq.cli.opening import check, settings_of
    from socialq.local.stack import login_of
    from socialq.store import migrate

    settings = settings_of(os.environ, require=("database",))
    check(settings.model_copy(update={"database_url": settings.owner_database_url}))
    applied = migrate.upgrade(
        settings.owner_database_url.get_secret_value(),
        runtime_login=login_of(settings.database_url.get_secret_value()),
    )
    if as_json:
        print_json({"applied": applied})
    else:
        click.echo(f"Applied {', '.join(applied)}." if applied else "The database is up to date.")
