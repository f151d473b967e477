"""`socialq media add|list|show|variant`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from socialq.cli.client import tenant_option
from socialq.cli.opening import actor, opened
from socialq.cli.output import cell, console, iso, json_option, plain, print_json, show, table
from socialq.domain.errors import InputRefused

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.desk.library import Media
    from socialq.desk.shown_media import OnAccount
    from socialq.domain.errors import InputProblem

_CLIENT_HELP = "Name or id of the brand."


@click.group(name="media")
def command() -> None:
    """Pictures, videos and documents of a brand."""


@command.command("add")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@tenant_option
@click.option("--client", required=True, help=_CLIENT_HELP)
@click.option("--alt", multiple=True, help="What it shows, for those who can't see it; one for each FILE.")
@json_option
def add(*, files: tuple[Path, ...], tenant: str, client: str, alt: tuple[str, ...], as_json: bool) -> int:
    """Add files: JPEG, PNG, GIF, WebP, MP4, MOV, PDF. One that is there already is not stored twice.

    What an account's platform doesn't take as it is, is made to fit now: `socialq media show ID` says how.
    """
    from socialq.desk import clients, library, tenants

    if len(alt) > len(files):
        raise click.UsageError("there are more --alt than files")
    added: list[Media] = []
    refused: list[InputProblem] = []
    with opened() as wiring:
        agency = tenants.find(wiring.stores, tenant)
        brand = clients.find(wiring.stores, tenant=agency.id, name_or_id=client)
        for path, text in zip(files, [*alt, *[""] * (len(files) - len(alt))], strict=True):
            try:
                added.append(
                    library.add_media(
                        wiring.stores,
                        wiring.files,
                        tenant=agency.id,
                        client=brand.id,
                        source=path,
                        alt_text=text,
                        actor=actor(),
                        scanner=wiring.scanner,
                    )
                )
            except InputRefused as error:
                refused += error.problems
    if as_json:
        print_json({"added": added, "refused": [{**plain(each), "message": str(each)} for each in refused]})
    else:
        for media in added:
            click.echo(f"{media.id}  {media.file_name}: {_what(media)}")
        for problem in refused:
            click.echo(f"Error: {problem}", err=True)
    return 1 if refused else 0


@command.command("list")
@tenant_option
@click.option("--client", help=_CLIENT_HELP)
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@json_option
def list_all(*, tenant: str, client: str | None, limit: int, as_json: bool) -> None:
    """List files, the newest first."""
    from socialq.desk import clients, library, tenants

    with opened() as wiring:
        agency = tenants.find(wiring.stores, tenant)
        brand = (
            None if client is None else clients.find(wiring.stores, tenant=agency.id, name_or_id=client).id
        )
        found = library.newest(wiring.stores, tenant=agency.id, client=brand, limit=limit)
    if as_json:
        print_json(found)
        return
    built = table("file", "what it is", "status!", "since!", "id!")
    for media in found:
        built.add_row(
            cell(media.file_name), _what(media), media.status, f"{media.created_at:%Y-%m-%d}", str(media.id)
        )
    show(built, empty=f"{agency.name} has no files yet: `socialq media add FILE --tenant {agency.name} …`.")


@command.command("show")
@click.argument("media_id", type=click.UUID)
@tenant_option
@json_option
def show_one(*, media_id: UUID, tenant: str, as_json: bool) -> None:
    """Show a file, and what goes out of it on each account."""
    from socialq.desk import library, shown_media, tenants

    with opened() as wiring:
        agency = tenants.find(wiring.stores, tenant)
        media = library.find(wiring.stores, tenant=agency.id, media_id=media_id)
        shown = shown_media.on_accounts(wiring.stores, media)
    if as_json:
        print_json({**plain(media), "on_accounts": shown})
        return
    click.echo(f"{media.file_name}: {_what(media)}, {media.status}, added {iso(media.created_at)}")
    if media.problem:
        click.echo(f"It {media.problem}.")
    click.echo(f"Shows: {media.alt_text}" if media.alt_text else "It has no description.")
    click.echo(f"sha256 {media.sha256}")
    built = table("account", "goes out", "sha256!")
    for each in shown:
        built.add_row(cell(each.account), cell(_goes_out(each), limit=160), (each.sha256 or "")[:16])
    if shown:
        click.echo()
        console().print(built)


@command.command("variant")
@click.argument("media_id", type=click.UUID)
@tenant_option
@click.option("--platform", required=True, help="The platform whose rules it is made for.")
@click.option(
    "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Where to write it."
)
@json_option
def variant(*, media_id: UUID, tenant: str, platform: str, out: Path, as_json: bool) -> None:
    """Write what a platform gets of a file, to look at it before it is approved."""
    from socialq.desk import library, shown_media, tenants

    with opened() as wiring:
        agency = tenants.find(wiring.stores, tenant)
        media = library.find(wiring.stores, tenant=agency.id, media_id=media_id)
        written = shown_media.write_variant(wiring.files, media, platform=platform, out=out)
    if as_json:
        print_json({**plain(written), "out": out})
    else:
        click.echo(f"{out}: {_goes_out(written)}")


def _what(media: Media) -> str:
    length = "" if media.duration_seconds is None else f", {media.duration_seconds:g} s"
    return f"{media.mime_type}{_size(media)}{length}{_pages(media)}, {_bytes(media.byte_size)}"


def _pages(media: Media) -> str:
    count = media.details.get("pages")
    return "" if count is None else f", {count} page" if count == 1 else f", {count} pages"


def _size(each: Media | OnAccount) -> str:
    return "" if each.width is None else f", {each.width} x {each.height}"


def _goes_out(each: OnAccount) -> str:
    if each.problem is not None:
        return f"not: it {each.problem}"
    size = f"{each.mime_type}{_size(each)}, {_bytes(each.byte_size or 0)}"
    return f"{size} ({', '.join(each.changes)})" if each.changes else f"{size}, as it is"


def _bytes(size: int) -> str:
    return f"{size / 1024 / 1024:.1f} MiB" if size >= 1024 * 1024 else f"{size / 1000:.1f} kB"
