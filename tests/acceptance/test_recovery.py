"""What fails comes back, and work goes on by itself within a minute: the lines of `docs/reliability.md` that no
other test here shows."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import psycopg
import pytest

from benchmarks.chaos.skewed import skewed_command
from socialq.store.central import heartbeats
from tests.acceptance import steps
from tests.acceptance.harness import Stack
from tests.acceptance.steps import fault

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

WITHIN_SECONDS = 60
"""From the end of a fault until everything that was due has left."""
HOUR = 3600.0
STEP_AFTER_SECONDS = 6.0
"""From the start of a process to the step of its clock: it is at work by then."""

CUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND datname = %(name)s
"""


def cut_connections(stack: Stack) -> int:
    """End every session of the stack's database; returns how many there were."""
    servers = stack._local.servers
    assert servers is not None
    name = servers.database_url.rpartition("/")[2]
    with psycopg.connect(servers.postgres.admin_url, autocommit=True) as connection:
        return len(connection.execute(CUT, {"name": name}).fetchall())


def start_with_clock(
    stack: Stack,
    role: Literal["publishing", "control", "beat"],
    *,
    seconds: float,
    after_seconds: float = 0.0,
) -> None:
    """Kill the first process of a role and start it again with its clock so far off."""
    stack.kill(role)
    service = stack._local.service(role, 1)
    command = skewed_command(service.command, seconds=seconds, after_seconds=after_seconds)
    stack._local.supervisor.start(replace(service, command=command))


def restart_truly(stack: Stack, role: Literal["publishing", "control", "beat"]) -> None:
    """Give a role its right clock again."""
    stack.kill(role)
    stack.start(role, wait=False)


def check_once(stack: Stack, *target_ids: UUID, within: float = WITHIN_SECONDS) -> None:
    """All are published within a minute, each by one accepted request, and both sides agree."""
    steps.wait_published(stack, *target_ids, seconds=within)
    assert stack.sandbox.accepted() == len(target_ids)
    stack.check_ledger()
    steps.check_owners(stack)


def test_everything_is_killed_at_once_and_goes_on_by_itself(tmp_path: Path) -> None:
    """Every worker and beat is killed in the midst of requests, and Valkey forgets its messages: all is started
    again by its supervisor, and each post is live once."""
    with Stack(tmp_path, publishing=2, control=2, beats=2, restarts=True) as stack:
        names = [f"all{number}" for number in range(8)]
        made = steps.accounts(stack, *names)
        stack.sandbox.faults(*(fault(name, "slow", delay_ms=2000) for name in names[:4]))
        first = stack.schedule(made, ["Killed amid it"], seconds=1)
        later = steps.schedule(stack, made, [{"text": "Due while all are dead"}], at=steps.in_seconds(2.5))
        steps.wait_struck(stack)
        for role, pids in stack.pids.items():
            if role != "sandbox":
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
        stack.flush_valkey()
        check_once(stack, *first, *later)


def test_connections_that_are_cut_lose_nothing(stack: Stack) -> None:
    """Every database session is ended, three times in a row, with requests in flight: their answers are recorded
    as what they are, and what is due meanwhile leaves."""
    names = [f"cut{number}" for number in range(6)]
    made = steps.accounts(stack, *names)
    stack.sandbox.faults(*(fault(name, "slow", delay_ms=1500) for name in names))
    in_flight = stack.schedule(made, ["In flight"])
    meanwhile = steps.schedule(
        stack, steps.accounts(stack, "cutlate"), [{"text": "Meanwhile"}], at=steps.in_seconds(2)
    )
    steps.wait_struck(stack)
    cut = 0
    for _ in range(3):
        cut += cut_connections(stack)
        time.sleep(0.7)
    assert cut > 6
    check_once(stack, *in_flight, *meanwhile)
    for target_id in in_flight:
        # One attempt: its answer was recorded, or, where its worker had given up waiting, it was found.
        assert [attempt.state for attempt in stack.target(target_id).attempts] in (["accepted"], ["found"])


def test_a_preparing_worker_that_dies_amid_an_upload_delays_no_post(stack: Stack) -> None:
    """It is killed while it uploads ahead of the slot, and stays dead: the upload is made by another, and the
    post is live once."""
    account = stack.account("upload")
    picture = steps.picture(stack)
    stack.sandbox.faults(fault("upload", "hang_before", step="prepare"))
    (target_id,) = steps.schedule(
        stack, [account], [{"text": "With a picture", "media": [picture]}], at=steps.in_seconds(5)
    )
    steps.wait_struck(stack)
    stack.kill("preparing")
    check_once(stack, target_id)


def test_a_full_log_disk_stops_nothing(stack: Stack) -> None:
    """Not one line can be written any more, by workers and beat alike: posts leave, lost answers are found, and
    a worker is told to end and ends."""
    logs = stack.home / "logs"
    names = ("publishing-1", "control-1", "beat-1", "preparing-1")
    try:
        for name in names:
            role = name.partition("-")[0]
            stack.kill(role)  # type: ignore[arg-type]
            (logs / f"{name}.log").rename(logs / f"{name}.log.kept")
            (logs / f"{name}.log").symlink_to("/dev/full")
            stack.start(role, wait=False)  # type: ignore[arg-type]
        steps.wait_answering(stack)
        made = steps.accounts(stack, "full0", "full1", "full2")
        stack.sandbox.faults(fault("full1", "accept_then_reset"), fault("full2", "refuse_503"))
        check_once(stack, *stack.schedule(made, ["No log"]))
        worker = stack._local.supervisor.children["publishing-1"]
        stack.kill("publishing", signal.SIGTERM)
        stack.wait_until(lambda: not worker.alive, seconds=20, what="the worker's end")
        # 120: Python could not write its last words, which is what a full disk is about.
        assert worker.process.returncode in {0, 120}
    finally:
        for name in names:
            if name in stack._local.supervisor.pids:
                stack._local.supervisor.kill(name)
            (logs / f"{name}.log").unlink(missing_ok=True)


@pytest.mark.parametrize("seconds", [-HOUR, HOUR], ids=["behind", "ahead"])
def test_a_publishing_worker_whose_clock_is_wrong_sends_once_and_in_time(
    stack: Stack, seconds: float
) -> None:
    """Only the database's clock says what is due, how long a lease lasts and when to look: a worker whose clock
    is an hour off sends in time, finds a lost answer, sends again what was not accepted, and waits as it is told."""
    word = "behind" if seconds < 0 else "ahead"
    names = [f"{word}{number}" for number in range(4)]
    made = steps.accounts(stack, *names)
    stack.sandbox.faults(
        fault(names[1], "accept_then_reset"),
        fault(names[2], "reset_before"),
        fault(names[3], "rate_limit", retry_after_s=3),
    )
    start_with_clock(stack, "publishing", seconds=seconds)
    try:
        steps.wait_answering(stack)
        target_ids = stack.schedule(made, ["At its time"], seconds=1)
        check_once(stack, *target_ids, within=30)
        assert 0 <= steps.lateness_seconds(stack)[target_ids[0]] < 3
    finally:
        restart_truly(stack, "publishing")


def test_a_worker_whose_clock_is_wrong_holds_an_account_for_the_right_time(stack: Stack) -> None:
    """A worker whose clock is an hour ahead meets one lost answer too many: the breaker's hold is counted by the
    database's clock, like everything that others wait for."""
    account = stack.account("often_lost")
    stack.sandbox.faults(fault("often_lost", "accept_then_reset", times=None))
    start_with_clock(stack, "publishing", seconds=HOUR)
    try:
        steps.wait_answering(stack)
        for number in range(stack._local.settings.breaker_troubles):
            stack.schedule([account], [f"Lost {number}"])
        stack.wait_until(lambda: held_seconds(stack, account.id) is not None, seconds=60, what="the hold")
        held = held_seconds(stack, account.id)
        assert held is not None
        assert abs(held - stack._local.settings.breaker_hold_seconds) < 60
    finally:
        restart_truly(stack, "publishing")


def held_seconds(stack: Stack, account_id: UUID) -> float | None:
    """For how long the breaker holds an account, from when it was set."""
    query = (
        "SELECT extract(epoch FROM until - set_at)::float8 AS seconds FROM central.holds"
        " WHERE scope = 'account' AND key = %(key)s AND source = 'breaker'"
    )
    rows = stack.stores.central.autocommit(query, {"key": str(account_id)})
    return rows[0]["seconds"] if rows else None


@pytest.mark.parametrize("seconds", [-HOUR, HOUR], ids=["back", "forward"])
def test_a_machine_whose_clock_is_set_goes_on_ticking(stack: Stack, seconds: float) -> None:
    """The clock of beat and control worker is set by an hour while they run: ticks go on at their pace, so do the
    windows, and posts leave in time. (Celery's own beat would be silent for the hour that it was set back by.)"""
    account = stack.account("back" if seconds < 0 else "forward")
    start_with_clock(stack, "control", seconds=seconds, after_seconds=STEP_AFTER_SECONDS)
    start_with_clock(stack, "beat", seconds=seconds, after_seconds=STEP_AFTER_SECONDS)
    stepped_at = time.monotonic() + STEP_AFTER_SECONDS + 2
    try:
        stack.wait_until(lambda: time.monotonic() > stepped_at, what="the step")
        stack.wait_until(lambda: age_of_ticks(stack) < 3, seconds=15, what="ticks after the step")
        give_up_at = time.monotonic() + 12
        oldest = 0.0
        while time.monotonic() < give_up_at:
            oldest = max(oldest, age_of_ticks(stack))
            time.sleep(0.5)
        assert oldest < 10
        (target_id,) = stack.schedule([account], ["After the step"], seconds=0.5)
        check_once(stack, target_id, within=15)
    finally:
        restart_truly(stack, "control")
        restart_truly(stack, "beat")


def age_of_ticks(stack: Stack) -> float:
    """Seconds since beat's ticks were last worked off."""
    with stack.stores.central.transaction() as session:
        rows = heartbeats.read_all(session)
    return next(float(row["age_seconds"]) for row in rows if row["name"] == heartbeats.TICKS)
