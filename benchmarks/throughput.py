"""How many targets a second go through the whole pipeline, beside the same work in a bare Celery task.

`python -m benchmarks.throughput --targets 3000 --json`: one account per target, all due at one instant;
schedule, relay, dispatch, guards, claim, call and settle, timed from the first due to the last settled, against
a loopback stub. The reference (`benchmarks/bare_pipeline.py`) runs in the same run, on the same servers, with
the same pool and worker count. `ratio` is ours over the reference's.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from benchmarks import bare_pipeline
from benchmarks.running import machine, report, running_stack, running_stub, wait_until
from benchmarks.seed import Seeded, analyze, seed_targets, seed_tenant

if TYPE_CHECKING:
    from socialq.local.stack import LocalStack
    from socialq.wiring import Wiring

_THREADS = 32
_LEAD = timedelta(seconds=4)


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3, help="ours and the reference take turns this often")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    settings = {"SOCIALQ_PUBLISHING_CONCURRENCY": str(_THREADS)}
    ours, bare = [], []
    with running_stub() as stub, running_stack(settings) as (stack, wiring):
        # Workers that have just started are still importing.
        measure(wiring, [seed_tenant(wiring, name="warm", accounts=2 * _THREADS, base_url=stub)])
        for number in range(options.rounds):
            seeded = seed_tenant(wiring, name=f"round{number}", accounts=options.targets, base_url=stub)
            ours.append(options.targets / measure(wiring, [seeded]))
            bare.append(options.targets / _reference(stack, stub, options.targets))
    ratios = [mine / theirs for mine, theirs in zip(ours, bare, strict=True)]
    report(
        {
            "targets": options.targets,
            "per_second": round(statistics.median(ours), 1),
            "reference_per_second": round(statistics.median(bare), 1),
            "ratio": round(statistics.median(ratios), 2),
            "rounds": [round(ratio, 2) for ratio in ratios],
            "threads": _THREADS,
            "machine": machine(),
        },
        as_json=options.json,
    )


def measure(wiring: Wiring, tenants: list[Seeded]) -> float:
    """Schedule one target for each account of `tenants`, all due at one instant; seconds until all are settled."""
    count = sum(len(seeded.accounts) for seeded in tenants)
    seeding_seconds = timedelta(seconds=count / 1000 + len(tenants) / 100)
    due = datetime.now(UTC) + _LEAD + seeding_seconds
    for seeded in tenants:
        seed_targets(
            wiring, seeded, [(account, due) for account in seeded.accounts], label=str(seeded.tenant)[-8:]
        )
    analyze(wiring)
    late_by = datetime.now(UTC) - due
    if late_by > timedelta(0):
        raise TimeoutError(f"seeding took {late_by} longer than it was given")
    cells = [wiring.stores.cell_of(seeded.tenant) for seeded in tenants]
    database = cells[0].machine

    def settled() -> bool:
        [row] = database.autocommit(_UNSETTLED, {"tenants": [seeded.tenant for seeded in tenants]})
        return bool(row["unsettled"] == 0)

    time.sleep(max(0.0, (due - datetime.now(UTC)).total_seconds()))
    wait_until(settled, seconds=60 + count / 50, what=f"{count} targets", pause_seconds=0.1)
    [row] = database.autocommit(_LAST, {"tenants": [seeded.tenant for seeded in tenants]})
    return float((row["last"] - due).total_seconds())


_UNSETTLED = """
SELECT count(*) AS unsettled FROM (
    SELECT FROM cell.post_targets WHERE tenant_id = ANY (%(tenants)s) AND next_kind IS NOT NULL LIMIT 1) x
"""

_LAST = "SELECT max(published_at) AS last FROM cell.post_targets WHERE tenant_id = ANY (%(tenants)s)"


def _reference(stack: LocalStack, stub: str, count: int) -> float:
    database_url = stack.settings.database_url.get_secret_value()
    broker = stack.settings.redis_url.get_secret_value()
    ids = bare_pipeline.prepare(database_url, count)
    environment = {
        **stack.child_env,
        "BENCHMARK_BROKER": broker,
        "BENCHMARK_STUB": stub,
        "BENCHMARK_DATABASE": database_url,
    }
    command = [
        "-m",
        "celery",
        "-A",
        "benchmarks.bare_pipeline",
        "worker",
        "-P",
        "threads",
        "-c",
        str(_THREADS),
    ]
    options = ["-Q", "bare", "--without-mingle", "--without-gossip", "-l", "error"]
    worker = subprocess.Popen(
        [sys.executable, *command, *options], env=environment, stdout=subprocess.DEVNULL
    )
    try:
        app = bare_pipeline.make_app(broker)
        bare_pipeline.send(app, ids[:1])
        wait_until(lambda: bare_pipeline.done(database_url) >= 1, seconds=30, what="the reference worker")
        started = time.monotonic()
        bare_pipeline.send(app, ids[1:])
        wait_until(
            lambda: bare_pipeline.done(database_url) >= count,
            seconds=60 + count / 50,
            what="the reference",
            pause_seconds=0.1,
        )
        return time.monotonic() - started
    finally:
        worker.terminate()
        worker.wait()


if __name__ == "__main__":
    main()
