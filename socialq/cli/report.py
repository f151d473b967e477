"""`socialq report lateness`: from slot to publication, by platform."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING

import click

from socialq.cli.opening import opened
from socialq.cli.output import json_option, print_json, show, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.upkeep.lateness import GapSummary


@click.group(name="report")
def command() -> None:
    """Reports."""


@command.command("lateness")
@click.option("--days", type=click.FloatRange(0, 3660, min_open=True), default=7.0, show_default=True)
@click.option("--tenant", help="Name or id of an agency; without it all are summed up.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, and nothing else, on standard output.")
@json_option
def lateness(*, days: float, tenant: str | None, as_csv: bool, as_json: bool) -> None:
    """Sum up how late posts were: slot to claim, claim to acceptance, acceptance to first seen, and in all."""
    from socialq.desk import tenants
    from socialq.upkeep import lateness as summing

    if as_csv and as_json:
        raise click.UsageError("--csv and --json: choose one")
    with opened() as wiring:
        owner = None if tenant is None else tenants.find(wiring.stores, tenant).id
        found = summing.report(wiring.stores, days=days, tenant_id=owner)
    if as_json:
        print_json({"days": days, "platforms": found})
    elif as_csv:
        _print_csv(found)
    else:
        _print(found, days=days)


def _print_csv(found: Sequence[GapSummary]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["cell", "platform", "gap", "count", "p50", "p95", "p99", "worst", "worst_targets"])
    for one in found:
        numbers = [f"{value:.3f}" for value in (one.p50, one.p95, one.p99, one.worst)]
        worst = " ".join(str(target.target_id) for target in one.worst_targets)
        writer.writerow([one.cell, one.platform, one.gap, one.count, *numbers, worst])


def _print(found: Sequence[GapSummary], *, days: float) -> None:
    built = table("platform!", "gap!", "count", "p50", "p95", "p99", "worst")
    for one in found:
        numbers = [f"{value:.2f} s" for value in (one.p50, one.p95, one.p99, one.worst)]
        built.add_row(one.platform, one.gap.replace("_", " "), str(one.count), *numbers)
    show(built, empty=f"Nothing was published in the last {days:g} days.")
    for one in found:
        for target in one.worst_targets:
            click.echo(
                f"{one.platform}: {target.seconds:.2f} s from slot to first seen: target {target.target_id}"
            )
