"""`socialq why TARGET`: the first hop that a target has not passed, since when, and who acts next."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from socialq.cli.naming import owner_of
from socialq.cli.opening import opened
from socialq.cli.output import cell, console, json_option, minute, print_json, span, table

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.desk.why import Why


@click.command(name="why")
@click.argument("target_id", type=click.UUID, metavar="TARGET")
@click.option(
    "--tenant", help="Name or id of the agency; without it all are searched (needed where a cell is away)."
)
@json_option
def command(*, target_id: UUID, tenant: str | None, as_json: bool) -> None:
    """Say why a target is not published: slot, outbox, index, hold, queue, claim, platform."""
    from socialq.desk.why import explain

    with opened() as wiring:
        owner = owner_of(wiring.stores, tenant=tenant, given_id=target_id, what="target")
        why = explain(wiring.stores, tenant=owner, target_id=target_id)
    if as_json:
        print_json(why)
    else:
        _print(why)


def _print(why: Why) -> None:
    out = console()
    where = "every hop is passed" if why.stopped_at is None else f"stopped at: {why.stopped_at}"
    out.print(cell(f"{why.status or 'unreadable'}, {where}", limit=200))
    out.print(cell(f"Why: {why.because}", limit=600))
    if why.since is not None:
        waited_seconds = (datetime.now(UTC) - why.since).total_seconds()
        ago = f", for {span(waited_seconds)} now" if waited_seconds > 0 else ""
        click.echo(f"Since: {minute(why.since)} UTC{ago}")
    out.print(cell(f"Next: {why.who}", limit=400))
    built = table("hop!", "", "what is known")
    marks = {"passed": "passed", "stopped": "STOPPED", "not_reached": "-"}
    for hop in why.hops:
        built.add_row(hop.name, marks[hop.state], cell(hop.detail, limit=300))
    click.echo()
    out.print(built)
