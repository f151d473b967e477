"""A worker that does not consume any more is ended and started again; one that merely waits is not."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from celery import Celery

from socialq.local.stack import LocalStack, Wanted
from socialq.store.central import heartbeats
from socialq.upkeep.watchdog import GIVEN_UP
from socialq.wiring import Wiring
from tests.integration.pipeline.world import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

DEAF_SECONDS = 3.0
SETTINGS = {
    "CANARY_SECONDS": "0.5",
    "DEAF_SECONDS": str(DEAF_SECONDS),
    "DRAIN_SECONDS": "5",
    "PUBLISH_DEADLINE_SECONDS": "5",
    "PUBLISHING_CONCURRENCY": "4",
}

# Workers here learn one order again, by which a test makes them deaf.
OBEDIENT = """
from celery.signals import worker_ready


def obey(**_):
    from celery.worker import control

    control.Panel.data["cancel_consumer"] = control.cancel_consumer


worker_ready.connect(obey, weak=False)
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """One publishing worker, one control worker, real servers, and the supervisor of `socialq up`."""
    home = tmp_path_factory.mktemp("canary")
    (home / "python").mkdir()
    (home / "python" / "sitecustomize.py").write_text(OBEDIENT, encoding="utf-8")
    env = {f"SOCIALQ_{name}": value for name, value in SETTINGS.items()}
    started = LocalStack(
        env={
            "PATH": "/usr/bin:/bin",
            **env,
            "PYTHONPATH": str(home / "python"),
            "SOCIALQ_HOME": str(home),
            "SOCIALQ_CANARY_FILE": str(home / "canary"),
        },
        wanted=Wanted(web=False, any_ports=True, beats=1),
        keep_data=False,
        postgres_options={"fsync": "off"},
    )
    started.start()
    try:
        assert started.wait_ready(seconds=60)
        yield started
    finally:
        started.stop(hurry=lambda: True)


@pytest.fixture(scope="module")
def wiring(stack: LocalStack) -> Iterator[Wiring]:
    made = Wiring(stack.settings)
    yield made
    made.stores.dispose()


@pytest.fixture(scope="module")
def celery(stack: LocalStack) -> Iterator[Celery]:
    """A client that can send control commands."""
    app = Celery("tests", set_as_current=False)
    app.config_from_object("celeryconfig")
    app.conf.update(broker_url=stack.settings.redis_url.get_secret_value())
    yield app
    app.close()


def canaries(wiring: Wiring, queue: str) -> dict[str, dict[str, Any]]:
    """The heartbeats of workers of a queue, by name."""
    with wiring.stores.central.transaction() as session:
        beats = heartbeats.read_all(session)
    return {row["name"]: row for row in beats if row["name"].startswith(f"canary:{queue}:")}


def fresh(wiring: Wiring, queue: str, pid: int) -> bool:
    ages = [row["age_seconds"] for name, row in canaries(wiring, queue).items() if name.endswith(f":{pid}")]
    return bool(ages) and ages[0] < 2.0


def pid_of(stack: LocalStack, name: str) -> int:
    return stack.supervisor.children[name].process.pid


def log_of(stack: LocalStack, name: str) -> str:
    return stack.supervisor.children[name].log_path.read_text(encoding="utf-8")


def test_each_worker_consumes_its_canaries_and_says_so(stack: LocalStack, wiring: Wiring):
    """A heartbeat for each process, named by its queue, with the key it encrypts with; and a file is touched."""
    for queue in ("publishing", "control"):
        pid = pid_of(stack, f"{queue}-1")
        wait_until(lambda queue=queue, pid=pid: fresh(wiring, queue, pid), what=f"a canary of {queue}")
    (row,) = canaries(wiring, "publishing").values()
    assert row["detail"] == {"encryption_key_id": "k1"}
    assert (stack.home / "canary").exists()


@pytest.mark.parametrize("name", ["publishing-1", "control-1"])
def test_a_worker_that_stopped_consuming_its_queue_is_ended_and_restarted(
    stack: LocalStack, wiring: Wiring, celery: Celery, name: str
):
    """Its consumer is cancelled: it answers pings, runs on, takes nothing. The watchdog ends it with code 70."""
    queue = name.partition("-")[0]
    before = pid_of(stack, name)
    process = stack.supervisor.children[name].process
    restarts = stack.supervisor.children[name].restarts
    celery.control.cancel_consumer(queue)
    wait_until(
        lambda: process.poll() is not None, seconds=DEAF_SECONDS + 12, what="the end of the deaf worker"
    )
    assert process.returncode == GIVEN_UP
    wait_until(lambda: stack.supervisor.children[name].restarts == restarts + 1, what="the restart")
    after = pid_of(stack, name)
    assert after != before
    wait_until(lambda: fresh(wiring, queue, after), seconds=20, what="a canary of the new worker")
    assert "worker_given_up" in log_of(stack, name)


def test_a_worker_that_lost_only_its_canary_queue_is_ended(stack: LocalStack, wiring: Wiring, celery: Celery):
    """Canaries wait in Redis and nobody takes them: just what a read that hangs looks like."""
    pid = pid_of(stack, "publishing-1")
    wait_until(lambda: fresh(wiring, "publishing", pid), seconds=20, what="a canary")
    process = stack.supervisor.children["publishing-1"].process
    (node,) = [
        name for name in celery.control.ping(timeout=2) for name in name if name.startswith("publishing-1@")
    ]
    celery.control.cancel_consumer(f"canary.{node}")
    wait_until(
        lambda: process.poll() is not None, seconds=DEAF_SECONDS + 12, what="the end of the deaf worker"
    )
    assert process.returncode == GIVEN_UP
    after = wait_until(lambda: pid_of(stack, "publishing-1") != pid and pid_of(stack, "publishing-1"))
    wait_until(lambda: fresh(wiring, "publishing", after), seconds=20, what="a canary of the new worker")


def test_neither_a_stalled_redis_nor_a_stopped_process_is_taken_for_a_deaf_worker(
    stack: LocalStack, wiring: Wiring
):
    """Both stand still for longer than a deaf worker is borne, and the same processes go on afterwards."""
    assert stack.servers is not None
    pids = {name: pid_of(stack, name) for name in ("publishing-1", "control-1")}
    wait_until(lambda: fresh(wiring, "publishing", pids["publishing-1"]), seconds=20, what="a canary")
    stack.supervisor.kill("control-1", signal.SIGSTOP)
    stack.servers.valkey.kill(signal.SIGSTOP)
    try:
        still_until = time.monotonic() + DEAF_SECONDS + 3
        wait_until(lambda: time.monotonic() > still_until, seconds=30)
    finally:
        stack.servers.valkey.kill(signal.SIGCONT)
        stack.supervisor.kill("control-1", signal.SIGCONT)
    for queue in ("publishing", "control"):
        wait_until(
            lambda queue=queue: fresh(wiring, queue, pids[f"{queue}-1"]), seconds=30, what="a canary again"
        )
    assert {name: pid_of(stack, name) for name in pids} == pids


def test_a_worker_keeps_few_messages_in_hand_that_no_thread_has_begun(celery: Celery, stack: LocalStack):
    """What it kept beside its busy threads would wait for them while another worker has nothing to do."""
    stats: dict[str, Any] = {}

    def told() -> bool:
        stats.update(celery.control.inspect(timeout=2.0).stats() or {})
        return any(name.startswith("publishing") for name in stats)

    wait_until(told)
    kept = {
        name.split("@")[0].rstrip("-0123456789"): answer["prefetch_count"] for name, answer in stats.items()
    }
    # Four publishing threads: two at least, so that none starves.
    assert kept["publishing"] == 2
    assert kept["control"] == stack.settings.control_concurrency // 4
