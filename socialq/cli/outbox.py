"""`socialq outbox parked|unpark`: changes of targets that the dispatch index did not take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from socialq.cli.opening import opened
from socialq.cli.output import cell, json_option, minute, print_json, show, table

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.wiring import Wiring

_cell_option = click.option("--cell", "only", help="Only this cell; without it all.")


@click.group(name="outbox")
def command() -> None:
    """Changes of targets on their way to the dispatch index."""


@command.command("parked")
@_cell_option
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@json_option
def parked(*, only: str | None, limit: int, as_json: bool) -> None:
    """List the targets whose changes were set aside, and why: they do not go out."""
    with opened() as wiring:
        found = [
            {"cell": name, **row}
            for name in _cells(wiring, only)
            for row in wiring.machine_cell(name).parked(limit=limit)
        ][:limit]
    if as_json:
        print_json(found)
        return
    built = table("target!", "cell", "since (UTC)!", "why")
    for row in found:
        built.add_row(
            str(row["target_id"]), row["cell"], minute(row["parked_at"]), cell(row["failure"], limit=200)
        )
    show(built, empty="Nothing is set aside.")
    if len(found) == limit:
        click.echo(f"There may be more: --limit {limit * 2}", err=True)


@command.command("unpark")
@click.argument("target_id", type=click.UUID, metavar="[TARGET]", required=False)
@_cell_option
@json_option
def unpark(*, target_id: UUID | None, only: str | None, as_json: bool) -> int:
    """Let what was set aside be tried again: one TARGET, or all. What still fails is set aside again."""
    from socialq.store.central import alarms

    with opened() as wiring:
        freed = [one for name in _cells(wiring, only) for one in wiring.machine_cell(name).unpark(target_id)]
        for one in freed:
            alarms.clear(wiring.stores.central, key=f"parked:{one}")
    if as_json:
        print_json({"targets": freed})
    elif freed:
        click.echo(f"The changes of {len(freed)} targets are relayed again within seconds.")
    else:
        click.echo(
            "Nothing was set aside." if target_id is None else f"Nothing of target {target_id} was set aside."
        )
    return 1 if target_id is not None and not freed else 0


def _cells(wiring: Wiring, only: str | None) -> list[str]:
    from socialq.desk.refusals import unknown

    known = wiring.stores.cell_names()
    if only is not None and only not in known:
        raise unknown("--cell", only, what="cell", known=known)
    return known if only is None else [only]
