"""`socialq cell add|list|move-tenant|quarantine|release`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from socialq.cli.opening import actor, opened
from socialq.cli.output import json_option, minute, print_json, show, table

if TYPE_CHECKING:
    from socialq.wiring import Wiring


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
    from socialq.upkeep import capacity

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
        there = len(wiring.stores.cell_names())
        too_few = capacity.control_problem(wiring.settings.control_concurrency, cells=there)
    if as_json:
        print_json({"cell": made, "applied": applied})
    else:
        click.echo(f"Added cell {made.name}; applied {', '.join(applied) or 'nothing, it was up to date'}.")
    if too_few is not None:
        click.echo(f"Warning: {too_few}.", err=True)


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


@command.command("quarantine")
@click.argument("name")
@click.option(
    "--since", metavar="TIME", help="Not after the recovery point; without it the last known change."
)
@json_option
def quarantine(*, name: str, since: str | None, as_json: bool) -> None:
    """After a restore: stop a cell's tenants, and look for all that may have been sent since.

    A restore to a point in time, a promotion and a loaded dump are noticed without this; a copied disk is not.
    """
    from socialq.domain.local_time import resolve

    with opened(require=("database", "encryption_key")) as wiring:
        _check_known(wiring, name)
        moment = None
        if since is not None:
            now = wiring.clock.now()
            moment = resolve(since, zone=None, default_zone="UTC", now=now, field="--since").instant_utc
            if moment > now:
                raise click.UsageError("--since: a recovery point is past")
        done = wiring.quarantine.quarantine(name, since=moment)
    if as_json:
        print_json(done)
        return
    click.echo(f"Cell {name}: {done.tenants} tenants are stopped until `socialq cell release {name}`.")
    click.echo(
        f"{done.doubted} posts may have been sent since {minute(done.since)} UTC; each is looked for, and none is"
        " sent again."
    )
    if done.lost or done.changed:
        click.echo(
            f"{done.lost} posts were planned after that and are gone; of {len(done.changed)} the later changes are."
        )
    for target_id in done.changed:
        click.echo(f"  target {target_id}: look at its account before it is sent again")


@command.command("release")
@click.argument("name")
@click.option("--tenant", help="Only this agency; without it all of the cell.")
@json_option
def release(*, name: str, tenant: str | None, as_json: bool) -> None:
    """End a quarantine: what is due goes out. What is being looked for still is."""
    from socialq.desk import tenants

    with opened(require=("database", "encryption_key")) as wiring:
        _check_known(wiring, name)
        only = None if tenant is None else tenants.find(wiring.stores, tenant).id
        released = wiring.quarantine.release(name, tenant=only)
    if as_json:
        print_json({"released": released})
    elif released:
        click.echo(f"Cell {name}: {len(released)} tenants publish again.")
    else:
        click.echo(f"Cell {name}: nobody is stopped whose quarantine is complete.")


def _check_known(wiring: Wiring, name: str) -> None:
    from socialq.desk.refusals import unknown

    if name not in (known := wiring.stores.cell_names()):
        raise unknown("cell", name, what="cell", known=known)
