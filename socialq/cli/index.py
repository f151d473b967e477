"""`socialq index rebuild`: the dispatch index anew, from the cells."""

from __future__ import annotations

import click

from socialq.cli.importing import progress_bar
from socialq.cli.opening import opened
from socialq.cli.output import json_option, print_json


@click.group(name="index")
def command() -> None:
    """The dispatch index."""


@command.command("rebuild")
@click.option("--cell", "only", help="Only this cell; without it all.")
@json_option
def rebuild(*, only: str | None, as_json: bool) -> None:
    """Mirror every target's next work anew, and drop what is too much. Safe while everything runs."""
    from socialq.desk.refusals import unknown

    rows: dict[str, int] = {}
    with opened() as wiring, progress_bar("rebuilding", quiet=as_json) as bar:
        known = wiring.stores.cell_names()
        if only is not None and only not in known:
            raise unknown("--cell", only, what="cell", known=known)
        for name in known if only is None else [only]:
            task = bar.add_task(name, total=None)
            rows[name] = wiring.relay(name).rebuild(
                progress=lambda done, task=task: bar.update(task, completed=done)  # type: ignore[misc]
            )
    if as_json:
        print_json({"rows": rows})
    else:
        for name, count in rows.items():
            click.echo(f"Cell {name}: {count} targets with work to come are in the index.")
