"""Several of each process: nothing is sent twice, the windows change hands, and a hung holder is replaced."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from socialq.store.central import heartbeats
from tests.acceptance import steps

if TYPE_CHECKING:
    from tests.acceptance.harness import Stack

_HOLDERS = """
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND granted
  AND classid = (hashtext('socialq.window.' || %(name)s)::bigint & 4294967295)::oid
  AND objid = (hashtext('holder')::bigint & 4294967295)::oid
"""


def sessions_holding(stack: Stack, window: str) -> list[int]:
    """The database sessions that hold a window: one, or for a moment none."""
    return [row["pid"] for row in stack.stores.central.autocommit(_HOLDERS, {"name": window})]


def holder_of(stack: Stack, window: str) -> int:
    """The pid of the control worker that holds a window, by its last sign of life."""
    with stack.stores.central.transaction() as session:
        detail = heartbeats.detail_of(session, window)
    assert detail is not None
    return int(detail["worker"].rpartition(":")[2])


def start_more(stack: Stack) -> None:
    """Three beats, two control workers, two publishing workers."""
    stack.start("beat", number=2, wait=False)
    stack.start("beat", number=3, wait=False)
    stack.start("publishing", number=2, wait=False)
    stack.start("control", number=2, wait=True)


def test_any_number_of_each_process_sends_once_and_in_time(stack: Stack) -> None:
    """Three beats, two control and two publishing workers: 42 posts over more than the length of a window leave
    once each, none of them late though the windows change hands meanwhile, and never are there two holders."""
    start_more(stack)
    made = steps.accounts(stack, *(f"many{number}" for number in range(6)))
    at = steps.in_seconds(1)
    target_ids = [
        target_id
        for second in range(14)
        for target_id in steps.schedule(
            stack, made[second % 2 :: 2], [{"text": f"Second {second}"}], at=at + timedelta(seconds=second)
        )
    ]
    held: dict[str, set[int]] = {"dispatch": set(), "relay:default": set()}

    def all_published() -> bool:
        for window, seen in held.items():
            now = sessions_holding(stack, window)
            assert len(now) <= 1
            seen.update(now)
        return stack.counts()["published"] == len(target_ids)

    stack.wait_until(all_published, seconds=steps.GENEROUS_SECONDS)
    assert all(len(sessions) >= 2 for sessions in held.values()), held
    assert len(stack.sandbox.requests()) == len(target_ids) == 42
    late = sorted(steps.lateness_seconds(stack).values())
    assert late[0] >= 0
    assert late[-1] < 3
    assert len({steps.worker_of(stack, target_id) for target_id in target_ids}) == 2
    before = steps.snapshot(stack)
    stack.replay()
    assert steps.snapshot(stack) == before
    stack.check_ledger()
    steps.check_owners(stack)


def test_a_holder_that_is_killed_is_succeeded_at_once(stack: Stack) -> None:
    """The control worker that holds the dispatch window is killed: posts go on leaving through another."""
    start_more(stack)
    account, other = steps.accounts(stack, "heir", "heiress")
    (first,) = stack.schedule([account], ["Before"])
    steps.wait_published(stack, first)
    stack.kill_pid(holder_of(stack, "dispatch"))
    (second,) = stack.schedule([other], ["After"])
    assert steps.wait_published(stack, second) < 12
    stack.check_ledger()
    assert len(stack.sandbox.requests()) == 2


def test_a_holder_that_stands_still_is_replaced(stack: Stack) -> None:
    """The control worker that holds the windows stands still: within 25 seconds posts leave again through the
    other, and when it goes on nothing is doubled."""
    start_more(stack)
    made = steps.accounts(stack, *(f"hung{number}" for number in range(5)))
    (first,) = stack.schedule(made[:1], ["Before"])
    steps.wait_published(stack, first)
    holder = holder_of(stack, "dispatch")
    stack.kill_pid(holder, signal.SIGSTOP)
    stopped_at = time.monotonic()
    meanwhile = stack.schedule(made[1:], ["Meanwhile"])
    steps.wait_published(stack, *meanwhile)
    assert time.monotonic() - stopped_at < 25
    assert holder_of(stack, "dispatch") != holder

    os.kill(holder, signal.SIGCONT)
    steps.wait_answering(stack)
    (last,) = stack.schedule(made[:1], ["After"])
    assert steps.wait_published(stack, last) < 12
    steps.quiet(stack)
    assert stack.counts() == {"published": 6}
    assert len(stack.sandbox.requests()) == 6
    stack.check_ledger()
    steps.check_owners(stack)
