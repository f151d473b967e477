"""`socialq cell add|list|move-tenant`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from socialq.cli.opening import actor, opened
from socialq.cli.output import json_option, print_json, show, table


@click.group(name="cell")
def command() -> None:
    """Databases for tenants."""


@command.command("add")
@click.argument("name")
@click.option(
    "--database-url-file",
    required=True,
    metavar="FILE",
    help="A file with the database's address, or - for standard input: it holds a password.",
)
@json_option
def add(*, name: str, database_url_file: str, as_json: bool) -> None:
    """Bring a database up to date and add it as a cell."""
    from socialq.desk import cells

    try:
        if database_url_file == "-":
            text = sys.stdin.read()
        else:
            text = Path(database_url_file).read_text(encoding="utf-8")
    except OSError as error:
        raise click.UsageError(
            f"--database-url-file: cannot read {database_url_file}: {error.strerror}"
        ) from None
    with opened(require=("database", "encryption_key")) as wiring:
        made, applied = cells.add(
            wiring.stores, wiring.vault, name=name, database_url=text.strip(), actor=actor()
        )
    if as_json:
        print_json({"cell": made, "applied": applied})
    else:
        click.echo(f"Added cell {made.name}; applied {', '.join(applied) or 'nothing, it was up to date'}.")


@command.command("list")
@json_option
def list_all(*, as_json: bool) -> None:
    """List every cell."""
    from socialq.desk import cells

    with opened() as wiring:
        found = cells.list_all(wiring.stores)
    if as_json:
        print_json(found)
        return
    built = table("name!", "tenants", "database")
    for cell in found:
        built.add_row(cell.name, str(cell.tenants), "its own" if cell.own_database else "the central one")
    show(built, empty="There is no cell: `socialq db upgrade` makes the default one.")


@command.command("move-tenant")
@click.argument("tenant")
@click.argument("cell")
@json_option
def move_tenant(*, tenant: str, cell: str, as_json: bool) -> None:
    """Move a tenant that has no clients yet to another cell."""
    from socialq.desk import cells, tenants

    with opened(require=("database", "encryption_key")) as wiring:
        found = tenants.find(wiring.stores, tenant)
        moved = cells.move_tenant(wiring.stores, tenant=found, cell=cell, actor=actor())
    if as_json:
        print_json(moved)
    else:
        click.echo(f"Tenant {moved.name} lives in cell {moved.cell}.")
