"""Workers and beat that start while Redis is not there yet: they wait for it, and are told of meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.acceptance import steps

if TYPE_CHECKING:
    from tests.acceptance.harness import Stack

SOON_SECONDS = 20


def test_workers_that_start_before_redis_work_once_it_is_there(stack: Stack) -> None:
    """A connection that fails at the start is made again and again: nobody ends, the watch says what is missing, and
    what was planned meanwhile is sent once, by the very processes that found no Redis.

    (gitroomhq/postiz-app#1748, #2035)
    """
    (account,) = steps.accounts(stack, "early")
    for role in ("publishing", "control", "beat"):
        stack.kill(role)
    stack.kill_server("valkey")
    for role in ("publishing", "control", "beat"):
        stack.start(role, wait=False)
    started = stack.pids
    (target_id,) = stack.schedule([account], ["Planned without Redis"])
    stack.wait_until(
        lambda: "Connection refused" in stack.logs("publishing-1", lines=400), what="an attempt to connect"
    )
    assert "queue" in stack.wiring.watch.look().red
    assert stack.status(target_id) == "scheduled"
    stack.restart_valkey()

    assert steps.wait_published(stack, target_id) < SOON_SECONDS
    assert stack.pids == started
    assert len(stack.sandbox.requests()) == 1
    stack.check_ledger()
