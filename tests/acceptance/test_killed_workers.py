"""Publishing workers that are killed, or told to stop, in the midst of requests.

One worker is killed once, with a case of each kind in flight, and started again; what came of each case is then
checked one by one.
"""

from __future__ import annotations

import signal
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.acceptance import steps
from tests.acceptance.conftest import SETTINGS
from tests.acceptance.steps import fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.acceptance.harness import Stack
    from tests.acceptance.steps import Seen

SLOTS = 16
"""Threads of the publishing worker."""
SLOTS_OF_A_PLATFORM = 12
"""So many of them may be at one platform; the rest are taken by posts to X."""
THREAD = ("Part one", "Part two", "Part three")

IN_FLIGHT = {
    "thread_before_mark": fault("thread_before_mark", "hang_before", step="prepare"),
    "image_before_mark": fault("image_before_mark", "hang_before", step="prepare"),
    "text_after_mark": fault("text_after_mark", "hang_before"),
    "thread_after_mark": fault("thread_after_mark", "hang_before", skip=1),
    "image_after_mark": fault("image_after_mark", "hang_before"),
    "text_accepted": fault("text_accepted", "accept_then_hang"),
    "thread_accepted": fault("thread_accepted", "accept_then_hang", skip=1),
    "image_accepted": fault("image_accepted", "accept_then_hang"),
}
"""By case: what its request hangs in while the worker is killed."""
FILLERS = {
    **{
        f"filler{number}": fault(f"filler{number}", "hang_before")
        for number in range(SLOTS_OF_A_PLATFORM - len(IN_FLIGHT))
    },
    **{
        f"xfiller{number}": fault(f"xfiller{number}", "accept_then_hang", platform="x")
        for number in range(SLOTS - SLOTS_OF_A_PLATFORM)
    },
}
"""They take the rest of the worker's slots, so that one more message waits in its memory."""
WAITING = "text_not_begun"


@pytest.fixture(scope="module")
def killed(running_stack: Stack) -> Iterator[dict[str, Seen]]:
    """What came of every case after the kill, by its name."""
    with steps.scene(running_stack) as stack:
        # Uploads are then left to the publishing worker.
        stack.kill("preparing")
        image = steps.picture(stack)
        contents = {
            "text": [{"text": "One text"}],
            "image": [{"text": "One image", "media": [image]}],
            "thread": [{"text": text} for text in THREAD],
            "filler": [{"text": "One text"}],
            "xfiller": [{"text": "One text"}],
        }
        names = [*IN_FLIGHT, *FILLERS, WAITING]
        on_x = [name for name in names if name.startswith("x")]
        account = {
            **dict(zip(on_x, steps.accounts(stack, *on_x, platform="x"), strict=True)),
            **{made.display_name: made for made in steps.accounts(stack, *(set(names) - set(on_x)))},
        }
        # Connecting an account is a preparing request, too.
        stack.sandbox.faults(*IN_FLIGHT.values(), *FILLERS.values())
        at = steps.in_seconds(1)
        made = {}
        for name in names:
            parts = contents[name.partition("_")[0].rstrip("0123456789")]
            if name == "thread_before_mark":
                parts = [parts[0], {**parts[1], "media": [image]}, parts[2]]
            due = at + timedelta(seconds=0.5 if name == WAITING else 0)
            (made[name],) = steps.schedule(stack, [account[name]], parts, at=due)
        steps.wait_struck(stack)
        stack.wait_until(lambda: steps.all_enqueued(stack, [made[WAITING]]), what="the message behind them")
        assert stack.status(made[WAITING]) == "scheduled"
        pid = stack.kill("publishing")
        assert {steps.worker_of(stack, made[name]) for name in IN_FLIGHT} == {pid}
        stack.start("publishing")
        stack.wait_resting(seconds=steps.GENEROUS_SECONDS)
        stack.check_ledger()
        steps.check_owners(stack)
        yield steps.see(stack, made)


def test_every_post_of_a_killed_worker_is_live_once(killed: dict[str, Seen]) -> None:
    """Whatever the worker was at, each part is live once, in order, and the target says so."""
    for name, seen in killed.items():
        kind = name.partition("_")[0]
        texts = THREAD if kind == "thread" else ("One image",) if kind == "image" else ("One text",)
        seen.check_live_once(*texts)


def test_a_message_that_died_with_its_worker_is_sent_again(killed: dict[str, Seen]) -> None:
    """A worker that is killed with a message in its memory has claimed nothing: another message does the work,
    without a lease that must end first."""
    seen = killed[WAITING]
    assert seen.path == ["draft", "ready", "scheduled", "publishing", "published"]
    assert len(seen.target.attempts) == 1
    assert len(seen.requests) == 1


@pytest.mark.parametrize("case", [name for name in IN_FLIGHT if name.endswith("before_mark")])
def test_killed_before_the_mark_it_is_sent_once_after_the_lease(killed: dict[str, Seen], case: str) -> None:
    """What was certainly not sent is sent by the next claim, once its lease is over; nothing is looked for."""
    seen = killed[case]
    assert "unknown_outcome" not in seen.path
    assert "worker.lost" in seen.reasons
    assert len(seen.requests) == len(seen.target.parts)
    first, second = seen.target.attempts
    assert second.claimed_at - first.claimed_at >= timedelta(seconds=SETTINGS["lease_seconds"])


@pytest.mark.parametrize("case", [name for name in IN_FLIGHT if name.endswith("after_mark")])
def test_killed_after_the_mark_it_is_sent_again_only_when_proven_absent(
    killed: dict[str, Seen], case: str
) -> None:
    """A request that never took effect is looked for, proven absent, and sent once more, not before its lease
    is over."""
    seen = killed[case]
    assert "proven_absent" in seen.reasons
    assert len(seen.requests) == len(seen.target.parts) + 1
    assert max(seen.seconds_between_requests()) >= SETTINGS["lease_seconds"]


@pytest.mark.parametrize("case", [name for name in IN_FLIGHT if name.endswith("accepted")])
def test_killed_after_acceptance_it_is_found(killed: dict[str, Seen], case: str) -> None:
    """What is live already is found, and no part of it is sent a second time."""
    seen = killed[case]
    assert "found" in seen.reasons
    assert "proven_absent" not in seen.reasons
    assert len(seen.requests) == len(seen.target.parts)


def test_a_stopping_worker_finishes_what_it_has_begun(stack: Stack) -> None:
    """Told to end with 16 requests in flight and 6 messages waiting, a worker settles the 16 by itself, ends
    cleanly, and the 6 go to another worker at once."""
    slow_seconds = 4
    on_mastodon = [f"begun{number:02}" for number in range(SLOTS_OF_A_PLATFORM)]
    on_x = [f"xbegun{number:02}" for number in range(SLOTS - SLOTS_OF_A_PLATFORM)]
    chosen = steps.accounts(stack, *on_mastodon) + steps.accounts(stack, *on_x, platform="x")
    slow = {"delay_ms": slow_seconds * 1000}
    stack.sandbox.faults(
        *(fault(name, "slow", **slow) for name in on_mastodon),
        *(fault(name, "slow", platform="x", **slow) for name in on_x),
    )
    at = steps.in_seconds(1)
    begun = steps.schedule(stack, chosen, [{"text": "Begun"}], at=at)
    waiting = steps.schedule(
        stack,
        steps.accounts(stack, *(f"waiting{number}" for number in range(6))),
        [{"text": "Waiting"}],
        at=at + timedelta(seconds=0.5),
    )
    stack.wait_until(lambda: all(rule["fired"] for rule in stack.sandbox.plan()), what="slow requests")
    stack.wait_until(lambda: steps.all_enqueued(stack, waiting), what="messages behind them")

    stopped = stack._local.supervisor.children["publishing-1"]
    stack.kill("publishing", signal.SIGTERM)
    told_at = time.monotonic()
    other = stack.start("publishing", number=2, wait=False)
    steps.wait_published(stack, *waiting)
    stack.wait_until(lambda: not stopped.alive, seconds=30, what="the worker's end")
    ended_seconds = time.monotonic() - told_at
    stack.wait_resting()

    assert stopped.process.returncode == 0
    assert ended_seconds < SETTINGS["drain_seconds"] + 5
    assert stack.counts() == {"published": SLOTS + 6}
    for target_id in begun:
        view = stack.target(target_id)
        assert [attempt.state for attempt in view.attempts] == ["accepted"]
        assert steps.worker_of(stack, target_id) == stopped.process.pid
    assert {steps.worker_of(stack, target_id) for target_id in waiting} == {other}
    stack.check_ledger()
    steps.check_owners(stack)
