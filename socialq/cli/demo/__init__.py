"""`socialq demo`: a launch week on seven platforms in under a minute, with faults, checked against what the world sees.

Arrives: nothing but this machine. Leaves: a report, and exit code 0 only if the sandbox's ledger agrees with
every word of it. What must stay true: each run starts afresh, in a home of its own and on ports of its own;
settings of the environment, and what they point to, are left alone.
"""

from __future__ import annotations

import click

from socialq.cli.output import json_option

__all__ = ["command"]


@click.command(name="demo")
@json_option
def command(*, as_json: bool) -> int:
    """Publish a launch week on seven simulated platforms, with lost answers, a rate limit and a killed worker.

    Everything runs in .socialq/demo, made anew each time. Exit code 0 says that the sandbox's ledger has every
    post exactly once.
    """
    from socialq.cli.demo.running import run

    return run(as_json=as_json)
