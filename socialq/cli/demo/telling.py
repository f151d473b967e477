"""The report for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from socialq.cli.output import console, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from socialq.cli.demo.report import Report


def tell(report: Report) -> None:
    """Print the report, what was shortened, and the verdict."""
    numbers = report.numbers
    late, acceptance = numbers["lateness_ms"], numbers["acceptance"]
    built = table("", "")
    built.show_header = False
    rows = (
        (
            "targets",
            f"{numbers['targets']}: {numbers['published']} published, {numbers['failed']} failed for good",
        ),
        (
            "uncertain",
            f"{numbers['uncertain']} for a while: an answer was lost; looked for, never sent blindly again",
        ),
        ("accepted calls", f"{numbers['accepted_calls']}, as many posts as the simulated world shows"),
        ("doubled, lost", f"{numbers['duplicates']} doubled, {numbers['lost']} lost"),
        (
            "lateness",
            f"p50 {late['p50']} ms, p99 {late['p99']} ms, without accounts and moments that had faults",
        ),
        (
            "acceptance",
            (
                f"published on {acceptance['published']} of 10, {acceptance['failed']} failed with retry available,"
                f" {acceptance['accepted_calls']} calls accepted; post {acceptance['post_status']}"
            ),
        ),
    )
    for name, value in rows:
        built.add_row(name, value)
    out = console()
    out.print()
    out.print(_platforms(numbers["platforms"]))
    out.print()
    out.print(built)
    for asked in numbers["asked_a_person"]:
        _tell_asked(asked)
    shortened = ", ".join(f"{name} {_number(value)}" for name, value in numbers["settings"].items())
    click.echo(f"\nWaits were shortened for this demo: {shortened}.")
    if not report.differences:
        out.print(
            "Every job was sent a second time and changed nothing. The ledger agrees with all of it.",
            style="green",
        )
    else:
        out.print(f"{len(report.differences)} differences were found.", style="bold red")


def _platforms(rows: Mapping[str, Mapping[str, int]]) -> Table:
    built = table("platform!", "targets", "published", "failed", "uncertain", "posts seen", "doubled", "lost")
    for name, row in rows.items():
        built.add_row(name, *(str(number) for number in row.values()))
    return built


def _tell_asked(asked: Mapping[str, str]) -> None:
    """Show what a person saw where nobody but a person can look."""
    click.echo(f"\nA person was asked about {asked['account']}, where the platform lets nobody look:")
    click.echo(f"  socialq said   {asked['said']}")
    click.echo(f"  and offered    {asked['offered']}")
    click.echo(f"  the person     {asked['did']}")


def _number(value: object) -> str:
    if isinstance(value, list):
        return "/".join(_number(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
