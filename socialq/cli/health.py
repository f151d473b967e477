"""`socialq health`: whether everything works, and what does not. Exit code 1 says: something does not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from socialq.cli.output import cell, console, json_option, print_json, table

if TYPE_CHECKING:
    from socialq.settings import Settings
    from socialq.upkeep.health import Health


@click.command(name="health")
@json_option
def command(*, as_json: bool) -> int:
    """Say whether PostgreSQL, Redis and the windows are at work, what is due, and which alarms are open."""
    from socialq.cli.opening import settings_of
    from socialq.settings import check_connections

    settings = settings_of(os.environ, require=("database",))
    unreachable = check_connections(settings)
    if not settings.redis_url.get_secret_value():
        unreachable.append("SOCIALQ_REDIS_URL is not set, so whether Redis answers was not asked: set it")
    health = None if any("PostgreSQL" in problem for problem in unreachable) else _read(settings)
    problems = [*unreachable, *(health.problems if health else [])]
    if as_json:
        print_json({"ok": not problems, "problems": problems, "health": health})
    else:
        if health is not None:
            _print(health)
        click.echo("All is well." if not problems else "\n".join(f"Problem: {line}" for line in problems))
    return 1 if problems else 0


def _read(settings: Settings) -> Health:
    from socialq.upkeep import health
    from socialq.wiring import Wiring

    wiring = Wiring(settings)
    try:
        return health.read(wiring.stores)
    finally:
        wiring.stores.dispose()


def _print(health: Health) -> None:
    built = table("window!", "last looked")
    for window in health.windows:
        age = "never" if window.age_seconds is None else f"{window.age_seconds:.1f} s ago"
        built.add_row(cell(window.name), cell(age))
    console().print(built)
    click.echo(f"{health.due} targets are due now, {health.enqueued} are out to the workers.")
