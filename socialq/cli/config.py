"""`socialq config check`: every problem of the settings at once, and whether the servers answer."""

from __future__ import annotations

import os
from typing import Any

import click

from socialq.cli.output import cell, console, json_option, print_json, table


@click.group(name="config")
def command() -> None:
    """Settings."""


@command.command("check")
@json_option
def check(*, as_json: bool) -> int:
    """Check the settings for a service, and that PostgreSQL and Redis answer. Shows no secret."""
    from socialq.cli.opening import completed_from_run
    from socialq.settings import SERVICE, ConfigInvalid, check_connections, load_settings, redacted

    shown: dict[str, Any] = {}
    try:
        settings = load_settings(completed_from_run(os.environ), require=SERVICE)
        shown, problems = redacted(settings), check_connections(settings)
    except ConfigInvalid as invalid:
        problems = list(invalid.problems)
    if as_json:
        print_json({"ok": not problems, "problems": problems, "settings": shown})
    elif not problems:
        _print(shown)
    if problems and not as_json:
        click.echo(str(ConfigInvalid(problems)), err=True)
    return 1 if problems else 0


def _print(settings: dict[str, Any]) -> None:
    built = table("setting!", "value")
    for name, value in settings.items():
        text = ", ".join(f"{part:g}" for part in value) if isinstance(value, tuple) else value
        built.add_row(f"SOCIALQ_{name.upper()}", cell(text))
    console().print(built)
    click.echo("The configuration is fine; PostgreSQL and Redis answer.")
