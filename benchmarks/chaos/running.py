"""One chaos run from an empty folder to its report.

Arrives: the plan. Leaves: the report's numbers and every difference. What must stay true: the time to drain
begins when the last disturbance has ended; whatever is not at rest when it is over is lost.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg

from benchmarks.chaos import settings
from benchmarks.chaos.cast import Cast, World
from benchmarks.chaos.disturbing import Disturbing
from benchmarks.chaos.people import People
from benchmarks.chaos.reading import Reading, refusals, struck
from benchmarks.chaos.verdict import verdict_of
from benchmarks.running import machine
from socialq.local.stack import LocalStack, Wanted
from socialq.wiring import Wiring

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.chaos.plan import Plan

_AHEAD_POSTS: Final = 40
"""So many posts are planned before the first is due; the others while it all goes on."""
_FIRST_AFTER: Final = timedelta(seconds=3)
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run."""

    numbers: dict[str, Any]
    differences: list[str]
    logs: str
    """The folder that was kept, if there is a difference."""


def run(plan: Plan, *, drain_seconds: float, keep: bool = False) -> Outcome:
    """Run the plan; `drain_seconds` is how long everything may take to come to rest."""
    with _stack() as (stack, home):
        wiring = Wiring(stack.settings)
        try:
            outcome = _perform(stack, wiring, plan, drain_seconds=drain_seconds)
        finally:
            wiring.stores.dispose()
        if keep or outcome.differences:
            kept = Path(tempfile.mkdtemp(prefix="socialq-chaos-")) / "logs"
            shutil.move(home / "logs", kept)
            outcome = Outcome(numbers=outcome.numbers, differences=outcome.differences, logs=str(kept))
    return outcome


@contextmanager
def _stack() -> Iterator[tuple[LocalStack, Path]]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SOCIALQ_")}
    wanted = Wanted(
        publishing=settings.PUBLISHING,
        preparing=settings.PREPARING,
        control=settings.CONTROL,
        beats=settings.BEATS,
        sandbox=True,
        web=False,
        any_ports=True,
    )
    with tempfile.TemporaryDirectory(prefix="socialq-chaos-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        environment = {**clean, "SOCIALQ_HOME": folder, **settings.environment()}
        environment |= {"SOCIALQ_ALLOW_PRIVATE_ADDRESSES": "true", "SOCIALQ_LOG_LEVEL": "info"}
        stack = LocalStack(env=environment, wanted=wanted, keep_data=False)
        try:
            stack.start()
            yield stack, home
        finally:
            for child in stack.supervisor.children.values() if hasattr(stack, "supervisor") else ():
                child.signal(signal.SIGCONT)
            stack.stop(hurry=lambda: True)


def _perform(stack: LocalStack, wiring: Wiring, plan: Plan, *, drain_seconds: float) -> Outcome:
    cast = Cast(wiring=wiring, world=World(stack.sandbox_url), plan=plan)
    cast.set_up()
    assert stack.servers is not None
    reading = Reading(stack.servers)
    if not stack.wait_ready(seconds=90):
        raise TimeoutError("the workers do not answer")
    cast.begins_at = datetime.now(UTC) + _FIRST_AFTER
    cast.schedule(plan.posts[:_AHEAD_POSTS])
    began = time.monotonic() + (cast.begins_at - datetime.now(UTC)).total_seconds()
    people = People(cast=cast)
    disturbing = Disturbing(stack=stack, cast=cast, on_revoked=people.revoked)
    people.start(began)
    # Planning goes on below the disturbances, as people's planning does.
    planner = _in_background(lambda: cast.schedule(plan.posts[_AHEAD_POSTS:]))
    disturbing.run(began)
    time.sleep(max(0.0, began + plan.seconds - time.monotonic()))
    planning_problem = planner()
    people.wait_acted()
    disturbing.heal()
    healed_at = time.monotonic()
    _wait_drained(reading, seconds=drain_seconds)
    drained_seconds = time.monotonic() - healed_at
    people.stop()
    rules = cast.world.ask("GET", "/_faults")
    ledger = cast.world.ask("GET", "/_ledger")
    targets = reading.targets(cast, people.cancelled)
    verdict = verdict_of(targets, ledger, refusals=refusals(rules), expected=set(cast.targets.values()))
    by_kind = Counter(disturbing.done) + struck(rules)
    problems = [*disturbing.problems, *people.problems, *planning_problem]
    if len(targets) != plan.targets:
        problems.append(f"{plan.targets} targets were to be planned, and {len(targets)} were")
    numbers = {
        "targets": len(targets),
        "faults_injected": sum(by_kind.values()),
        "by_kind": dict(sorted(by_kind.items())),
        "duplicates": verdict.duplicates,
        "lost": verdict.lost,
        "wrongly_failed": verdict.wrongly_failed,
        "needs_attention": verdict.needs_attention,
        "needs_attention_where_the_finder_was_blinded": verdict.attention_of_the_blind,
        "needs_attention_where_a_killed_worker_lost_it_again": verdict.lost_twice,
        "drain_seconds": round(drained_seconds, 1),
        "statuses": dict(sorted(verdict.statuses.items())),
        "live_posts": len(ledger),
        "people": {
            "done": dict(sorted(people.done.items())),
            "refused": dict(sorted(people.refused.items())),
        },
        "seed": plan.seed,
        "seconds": plan.seconds,
        "plan": plan.digest,
        "platforms": sorted({account.platform for account in plan.accounts}),
        "accounts": len(plan.accounts),
        "tenants": plan.tenants,
        "settings": settings.told(),
        "machine": machine(),
    }
    differences = [*verdict.differences, *problems]
    if differences:
        _tell_stories(reading, differences)
    return Outcome(numbers=numbers, differences=differences, logs="")


def _wait_drained(reading: Reading, *, seconds: float) -> None:
    give_up_at = time.monotonic() + seconds
    while time.monotonic() < give_up_at:
        try:
            if reading.unfinished() == 0:
                return
        except psycopg.OperationalError:
            pass
        time.sleep(0.25)


def _in_background(act: Any) -> Any:
    """Start `act` in a thread; what is returned waits for it and gives its problem, if any, in a list."""
    import threading

    problems: list[str] = []

    def guarded() -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - told at the end
            problems.append(f"planning ended: {type(error).__name__}: {error}")

    thread = threading.Thread(target=guarded, name="planner", daemon=True)
    thread.start()

    def wait() -> list[str]:
        thread.join(timeout=600)
        return problems

    return wait


def _tell_stories(reading: Reading, differences: list[str]) -> None:
    """Print the histories of the targets that differ: they are gone with the database otherwise."""
    named = [
        word
        for line in differences[:_SHOWN]
        for word in line.replace(";", " ").split()
        if word.count("-") == 4
    ]
    for row in reading.story(named[:_SHOWN]):
        moved = f"{row['from_status']} → {row['to_status']}"
        print(
            f"{row['target_id']} {row['at']:%H:%M:%S.%f} {moved} {row['reason']} {row['detail']} [{row['actor']}]",
            file=sys.stderr,
        )
