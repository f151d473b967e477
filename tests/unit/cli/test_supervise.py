"""The supervisor, with small programs in place of services."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from socialq.local.process import process_runs, wait_until
from socialq.local.services import Role, Service
from socialq.local.supervise import Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLEEP = "import time; time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


def service(name: str, code: str, *, role: Role = "beat", grace_seconds: float = 5.0) -> Service:
    return Service(name=name, role=role, command=(sys.executable, "-c", code), grace_seconds=grace_seconds)


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    built = Supervisor(env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path, logs=tmp_path / "logs")
    yield built
    built.stop(hurry=lambda: True)


def test_a_killed_child_is_started_again(supervisor: Supervisor) -> None:
    """After SIGKILL the same service runs under another pid, and the restart is counted."""
    supervisor.start(service("one", SLEEP))
    supervisor.watch()
    first = supervisor.pids["one"]

    supervisor.kill("one")

    assert wait_until(lambda: supervisor.pids.get("one", first) != first, seconds=10)
    assert supervisor.children["one"].restarts == 1
    assert not process_runs(first)


def test_a_child_that_always_fails_is_not_restarted_in_a_tight_loop(supervisor: Supervisor) -> None:
    """The pauses double: in 1.5 seconds there is room for three or four restarts, not for hundreds."""
    supervisor.start(service("broken", "raise SystemExit(3)"))
    supervisor.watch()

    assert wait_until(lambda: supervisor.children["broken"].restarts >= 2, seconds=10)
    began = time.monotonic()
    wait_until(lambda: time.monotonic() > began + 1.5, seconds=3)

    assert supervisor.children["broken"].restarts <= 5


def test_without_restarts_a_dead_child_stays_dead_until_it_is_started(tmp_path: Path) -> None:
    """What acceptance tests need: they decide when a role comes back."""
    deaths: list[str] = []
    supervisor = Supervisor(
        env={},
        cwd=tmp_path,
        logs=tmp_path,
        restarts=False,
        on_death=lambda child: deaths.append(child.service.name),
    )
    supervisor.start(service("one", SLEEP))
    supervisor.watch()
    try:
        supervisor.kill("one")
        assert wait_until(lambda: deaths == ["one"], seconds=5)
        assert supervisor.pids == {}

        supervisor.start(service("one", SLEEP))
        assert list(supervisor.pids) == ["one"]
    finally:
        supervisor.stop(hurry=lambda: True)


def test_stop_gives_grace_and_then_kills(supervisor: Supervisor) -> None:
    """A child that ignores SIGTERM is killed when its grace is over; a polite one is not waited for."""
    supervisor.start(service("polite", SLEEP, role="web"))
    child = supervisor.start(service("stubborn", STUBBORN, grace_seconds=1.0))
    assert wait_until(lambda: "up" in child.log_path.read_text(), seconds=10)
    pids = list(supervisor.pids.values())

    began = time.monotonic()
    supervisor.stop()
    took = time.monotonic() - began

    assert 0.9 < took < 4
    assert child.process.returncode == -signal.SIGKILL
    assert not any(process_runs(pid) for pid in pids)


def test_stop_ends_workers_before_what_they_talk_to(supervisor: Supervisor) -> None:
    """The sandbox is stopped last, so that a draining worker still gets its answers."""
    slow = (
        "import signal, sys, time;"
        " signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.5), sys.exit(0)));"
        " print('up', flush=True); time.sleep(60)"
    )
    worker = supervisor.start(service("publishing-1", slow, role="publishing"))
    sandbox = supervisor.start(service("sandbox", SLEEP, role="sandbox"))
    assert wait_until(lambda: "up" in worker.log_path.read_text(), seconds=10)
    seen: list[bool] = []

    def hurry() -> bool:
        if worker.alive:
            seen.append(sandbox.alive)
        return False

    supervisor.stop(hurry=hurry)

    assert seen
    assert all(seen)
    assert worker.process.returncode == 0


def test_a_second_start_of_a_running_service_is_refused(supervisor: Supervisor) -> None:
    """Two processes of one name would be one too many to know of."""
    supervisor.start(service("one", SLEEP))

    with pytest.raises(ValueError, match="runs already"):
        supervisor.start(service("one", SLEEP))


def test_children_get_a_session_of_their_own(supervisor: Supervisor) -> None:
    """Ctrl-C goes to the terminal's foreground group: it must not reach the children."""
    import os

    child = supervisor.start(service("one", SLEEP))

    assert os.getpgid(child.process.pid) == child.process.pid
    assert os.getpgid(child.process.pid) != os.getpgid(0)
