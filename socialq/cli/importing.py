"""`socialq import FILE`: a calendar file becomes posts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from socialq.cli.client import tenant_option
from socialq.cli.opening import actor, opened
from socialq.cli.output import json_option, notes, plain, print_json

if TYPE_CHECKING:
    from socialq.desk.bulk_import import ImportReport


@click.command(name="import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@tenant_option
@click.option("--client", required=True, help="Name or id of the brand.")
@click.option("--skip-bad", is_flag=True, help="Import the good rows even where others are refused.")
@json_option
def command(*, file: Path, tenant: str, client: str, skip_bad: bool, as_json: bool) -> int:
    """Import a calendar (CSV): every row a post, approved and scheduled, or nothing of it.

    Headers: text, publish_at, timezone, accounts, media, first_comment, labels. Media are files beside FILE.
    The same file twice imports nothing twice.
    """
    from socialq.desk import bulk_import, clients, tenants

    data = file.read_bytes()
    with opened() as wiring, progress_bar("importing", quiet=as_json) as bar:
        agency = tenants.find(wiring.stores, tenant)
        brand = clients.find(wiring.stores, tenant=agency.id, name_or_id=client)
        task = bar.add_task("importing", total=None)
        report = bulk_import.import_file(
            wiring.stores,
            wiring.files,
            tenant=agency.id,
            client=brand.id,
            data=data,
            base_folder=file.parent,
            skip_bad=skip_bad,
            now=datetime.now(UTC),
            publish_by_hours=wiring.settings.publish_by_hours,
            actor=actor(),
            scanner=wiring.scanner,
            links=wiring.link_signer is not None,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    if as_json:
        refused = [{**plain(problem), "message": str(problem)} for problem in report.refused]
        print_json({**plain(report), "refused": refused, "refused_rows": report.refused_rows})
    else:
        _print(report, skip_bad=skip_bad)
    return 1 if report.refused and not (skip_bad and report.imported + report.already_there) else 0


def progress_bar(what: str, *, quiet: bool) -> Progress:
    """Build a progress bar on standard error; it is not drawn where nobody watches."""
    console = notes()
    return Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )


def _print(report: ImportReport, *, skip_bad: bool) -> None:
    for problem in report.refused:
        click.echo(f"Error: {problem}", err=True)
    for note in report.notes:
        click.echo(f"Note: {note}", err=True)
    there = f", {report.already_there} were there already" if report.already_there else ""
    if report.refused and not skip_bad:
        click.echo(
            f"Nothing was imported: {_count(report.refused_rows, 'row')} refused (--skip-bad imports the others).",
            err=True,
        )
        return
    skipped = f", {_count(report.refused_rows, 'row')} skipped" if report.refused else ""
    click.echo(
        f"Imported {_count(report.imported, 'post')} with {_count(report.targets, 'target')}{there}{skipped}."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
