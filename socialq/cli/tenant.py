"""`socialq tenant add|list|limit|suspend|resume`."""

from __future__ import annotations

import click

from socialq.cli.opening import actor, opened
from socialq.cli.output import json_option, minute, print_json, show, status, table


@click.group(name="tenant")
def command() -> None:
    """Agencies."""


@command.command("add")
@click.argument("name")
@click.option("--monthly-limit", type=int, help="Posts published in a calendar month; none: no limit.")
@click.option("--cell", default="default", show_default=True, help="The cell in which its rows live.")
@json_option
def add(*, name: str, monthly_limit: int | None, cell: str, as_json: bool) -> None:
    """Add an agency."""
    from socialq.desk import tenants

    with opened() as wiring:
        made = tenants.add(wiring.stores, name=name, cell=cell, monthly_limit=monthly_limit, actor=actor())
    if as_json:
        print_json(made)
    else:
        click.echo(f"Added tenant {made.name} ({made.id}).")


@command.command("list")
@json_option
def list_all(*, as_json: bool) -> None:
    """List every agency."""
    from socialq.desk import tenants

    with opened() as wiring:
        found = tenants.list_all(wiring.stores)
    if as_json:
        print_json(found)
        return
    built = table("name!", "status!", "cell", "limit a month", "since", "id!")
    for tenant in found:
        limit = "" if tenant.monthly_limit is None else str(tenant.monthly_limit)
        built.add_row(
            tenant.name,
            status(tenant.status),
            tenant.cell,
            limit,
            f"{tenant.created_at:%Y-%m-%d}",
            str(tenant.id),
        )
    show(built, empty="There is no tenant yet: `socialq tenant add NAME` adds one.")


@command.command("limit")
@click.argument("name_or_id", metavar="TENANT")
@click.argument("limit", metavar="POSTS")
@json_option
def limit(*, name_or_id: str, limit: str, as_json: bool) -> None:
    """Set how many POSTS an agency may publish in a calendar month; `none` for any number."""
    from socialq.desk import tenants

    if limit != "none" and not (limit.isascii() and limit.isdigit()):
        raise click.UsageError("POSTS is a number, or none")
    with opened() as wiring:
        tenant = tenants.find(wiring.stores, name_or_id)
        most = None if limit == "none" else int(limit)
        now = tenants.set_limit(wiring.stores, tenant=tenant.id, monthly_limit=most, actor=actor())
    if as_json:
        print_json(now)
    elif now.monthly_limit is None:
        click.echo(f"Tenant {now.name} may publish any number of posts.")
    else:
        click.echo(f"Tenant {now.name} may publish {now.monthly_limit} posts a calendar month.")


@command.command("suspend")
@click.argument("name_or_id", metavar="TENANT")
@click.option("--reason", required=True, help="Why; for whoever resumes it.")
@json_option
def suspend(*, name_or_id: str, reason: str, as_json: bool) -> None:
    """Suspend an agency: its posts wait, and fail after the grace period."""
    from socialq.desk import tenants

    with opened() as wiring:
        tenant = tenants.find(wiring.stores, name_or_id)
        now = tenants.suspend(
            wiring.stores,
            tenant=tenant.id,
            reason=reason,
            grace_hours=wiring.settings.suspension_grace_hours,
            actor=actor(),
        )
    if as_json:
        print_json(now)
    else:
        click.echo(f"Tenant {now.name} is suspended since {minute(now.suspended_at)} UTC.")


@command.command("resume")
@click.argument("name_or_id", metavar="TENANT")
@json_option
def resume(*, name_or_id: str, as_json: bool) -> None:
    """Let a suspended agency publish again."""
    from socialq.desk import tenants

    with opened() as wiring:
        tenant = tenants.find(wiring.stores, name_or_id)
        now = tenants.resume(wiring.stores, tenant=tenant.id, actor=actor())
    if as_json:
        print_json(now)
    else:
        click.echo(f"Tenant {now.name} is active.")
