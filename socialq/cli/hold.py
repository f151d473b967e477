"""`socialq hold set|list|lift`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from socialq.cli.opening import actor, opened
from socialq.cli.output import cell, json_option, minute, print_json, show, table

if TYPE_CHECKING:
    from socialq.store.central.holds import Scope

_SCOPE = click.Choice(["account", "app", "platform", "cell", "tenant"])


@click.group(name="hold")
def command() -> None:
    """Times before which nothing is sent."""


@command.command("set")
@click.argument("scope", type=_SCOPE)
@click.argument("key")
@click.option("--until", required=True, metavar="TIME", help="ISO time; without an offset it is UTC.")
@click.option("--reason", required=True, help="Why; for whoever lifts it.")
@json_option
def set_hold(*, scope: Scope, key: str, until: str, reason: str, as_json: bool) -> None:
    """Hold an account (id), an app (id), a platform (name), a cell (name) or a tenant (id)."""
    from socialq.desk import holds
    from socialq.domain.local_time import resolve

    with opened() as wiring:
        now = wiring.clock.now()
        end = resolve(until, zone=None, default_zone="UTC", now=now, field="until").instant_utc
        outlasted = holds.hold(
            wiring.stores, scope=scope, key=key, until=end, reason=reason, now=now, actor=actor()
        )
        out = holds.out_already(wiring.stores, scope=scope, key=key)
    if as_json:
        print_json({"scope": scope, "key": key, "until": end, "outlasted": outlasted, "out_already": out})
        return
    click.echo(f"Nothing is sent on {scope} {key} until {minute(end)} UTC.")
    if out:
        click.echo(f"{out} are with the workers already, and may still go out.")
    if outlasted:
        click.echo(f"{outlasted} posts will expire meanwhile: their publish-by times come before that.")


@command.command("list")
@json_option
def list_all(*, as_json: bool) -> None:
    """List the holds that have not ended."""
    from socialq.desk import holds

    with opened() as wiring:
        found = holds.list_all(wiring.stores)
    if as_json:
        print_json(found)
        return
    built = table("scope!", "key!", "until (UTC)", "reason", "set by")
    for row in found:
        built.add_row(
            row["scope"], cell(row["key"]), minute(row["until"]), cell(row["reason"]), cell(row["set_by"])
        )
    show(built, empty="Nothing is held.")


@command.command("lift")
@click.argument("scope", type=_SCOPE)
@click.argument("key")
def lift(*, scope: Scope, key: str) -> None:
    """End a hold early."""
    from socialq.desk import holds

    with opened() as wiring:
        holds.lift(wiring.stores, scope=scope, key=key, actor=actor())
    click.echo(f"The hold on {scope} {key} is lifted.")
