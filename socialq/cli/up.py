"""`socialq up`: everything on this machine, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Self

import click

from socialq.cli.failures import Failure
from socialq.cli.output import notes

if TYPE_CHECKING:
    from types import FrameType

    from socialq.local.stack import LocalStack
    from socialq.local.supervise import Child


@click.command(name="up")
@click.option(
    "--workers", type=click.IntRange(0, 64), default=1, show_default=True, help="Publishing workers."
)
@click.option("--sandbox", is_flag=True, help="Run the simulated platforms too, on port 8090.")
@click.option("--flower", is_flag=True, help="Run Flower too, on port 5555.")
@click.option("--no-web", is_flag=True, help="Leave the web out.")
def command(*, workers: int, sandbox: bool, flower: bool, no_web: bool) -> None:
    """Run everything on this machine: servers, schema, beat, workers, watch, web.

    PostgreSQL and Valkey are brought along unless SOCIALQ_DATABASE_URL and SOCIALQ_REDIS_URL are set. Data,
    logs and run.json (addresses, pids) are in .socialq, or SOCIALQ_HOME. Ctrl-C stops it all; a second one at
    once.
    """
    from socialq.local.stack import AlreadyRunning, LocalStack, Wanted

    if flower:
        _need_flower()
    out = notes()
    told = StopSignals()
    stack = LocalStack(
        env=os.environ,
        wanted=Wanted(publishing=workers, watch=True, sandbox=sandbox, flower=flower, web=not no_web),
        say=lambda step: out.print(f"{step} …", style="dim"),
    )
    try:
        with told:
            try:
                stack.start()
                stack.supervisor.on_death = _tell_death
                _tell(stack, ready=stack.wait_ready())
                told.wait()
                out.print(
                    "stopping: what is under way is finished first (Ctrl-C again: at once) …", style="dim"
                )
            finally:
                stack.stop(hurry=told.in_a_hurry)
    except AlreadyRunning as running:
        raise Failure(f"Error: {running}") from running
    except Interrupted:
        return


class Interrupted(BaseException):
    """A signal came while everything was still being started."""


class StopSignals:
    """SIGINT and SIGTERM as events; the second one is a hurry.

    Until `wait` is called the first one raises `Interrupted`.
    """

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._hurry = threading.Event()
        self._waiting = False

    def __enter__(self) -> Self:
        """Take the signals."""
        self._earlier = {sig: signal.signal(sig, self._on_signal) for sig in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        for sig, handler in self._earlier.items():
            signal.signal(sig, handler)

    def wait(self) -> None:
        """Return at the first signal."""
        self._waiting = True
        while not self._stop.wait(1.0):
            pass

    def in_a_hurry(self) -> bool:
        """Say whether a second signal came."""
        return self._hurry.is_set()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._stop.is_set():
            self._hurry.set()
            return
        self._stop.set()
        if not self._waiting:
            raise Interrupted


def _need_flower() -> None:
    from importlib.util import find_spec

    if find_spec("flower") is None:
        raise Failure(
            "Error: Flower is not installed: `pip install 'socialq[flower]'`, or leave --flower out"
        )


def _tell(stack: LocalStack, *, ready: bool) -> None:
    lines = [
        ("web", stack.web_url),
        ("sandbox", stack.sandbox_url),
        ("flower", stack.flower_url),
        ("data and logs", str(stack.home)),
    ]
    for label, where in lines:
        if where:
            click.echo(f"{label:<14}{where}")
    if ready:
        click.echo("socialq is running. Ctrl-C stops it.")
    else:
        click.echo("socialq is starting; some workers do not answer yet: see the logs. Ctrl-C stops it.")


def _tell_death(child: Child) -> None:
    name, code = child.service.name, child.process.returncode
    click.echo(f"{name} ended (code {code}) and is started again; see {child.log_path}", err=True)
