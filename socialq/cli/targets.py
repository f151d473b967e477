"""`socialq targets list`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click
from rich.text import Text

from socialq.cli.opening import opened
from socialq.cli.output import cell, console, json_option, minute, plain, print_json, show, status, table
from socialq.domain.states import TargetStatus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.desk.tenants import Tenant
    from socialq.store.view_rows import TargetLine
    from socialq.wiring import Wiring


_TABLE_COLUMNS: Final = 118
"""A table takes this much; narrower, each target has lines of its own."""


@click.group(name="targets")
def command() -> None:
    """Targets: one post on one account each."""


@command.command("list")
@click.option("--tenant", help="Name or id of the agency; without it all are listed.")
@click.option(
    "--status", "only", type=click.Choice([status.value for status in TargetStatus]), help="Only these."
)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--after", type=click.UUID, help="Go on after this target, the last of the page before.")
@json_option
def list_all(*, tenant: str | None, only: str | None, limit: int, after: UUID | None, as_json: bool) -> None:
    """List targets: what is due next first, then what has no time, then the past, the latest first."""
    from socialq.desk import tenants

    if after is not None and tenant is None:
        raise click.UsageError("--after needs --tenant")
    with opened() as wiring:
        chosen = tenants.list_all(wiring.stores) if tenant is None else [tenants.find(wiring.stores, tenant)]
        found = _of_all(wiring, chosen, only=only, limit=limit, after=after)
    if as_json:
        print_json([{"tenant": owner.name, **plain(line)} for owner, line in found])
        return
    if found and console().width < _TABLE_COLUMNS:
        _print_lines(found, with_tenant=tenant is None)
    else:
        show(_table(found, with_tenant=tenant is None), empty="There is no such target.")
    if len(found) == limit:
        more = f" --after {found[-1][1].id}" if tenant is not None else f" --limit {limit * 2}"
        click.echo(f"There may be more:{more}", err=True)


def _of_all(
    wiring: Wiring, chosen: Sequence[Tenant], *, only: str | None, limit: int, after: UUID | None
) -> list[tuple[Tenant, TargetLine]]:
    """Read each tenant's page as that tenant, and merge the pages by time."""
    from socialq.store import views

    found: list[tuple[Tenant, TargetLine]] = []
    for owner in chosen:
        with wiring.stores.cell_of(owner.id).app.transaction(tenant=owner.id) as session:
            lines = views.list_targets(session, status=only, limit=limit, after=after)
        found += [(owner, line) for line in lines]
    if len(chosen) > 1:
        now = datetime.now(UTC)
        found.sort(key=lambda item: _place(item[1], now))
    return found[:limit]


def _place(line: TargetLine, now: datetime) -> tuple[int, float, UUID]:
    """Where a target stands among those of all agencies: in the order of each agency's own list."""
    if line.publish_at is None:
        return 1, 0.0, line.id
    seconds = line.publish_at.timestamp()
    return (0, seconds, line.id) if line.publish_at >= now else (2, -seconds, line.id)


def _table(found: Sequence[tuple[Tenant, TargetLine]], *, with_tenant: bool) -> Any:
    columns = ("due (UTC)!", "status!", "account", "text", "id!")
    built = table(*(("tenant", *columns) if with_tenant else columns))
    for owner, line in found:
        live = f" {line.parts_live}/{line.parts}" if line.parts > 1 else ""
        cells = (
            minute(line.publish_at),
            status(line.status).append(live, style="dim"),
            cell(line.account),
            cell(line.text),
            str(line.id),
        )
        built.add_row(*((owner.name, *cells) if with_tenant else cells))
    return built


def _print_lines(found: Sequence[tuple[Tenant, TargetLine]], *, with_tenant: bool) -> None:
    """Print each target on three lines: where a table would have no room left for the text."""
    out = console()
    for owner, line in found:
        live = f" {line.parts_live}/{line.parts}" if line.parts > 1 else ""
        head = Text(f"{minute(line.publish_at)}  ").append_text(status(line.status)).append(live, style="dim")
        out.print(head.append("  ").append_text(cell(line.account)), no_wrap=True, overflow="ellipsis")
        out.print(
            Text("  ").append_text(cell(line.text, limit=out.width - 2)), no_wrap=True, overflow="ellipsis"
        )
        out.print(Text(f"  {line.id}" + (f"  {owner.name}" if with_tenant else ""), style="dim"))
