"""One run of the demo, from an empty folder to a checked report."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from socialq.cli.demo import person, state, watching
from socialq.cli.demo.cast import ACTOR, Casting
from socialq.cli.demo.home import environment, fresh_home, shortened_settings
from socialq.cli.demo.replay import replay
from socialq.cli.demo.report import Report, Seen, report_of
from socialq.cli.demo.story import WorkerKill, fault_plan, faulted_accounts
from socialq.cli.demo.telling import tell
from socialq.cli.demo.world import World
from socialq.cli.output import notes, print_json
from socialq.cli.up import Interrupted, StopSignals
from socialq.local.stack import LocalStack, Wanted
from socialq.wiring import Wiring

if TYPE_CHECKING:
    from rich.console import Console

    from socialq.cli.demo.cast import Cast
    from socialq.cli.demo.person import Asked

PUBLISHING_WORKERS: Final = 2
_AT_REST_WITHIN_SECONDS: Final = 75.0
"""Twice what it takes; whatever is not at rest by then is a difference."""

_STOP_SECONDS: Final = 1.5


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What must not change when every job is replayed."""

    ledger: list[dict[str, Any]]
    statuses: dict[Any, tuple[str, int]]


def run(*, as_json: bool) -> int:
    """Run the demo; returns the exit code: 0 only if nothing differs."""
    console = notes()
    stack = LocalStack(
        env=environment(fresh_home()),
        # The web waits until the workers are up: nobody looks at it before.
        wanted=Wanted(publishing=PUBLISHING_WORKERS, sandbox=True, web=False, any_ports=True),
        keep_data=False,
        say=lambda step: console.print(f"{step} …", style="dim"),
    )
    signals = StopSignals()
    try:
        with signals:
            try:
                stack.start()
                report = _perform(stack, console)
                _show(report, as_json=as_json)
            finally:
                # Nothing is under way that would have to be finished, or it was interrupted.
                patient_until = time.monotonic() + _STOP_SECONDS
                stack.stop(hurry=lambda: signals.in_a_hurry() or time.monotonic() > patient_until)
    except Interrupted:
        return 130
    return 1 if report.differences else 0


def _show(report: Report, *, as_json: bool) -> None:
    if as_json:
        print_json(report.numbers)
    else:
        tell(report)
    for difference in report.differences:
        click.echo(f"Difference: {difference}", err=True)


def _perform(stack: LocalStack, console: Console) -> Report:
    world = World(stack.sandbox_url)
    world.plan_faults(fault_plan())
    wiring = Wiring(stack.settings)
    try:
        console.print("two agencies plan a launch week …", style="dim")
        cast = Casting(wiring, world).set_up(wait_ready=stack.wait_ready)
        stack.start_web()
        console.print(f"the simulated world: {stack.sandbox_url}/   targets: {stack.web_url}/")
        kill = WorkerKill(stack=stack, cast=cast)
        kill.start()
        until = time.monotonic() + _AT_REST_WITHIN_SECONDS
        watching.wait(cast, kill, console=console, until=until)
        asked = person.decide(cast, world, actor=ACTOR)
        watching.wait(cast, kill, console=console, until=until)
        before = _snapshot(cast, world)
        console.print("every job is replayed …", style="dim")
        sent = replay(stack.settings.redis_url.get_secret_value(), state.targets(cast))
        report = report_of(_seen(cast, world, kill, asked), settings=shortened_settings())
        report.differences += _replay_differences(before, _snapshot(cast, world), sent=sent)
        report.differences += _story_differences(world, kill, stack)
        return report
    finally:
        wiring.stores.dispose()


def _seen(cast: Cast, world: World, kill: WorkerKill, asked: list[Asked]) -> Seen:
    return Seen(
        targets=[target for _, target in state.targets(cast)],
        ledger=world.ledger(),
        calls=world.calls(),
        requests=world.requests(),
        accounts=cast.accounts,
        texts=state.text_of(cast),
        asked=asked,
        acceptance_post=cast.acceptance.post_id,
        acceptance_status=state.post_status(cast),
        faulted_accounts=frozenset(faulted_accounts()),
        disturbed=kill.window,
    )


def _snapshot(cast: Cast, world: World) -> _Snapshot:
    statuses = {target.line.id: (target.line.status, target.seq) for _, target in state.targets(cast)}
    return _Snapshot(world.ledger(), statuses)


def _replay_differences(before: _Snapshot, after: _Snapshot, *, sent: int) -> list[str]:
    found = []
    if not sent:
        found.append("no job was replayed")
    if before.ledger != after.ledger:
        found.append(
            f"replaying every job changed the ledger: {len(before.ledger)} posts before, {len(after.ledger)} after"
        )
    moved = [key for key, value in after.statuses.items() if before.statuses.get(key) != value]
    found += [
        f"replaying every job moved target {key}: {before.statuses.get(key)} → {after.statuses[key]}"
        for key in moved
    ]
    return found


def _story_differences(world: World, kill: WorkerKill, stack: LocalStack) -> list[str]:
    """Say which fault was not met: a demo without its faults shows nothing."""
    found = [
        f"the fault {rule['kind']} on {rule['account']} was never met"
        for rule in world.faults()
        if not rule["fired"]
    ]
    if kill.killed_at is None:
        found.append("no worker was killed amid its requests")
    elif len([name for name in stack.supervisor.pids if name.startswith("publishing")]) < PUBLISHING_WORKERS:
        found.append("the killed worker was not started again")
    return found
