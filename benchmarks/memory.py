"""What a publishing worker weighs while every one of its slots waits for a platform.

`python -m benchmarks.memory --slots 64 --json`: a platform that takes a second for each call, `--slots` slots
and enough posts to keep all of them busy for `--seconds`. Reports the largest resident set of the worker, and
how many calls the platform had at once. The reference, in the same run: a bare Celery worker with as many threads
on the same stub.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import reference
from benchmarks.running import (
    machine,
    most_at_once,
    received,
    report,
    running_stack,
    running_stub,
    wait_until,
)
from benchmarks.seed import seed_tenant
from benchmarks.throughput import measure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.local.stack import LocalStack

_CALL_SECONDS = 1.0


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    count = options.slots * options.seconds
    # All accounts are on one platform: its share of the slots must be all of them here.
    settings = {
        "SOCIALQ_PUBLISHING_CONCURRENCY": str(options.slots),
        "SOCIALQ_PLATFORM_SHARE": "1.0",
    }
    with running_stub(delay_seconds=_CALL_SECONDS) as stub, running_stack(settings) as (stack, wiring):
        seeded = seed_tenant(wiring, name="memory", accounts=count, base_url=stub)
        [pid] = [
            child.process.pid
            for name, child in stack.supervisor.children.items()
            if name.startswith("publishing")
        ]
        with _largest(pid) as ours:
            seconds = measure(wiring, [seeded])
        at_once = most_at_once(stub)
        with _bare_worker(stack, stub, options.slots) as bare_pid, _largest(bare_pid) as bare:
            _keep_busy(stack, stub, count=options.slots * 5)
    report(
        {
            "slots": options.slots,
            "calls": count,
            "calls_at_once": at_once,
            "seconds": round(seconds, 1),
            "resident_mb": round(max(ours) / 1e6, 1),
            "reference_resident_mb": round(max(bare) / 1e6, 1),
            "machine": machine(),
        },
        as_json=options.json,
    )


@contextmanager
def _largest(pid: int) -> Iterator[list[int]]:
    """Collect the resident set of a process, in bytes, ten times a second."""
    seen: list[int] = [_resident_bytes(pid)]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.1):
            seen.append(_resident_bytes(pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        ended.set()
        watcher.join()


def _resident_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


@contextmanager
def _bare_worker(stack: LocalStack, stub: str, slots: int) -> Iterator[int]:
    environment = {
        **stack.child_env,
        "BENCHMARK_BROKER": stack.settings.redis_url.get_secret_value(),
        "BENCHMARK_STUB": stub,
    }
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "benchmarks.reference", "worker", "-P", "threads",
         "-c", str(slots), "-Q", "bare", "--without-mingle", "--without-gossip", "-l", "error"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield worker.pid
    finally:
        worker.terminate()
        worker.wait()


def _keep_busy(stack: LocalStack, stub: str, *, count: int) -> None:
    app = reference.make_app(stack.settings.redis_url.get_secret_value(), stub)
    before = len(received(stub))
    for number in range(count):
        app.send_task("bare.post", args=(f"bare {number}", stub))
    wait_until(lambda: len(received(stub)) >= before + count, seconds=120, what="the reference")
    time.sleep(_CALL_SECONDS)


if __name__ == "__main__":
    main()
