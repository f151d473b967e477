"""How a worker ends: what each signal does on the thread pool, and what becomes of work that is cut off.

Whatever is under way gets the drain seconds; what takes longer is cut off, and settled by its mark.
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.acceptance import steps
from tests.acceptance.conftest import SETTINGS
from tests.acceptance.steps import fault

if TYPE_CHECKING:
    from uuid import UUID

    from tests.acceptance.harness import Stack

CUT_SHORT = os.EX_TEMPFAIL
"""The exit code of a worker that was still at something."""
DRAIN_SECONDS = float(SETTINGS["drain_seconds"])
THREAD = ("Part one", "Part two", "Part three")
SLOW_MS = 2500
PROMPT_SECONDS = 2.0
"""Less than the slow request takes: who ends in it has waited for nothing."""


def told_to_end(stack: Stack, name: str, sig: signal.Signals) -> tuple[float, int | None]:
    """Signal a process, wait for its end: how many seconds that took, and its exit code."""
    child = stack._local.supervisor.children[name]
    told_at = time.monotonic()
    child.signal(sig)
    stack.wait_until(lambda: not child.alive, seconds=DRAIN_SECONDS + 15, what=f"the end of {name}")
    return time.monotonic() - told_at, child.process.returncode


def slow_request(stack: Stack, name: str) -> UUID:
    """Have one request of a new account in flight that takes `SLOW_MS`; returns its target."""
    account = stack.account(name)
    stack.sandbox.faults(fault(name, "slow", delay_ms=SLOW_MS))
    (target_id,) = stack.schedule([account], ["In flight"], seconds=0.3)
    stack.wait_until(lambda: stack.sandbox.plan()[0]["fired"] == 1, what="the slow request")
    return target_id


@pytest.mark.parametrize(("sig", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 1)], ids=["term", "int"])
def test_asked_to_end_it_finishes_and_claims_nothing_more(
    stack: Stack, sig: signal.Signals, code: int
) -> None:
    """On SIGTERM as on Ctrl-C a worker settles its request by itself, takes no other, and ends when it is done,
    not when its time is over; what is due meanwhile waits for another worker."""
    begun = slow_request(stack, f"begun{code}")
    later = stack.account(f"later{code}")
    worker = stack._local.supervisor.children["publishing-1"]
    told_at = time.monotonic()
    worker.signal(sig)
    (waiting,) = stack.schedule([later], ["Meanwhile"], seconds=0.3)
    stack.wait_until(lambda: not worker.alive, seconds=DRAIN_SECONDS + 10, what="the worker's end")

    assert time.monotonic() - told_at < DRAIN_SECONDS - 1
    assert worker.process.returncode == code
    assert [attempt.state for attempt in stack.target(begun).attempts] == ["accepted"]
    assert stack.status(waiting) == "scheduled"
    stack.start("publishing", wait=False)
    steps.wait_published(stack, begun, waiting)
    stack.check_ledger()
    steps.check_owners(stack)


def test_told_to_quit_it_ends_at_once(stack: Stack) -> None:
    """SIGQUIT waits for nothing: the request in flight is cut off, and found by a look."""
    begun = slow_request(stack, "quit")
    seconds, code = told_to_end(stack, "publishing-1", signal.SIGQUIT)
    assert seconds < PROMPT_SECONDS
    assert code == CUT_SHORT
    stack.start("publishing", wait=False)
    steps.wait_published(stack, begun)
    view = stack.target(begun)
    assert "unknown_outcome" in [move.to_status for move in view.history]
    assert view.line.reason == "found"
    stack.check_ledger()


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT], ids=["term", "int", "quit"])
def test_a_control_worker_ends_its_windows_and_another_goes_on(stack: Stack, sig: signal.Signals) -> None:
    """A control worker is not held by its windows, and posts go on leaving through the other."""
    stack.start("control", number=2)
    seconds, _ = told_to_end(stack, "control-1", sig)
    assert seconds < 5
    (target_id,) = stack.schedule([stack.account(f"control_{sig.name.lower()}")], ["Goes on"])
    steps.wait_published(stack, target_id, seconds=30)
    stack.check_ledger()


def test_what_outlasts_the_drain_is_cut_off_and_settled_by_its_mark(stack: Stack) -> None:
    """A thread whose second part is being sent when the time is over is looked for and goes on from there; an
    upload that hangs was not sent, and is not looked for. Each part is live once."""
    # Uploads are then left to the publishing worker.
    stack.kill("preparing")
    thread, image = steps.accounts(stack, "cut_thread", "cut_image")
    picture = steps.picture(stack)
    stack.sandbox.faults(
        fault("cut_thread", "slow", delay_ms=5200, times=2),
        fault("cut_image", "hang_before", step="prepare"),
    )
    at = steps.in_seconds(0.5)
    (of_thread,) = steps.schedule(stack, [thread], [{"text": text} for text in THREAD], at=at)
    (of_image,) = steps.schedule(stack, [image], [{"text": "One image", "media": [picture]}], at=at)
    stack.wait_until(lambda: all(rule["fired"] for rule in stack.sandbox.plan()), what="both in flight")

    seconds, code = told_to_end(stack, "publishing-1", signal.SIGTERM)
    assert DRAIN_SECONDS - 1 < seconds < DRAIN_SECONDS + 5
    assert code == CUT_SHORT
    stack.start("publishing", wait=False)
    steps.wait_published(stack, of_thread, of_image)
    seen = steps.see(stack, {"cut_thread": of_thread, "cut_image": of_image})
    seen["cut_thread"].check_live_once(*THREAD)
    assert "found" in seen["cut_thread"].reasons
    assert len(seen["cut_thread"].requests) == len(THREAD)
    seen["cut_image"].check_live_once("One image")
    assert "unknown_outcome" not in seen["cut_image"].path
    assert "worker.lost" in seen["cut_image"].reasons
    stack.check_ledger()
    steps.check_owners(stack)
