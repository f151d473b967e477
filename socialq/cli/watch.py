"""`socialq watch`: looks at the schedule and sends alarms, by itself, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading

import click


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
    configure_logging(settings.log_level, settings.log_format)
    wiring = Wiring(settings)
    for problem in wiring.watch.sender.problems:
        click.echo(f"Warning: {problem}", err=True)
    if once:
        check(settings)
        seen = wiring.watch.run()
        for finding in seen.findings:
            click.echo(f"{'red ' if finding.red else ''}{finding.key}: {finding.message}")
        click.echo(
            "All is well." if not (seen.findings or seen.unread) else f"Unread: {sorted(seen.unread)}",
            err=True,
        )
        return 1 if seen.red else 0
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    wiring.watch_process.run(stopping)
    wiring.stores.dispose()
    return 0
