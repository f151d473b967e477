"""`socialq config`: every problem of the settings at once, whether the servers answer, and what can be set."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from socialq.cli.output import cell, console, json_option, print_json, table

if TYPE_CHECKING:
    from socialq.settings import Settings


@click.group(name="config")
def command() -> None:
    """Settings."""


@command.command("check")
@json_option
def check(*, as_json: bool) -> int:
    """Check the settings for a service, and that PostgreSQL and Redis answer. Shows no secret."""
    from socialq.cli.opening import completed_from_run
    from socialq.settings import (
        SERVICE,
        ConfigInvalid,
        check_connections,
        load_settings,
        public_url_warnings,
        redacted,
    )

    shown: dict[str, Any] = {}
    warnings: list[str] = []
    try:
        settings = load_settings(completed_from_run(os.environ), require=SERVICE)
        shown, problems = redacted(settings), [*check_connections(settings), *_storage_problems(settings)]
        problems = problems or _stored_problems(settings)
        warnings = public_url_warnings(settings)
    except ConfigInvalid as invalid:
        problems = list(invalid.problems)
    if as_json:
        print_json({"ok": not problems, "problems": problems, "warnings": warnings, "settings": shown})
    elif not problems:
        _print(shown)
    for warning in [] if as_json else warnings:
        click.echo(f"Warning: {warning}.", err=True)
    if problems and not as_json:
        click.echo(str(ConfigInvalid(problems)), err=True)
    return 1 if problems else 0


@command.command("list")
@json_option
def list_all(*, as_json: bool) -> None:
    """List every setting with its default and its meaning; nothing that is set is shown."""
    from socialq.settings.reference import settings

    rows = list(settings())
    if as_json:
        print_json(rows)
        return
    built = table("setting!", "default", "what")
    for row in rows:
        built.add_row(row.variable, row.default, Text(row.meaning))
    console().print(built)


def _storage_problems(settings: Settings) -> list[str]:
    """Say whether the place for media can be opened: its driver may be missing."""
    from socialq.store.media_files import MediaFiles, MediaStorageUnusable

    try:
        MediaFiles(settings.media_storage)
    except MediaStorageUnusable as unusable:
        return [str(unusable)]
    return []


def _stored_problems(settings: Settings) -> list[str]:
    """Say what is wrong by what the servers say: keys, connections, threads. Before an upgrade there is nothing."""
    import psycopg

    from socialq.cli.failures import message_of
    from socialq.upkeep import capacity, key_checks
    from socialq.wiring import Wiring

    wiring = Wiring(settings)
    try:
        return [
            *key_checks.problems(wiring.stores, wiring.vault, remember=False),
            *capacity.problems(wiring.stores, settings),
        ]
    except psycopg.Error as error:
        if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.InvalidSchemaName):
            return []
        return [message_of(error).removeprefix("Error: ")]
    finally:
        wiring.stores.dispose()


def _print(settings: dict[str, Any]) -> None:
    built = table("setting!", "value")
    for name, value in settings.items():
        text = ", ".join(f"{part:g}" for part in value) if isinstance(value, tuple) else value
        built.add_row(f"SOCIALQ_{name.upper()}", cell(text))
    console().print(built)
    click.echo("The configuration is fine; PostgreSQL and Redis answer.")
