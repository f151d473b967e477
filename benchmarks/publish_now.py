"""How long "publish now" takes: from the commit of the schedule to the request that the platform sees.

`python -m benchmarks.publish_now --posts 200 --json`: posts are written, approved and scheduled for now one after
another, as a person would by the CLI or the API, on a stack that has nothing else to do. The reference, in the
same run: a message put into the same Redis for a bare Celery task that posts to the same stub.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import requests

from benchmarks import reference
from benchmarks.running import machine, percentile, received, report, running_stack, running_stub, wait_until
from benchmarks.seed import analyze, seed_tenant
from socialq.desk import approve, compose, schedule
from socialq.domain.local_time import Resolved

if TYPE_CHECKING:
    from uuid import UUID

    from benchmarks.seed import Seeded
    from socialq.local.stack import LocalStack
    from socialq.wiring import Wiring

_PAUSE_SECONDS = 0.05


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with running_stub() as stub, running_stack({}) as (stack, wiring):
        seeded = seed_tenant(wiring, name="now", accounts=options.posts + 20, base_url=stub)
        analyze(wiring)
        warm, rest = seeded.accounts[:20], seeded.accounts[20:]
        _ours(wiring, seeded, stub, warm, label="warm")
        ours = _ours(wiring, seeded, stub, rest, label="now")
        bare = _reference(stack, stub, options.posts)
    report(
        {
            "posts": options.posts,
            "p50_ms": round(percentile(ours, 50), 1),
            "p99_ms": round(percentile(ours, 99), 1),
            "max_ms": round(max(ours), 1),
            "reference_p50_ms": round(percentile(bare, 50), 1),
            "reference_p99_ms": round(percentile(bare, 99), 1),
            "machine": machine(),
        },
        as_json=options.json,
    )


def _ours(
    wiring: Wiring, seeded: Seeded, stub: str, accounts: tuple[UUID, ...], *, label: str
) -> list[float]:
    requests.delete(f"{stub}/_received", timeout=10)
    committed = {}
    for number, account in enumerate(accounts):
        text = f"{label} {number}"
        post = compose.create_post(
            wiring.stores,
            tenant=seeded.tenant,
            client=seeded.client,
            account_ids=[account],
            parts=[{"text": text}],
            actor="benchmark",
        )
        approve.approve(
            wiring.stores,
            tenant=seeded.tenant,
            post_id=post.post_id,
            version_id=post.version_id,
            approved_by="benchmark",
        )
        now = datetime.now(UTC)
        schedule.schedule(
            wiring.stores,
            tenant=seeded.tenant,
            target_ids=[post.targets[0].id],
            resolved=Resolved(
                instant_utc=now, local=now.replace(tzinfo=None), zone="UTC", zone_source="client"
            ),
            now=now,
            actor="benchmark",
        )
        # The call returns when it has committed, and told the relay.
        committed[text] = time.time()
        time.sleep(_PAUSE_SECONDS)
    return _waits(stub, committed)


def _reference(stack: LocalStack, stub: str, count: int) -> list[float]:
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
        requests.delete(f"{stub}/_received", timeout=10)
        app = reference.make_app(broker, stub)
        app.send_task("bare.post", args=("warm", stub))
        wait_until(lambda: len(received(stub)) == 1, seconds=30, what="the reference worker")
        requests.delete(f"{stub}/_received", timeout=10)
        sent = {}
        for number in range(count):
            text = f"bare {number}"
            app.send_task("bare.post", args=(text, stub))
            sent[text] = time.time()
            time.sleep(_PAUSE_SECONDS)
        return _waits(stub, sent)
    finally:
        worker.terminate()
        worker.wait()


def _waits(stub: str, since: dict[str, float]) -> list[float]:
    """Milliseconds from each instant to its request; one that was sent before the call returned waited none."""
    wait_until(lambda: len(received(stub)) >= len(since), seconds=60, what=f"{len(since)} posts")
    return [max(0.0, (at - since[text]) * 1000) for text, at in received(stub)]


if __name__ == "__main__":
    main()
