"""Valkey and PostgreSQL that lose everything, die, stand still, or start anew under the workers' feet."""

from __future__ import annotations

import json
import os
import signal
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.local.messages import Sender
from socialq.store.central import heartbeats
from tests.acceptance import steps
from tests.acceptance.steps import fault

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from tests.acceptance.harness import Stack

SOON_SECONDS = 20
"""After a server is back, everything that waited for it has left by then."""
STALL_SECONDS = 14
"""Well above the five seconds after which a socket gives up."""


def check_all_once(stack: Stack, target_ids: Sequence[UUID]) -> None:
    """All are published, by one request each."""
    steps.quiet(stack)
    assert stack.counts() == {"published": len(target_ids)}
    assert stack.sandbox.accepted() == len(target_ids)
    stack.check_ledger()
    steps.check_owners(stack)


def ages_of_windows(stack: Stack) -> dict[str, float]:
    """Seconds since each window's last sign of life."""
    with stack.stores.central.transaction() as session:
        rows = heartbeats.read_all(session)
    return {row["name"]: row["age_seconds"] for row in rows if row["name"].startswith(("dispatch", "relay"))}


def test_messages_that_valkey_forgets_are_sent_again(stack: Stack) -> None:
    """Valkey loses everything while messages wait in it: each post is sent once all the same."""
    made = steps.accounts(stack, *(f"flushed{number}" for number in range(8)))
    worker = stack.kill("publishing", signal.SIGSTOP)
    target_ids = stack.schedule(made, ["Lost on the way"])
    stack.wait_until(lambda: steps.all_enqueued(stack, target_ids), what="their messages")
    sender = Sender(stack.redis_url)
    stack.wait_until(lambda: sender.waiting() >= len(target_ids) - 1, what="messages in the queue")
    sender.close()
    stack.flush_valkey()
    os.kill(worker, signal.SIGCONT)

    assert steps.wait_published(stack, *target_ids) < SOON_SECONDS
    later = stack.schedule(made, ["After it"])
    assert steps.wait_published(stack, *later) < SOON_SECONDS
    check_all_once(stack, [*target_ids, *later])


def test_valkey_may_die_and_come_back(stack: Stack) -> None:
    """Posts of before, during and after its absence are sent once each, and planning a post needs no Valkey."""
    made = steps.accounts(stack, *(f"killed{number}" for number in range(6)))
    at = steps.in_seconds(1)
    before = steps.schedule(stack, made[:3], [{"text": "Before"}], at=at)
    stack.kill_server("valkey")
    began = time.monotonic()
    during = steps.schedule(stack, made[3:], [{"text": "During"}], at=at)
    assert time.monotonic() - began < 5
    stack.wait_until(lambda: datetime.now(UTC) > at + timedelta(seconds=2), what="that they are due")
    assert stack.counts() == {"scheduled": 6}
    stack.restart_valkey()

    assert steps.wait_published(stack, *before, *during) < SOON_SECONDS
    after = stack.schedule(made, ["After"])
    assert steps.wait_published(stack, *after) < SOON_SECONDS
    check_all_once(stack, [*before, *during, *after])


def test_a_valkey_that_stands_still_hangs_nothing(stack: Stack) -> None:
    """For some seconds it takes connections and answers nothing: planning goes on, the windows stay alive, a
    command ends, requests under way are settled, and all is sent once when it goes on."""
    busy = steps.accounts(stack, *(f"busy{number}" for number in range(3)))
    made = steps.accounts(stack, *(f"still{number}" for number in range(6)))
    stack.sandbox.faults(*(fault(f"busy{number}", "slow", delay_ms=2000) for number in range(3)))
    under_way = stack.schedule(busy, ["Under way"])
    steps.wait_struck(stack)
    stack.kill_server("valkey", signal.SIGSTOP)
    stopped_at = time.monotonic()
    waiting = steps.schedule(stack, made, [{"text": "Meanwhile"}], at=steps.in_seconds(0.5))
    assert time.monotonic() - stopped_at < 5

    health = steps.command(stack, "health", "--json")
    assert health.returncode == 1
    assert any("Redis" in problem for problem in json.loads(health.stdout)["problems"])
    assert time.monotonic() - stopped_at < 15
    steps.wait_published(stack, *under_way, seconds=8)
    worst = dict.fromkeys(ages_of_windows(stack), 0.0)
    while time.monotonic() - stopped_at < STALL_SECONDS:
        for name, age in ages_of_windows(stack).items():
            worst[name] = max(worst.get(name, 0.0), age)
        time.sleep(0.2)
    assert stack.status(waiting[0]) == "scheduled"
    stack.kill_server("valkey", signal.SIGCONT)

    assert steps.wait_published(stack, *waiting) < SOON_SECONDS
    # Other tests' cells may be gone by now, and their windows with them.
    ours = [worst[name] for name in ("dispatch", "relay:default")]
    assert max(ours) < STALL_SECONDS - 5, "a window waits for an answer without end"
    check_all_once(stack, [*under_way, *waiting])


@pytest.mark.parametrize("how", ["restarted", "killed"])
def test_answers_that_postgresql_is_not_there_for_are_recorded_when_it_is_back(
    stack: Stack, how: str
) -> None:
    """PostgreSQL ends with eight requests in flight and comes back after their answers: all are recorded as
    what they are, without a look and without a second request, and a post that was due meanwhile leaves."""
    names = [f"{how}{number}" for number in range(8)]
    made = steps.accounts(stack, *names)
    stack.sandbox.faults(*(fault(name, "slow", delay_ms=2000) for name in names))
    in_flight = stack.schedule(made, ["In flight"])
    late = steps.schedule(stack, [stack.account(f"{how}late")], [{"text": "Late"}], at=steps.in_seconds(3))
    stack.wait_until(lambda: all(rule["fired"] for rule in stack.sandbox.plan()), what="slow requests")
    if how == "restarted":
        stack.restart_postgres()
    else:
        stack.kill_server("postgres")
        stack.wait_until(lambda: stack.sandbox.accepted() == len(names), what="answers")
        stack.restart_postgres()
    assert steps.wait_published(stack, *in_flight, *late) < SOON_SECONDS + 30

    for target_id in in_flight:
        view = stack.target(target_id)
        assert [attempt.state for attempt in view.attempts] == ["accepted"]
        assert "unknown_outcome" not in [move.to_status for move in view.history]
    check_all_once(stack, [*in_flight, *late])
