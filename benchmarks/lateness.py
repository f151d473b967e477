"""How late posts leave: the publish request as the stub platform sees it, minus the due time.

`python -m benchmarks.lateness --rate 50 --seconds 20 --json` schedules rate x seconds targets on 200 accounts,
evenly spaced, and lets the whole pipeline publish them. The reference, in the same run: bare Celery tasks that
a timer sends at the due time to a worker with as many threads, each posting to the same stub.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import requests

from benchmarks import reference
from benchmarks.running import machine, percentile, received, report, running_stack, running_stub, wait_until
from benchmarks.seed import seed_future, seed_targets, seed_tenant

if TYPE_CHECKING:
    from benchmarks.seed import Seeded
    from socialq.local.stack import LocalStack
    from socialq.wiring import Wiring

_ACCOUNTS = 200
_LEAD_SECONDS = 6.0


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=50, help="targets due per second")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument(
        "--future", type=int, default=0, help="further targets that are due next week and later"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    count = int(options.rate * options.seconds)
    with running_stub() as stub, running_stack({"SOCIALQ_PUBLISHING_CONCURRENCY": "32"}) as (stack, wiring):
        seeded = seed_tenant(wiring, name="lateness", accounts=_ACCOUNTS, base_url=stub)
        if options.future:
            seed_future(wiring, seeded, options.future)
        ours = _ours(wiring, seeded, stub, count=count, rate=options.rate)
        bare = _reference(stack, stub, count=count, rate=options.rate)
    report(
        {
            "targets": count,
            "future": options.future,
            "p50_ms": round(percentile(ours, 50), 1),
            "p99_ms": round(percentile(ours, 99), 1),
            "max_ms": round(max(ours), 1),
            "reference_p50_ms": round(percentile(bare, 50), 1),
            "reference_p99_ms": round(percentile(bare, 99), 1),
            "machine": machine(),
        },
        as_json=options.json,
    )


def _ours(wiring: Wiring, seeded: Seeded, stub: str, *, count: int, rate: float) -> list[float]:
    start = datetime.now(UTC) + timedelta(seconds=_LEAD_SECONDS)
    due = [(seeded.accounts[n % _ACCOUNTS], start + timedelta(seconds=n / rate)) for n in range(count)]
    instants = seed_targets(wiring, seeded, due, label="due")
    _await(stub, count, seconds=_LEAD_SECONDS + count / rate + 60)
    return [(at - instants[text].timestamp()) * 1000 for text, at in received(stub)]


def _reference(stack: LocalStack, stub: str, *, count: int, rate: float) -> list[float]:
    requests.delete(f"{stub}/_received", timeout=10)
    broker = stack.settings.redis_url.get_secret_value()
    environment = {**stack.child_env, "BENCHMARK_BROKER": broker, "BENCHMARK_STUB": stub}
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "benchmarks.reference", "worker", "-P", "threads", "-c", "32",
         "-Q", "bare", "--without-mingle", "--without-gossip", "-l", "warning"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        app = reference.make_app(broker, stub)
        app.send_task("bare.post", args=("warm", stub))
        _await(stub, 1, seconds=30)
        requests.delete(f"{stub}/_received", timeout=10)
        start = time.time() + 1.0
        for number in range(count):
            time.sleep(max(0.0, start + number / rate - time.time()))
            app.send_task("bare.post", args=(f"bare {number}", stub))
        _await(stub, count, seconds=60)
        return [(at - (start + int(text.split()[1]) / rate)) * 1000 for text, at in received(stub)]
    finally:
        worker.terminate()
        worker.wait()


def _await(stub: str, count: int, *, seconds: float) -> None:
    wait_until(
        lambda: len(received(stub)) >= count, seconds=seconds, what=f"{count} posts", pause_seconds=0.5
    )


if __name__ == "__main__":
    main()
