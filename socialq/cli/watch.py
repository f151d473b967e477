"""`socialq watch`: looks at the schedule and sends alarms, by itself, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from socialq.upkeep.watching.watch import Watch


@click.command(name="watch")
@click.option("--once", is_flag=True, help="Look once; exit code 1 where something is red.")
def command(*, once: bool) -> int:
    """Watch the schedule and send alarms (SOCIALQ_ALARM_URLS), until Ctrl-C.

    Needs the database alone: a dead beat, dead workers or a Redis that is away are what it tells of. After each look
    it asks for SOCIALQ_DEADMAN_URL, so that somebody notices when the watch itself is dead.
    """
    from socialq.cli.opening import check, settings_of
    from socialq.logs import configure_logging, register_secret
    from socialq.wiring import Wiring

    settings = settings_of(os.environ, require=("database", "redis", "encryption_key"))
    for secret in settings.secret_values():
        register_secret(secret)
    configure_logging("error" if once else settings.log_level, settings.log_format)
    wiring = Wiring(settings)
    for problem in wiring.watch.sender.problems:
        click.echo(f"Warning: {problem}", err=True)
    try:
        if once:
            check(settings)
            return _look(wiring.watch)
        stopping = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopping.set())
        wiring.watch_process.run(stopping)
    finally:
        wiring.stores.dispose()
    return 0


def _look(watch: Watch) -> int:
    """Make one pass and print what it saw."""
    seen = watch.run()
    for finding in seen.findings:
        click.echo(f"{'red ' if finding.red else ''}{finding.key}: {finding.message}")
    for kind in sorted(seen.unread):
        click.echo(f"red {kind}: could not be read")
    if not (seen.findings or seen.unread):
        click.echo("All is well.", err=True)
    return 1 if seen.red else 0
