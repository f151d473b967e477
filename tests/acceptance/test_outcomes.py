"""Posts that fail, are limited, or lose their answers, with every process alive."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.desk import resolve
from socialq.domain.states import RETRYABLE
from tests.acceptance import steps
from tests.acceptance.harness import ACTOR
from tests.acceptance.steps import fault

if TYPE_CHECKING:
    from tests.acceptance.harness import Stack

TEN = [f"ten{number:02}" for number in range(1, 11)]


def test_two_of_ten_that_refuse_for_good_leave_eight_published(stack: Stack) -> None:
    """Ten targets of which two are refused: 8 published by 8 calls, 2 can be retried, and a replay of every
    job changes nothing. A retry of one, once its account takes posts again, makes it nine."""
    stack.sandbox.faults(*(fault(name, "validation", times=None) for name in TEN[8:]))
    made = steps.schedule(stack, steps.accounts(stack, *TEN), [{"text": "To ten"}], at=steps.in_seconds(0.5))
    stack.wait_resting()
    post_id = stack.targets()[0].post_id

    assert stack.counts() == {"published": 8, "failed": 2}
    assert {stack.status(target_id) for target_id in made[8:]} == {"failed"}
    assert stack.status(made[8]) in RETRYABLE
    assert stack.sandbox.accepted() == 8
    assert stack.post(post_id).status == "partially_failed"
    assert stack.post(post_id).sentence.startswith("published on 8 of 10")
    stack.check_ledger()
    steps.check_owners(stack)

    before = steps.snapshot(stack)
    assert stack.replay() > len(made)
    assert steps.snapshot(stack) == before

    stack.sandbox.faults(fault(TEN[9], "validation", times=None))
    resolve.retry(stack.stores, tenant=stack.tenant, target_id=made[8], now=datetime.now(UTC), actor=ACTOR)
    steps.wait_published(stack, made[8])
    assert stack.counts() == {"published": 9, "failed": 1}
    assert stack.sandbox.accepted() == 9
    assert stack.post(post_id).sentence.startswith("published on 9 of 10")
    stack.check_ledger()
    steps.check_owners(stack)


@pytest.mark.parametrize("kind", ["accept_then_reset", "reset_before"])
@pytest.mark.parametrize("lost", [0, 1], ids=["first_lost", "second_lost"])
def test_two_identical_texts_are_two_posts_though_an_answer_is_lost(
    stack: Stack, kind: str, lost: int
) -> None:
    """Whichever of two posts with one text loses its answer, accepted or not: both are live once, and each
    knows the id that its own request made."""
    stack.sandbox.faults(fault("twin", kind, skip=lost))
    account = stack.account("twin")
    at = steps.in_seconds(0.5)
    for seconds in (0, 0.2):
        steps.schedule(stack, [account], [{"text": "Same words"}], at=at + timedelta(seconds=seconds))
    stack.wait_resting()

    assert [rule["fired"] for rule in stack.sandbox.plan()] == [1]
    assert stack.counts() == {"published": 2}
    assert [post["text"] for post in stack.sandbox.ledger("twin")] == ["Same words"] * 2
    assert len(stack.sandbox.requests("twin")) == (2 if kind == "accept_then_reset" else 3)
    stack.check_ledger()
    steps.check_owners(stack)


@pytest.mark.parametrize("kind", ["accept_then_reset", "accept_then_500", "reset_before", "refuse_503"])
def test_a_thread_whose_second_answer_is_lost_goes_on(stack: Stack, kind: str) -> None:
    """Accepted or not: the lost part is found or sent again, the rest follows, and each part is below the one
    before it."""
    stack.sandbox.faults(fault("spool", kind, skip=1))
    texts = ["Part one", "Part two", "Part three"]
    (target_id,) = stack.schedule([stack.account("spool")], texts)
    stack.wait_resting()

    seen = steps.see(stack, {"spool": target_id})["spool"]
    seen.check_live_once(*texts)
    assert "unknown_outcome" in seen.path
    assert len(seen.requests) == (3 if kind.startswith("accept") else 4)
    steps.check_owners(stack)


def test_on_x_too_a_lost_answer_is_found(stack: Stack) -> None:
    """Where the platform takes no key of ours, a thread whose second answer is lost goes on without a double,
    and of two identical texts each keeps its own id."""
    stack.sandbox.faults(
        fault("xspool", "accept_then_reset", platform="x", skip=1),
        fault("xlone", "accept_then_hang", platform="x"),
    )
    spool, lone = steps.accounts(stack, "xspool", "xlone", platform="x")
    texts = ["Part one", "Part two", "Part three"]
    (thread,) = stack.schedule([spool], texts)
    (single,) = stack.schedule([lone], ["Only one https://example.com/a?b=1&c=2"])
    stack.wait_resting()

    found = steps.see(stack, {"xspool": thread, "xlone": single})
    found["xspool"].check_live_once(*texts)
    assert found["xlone"].target.line.status == "published"
    assert (len(found["xspool"].requests), len(found["xlone"].requests)) == (3, 1)
    stack.check_ledger()


@pytest.mark.parametrize("platform", ["mastodon", "x"])
def test_a_rate_limit_holds_its_account_and_no_other(stack: Stack, platform: str) -> None:
    """Nothing is sent to the account before the time that the platform gave; no try is spent; the posts of
    another account go out meanwhile."""
    wait_seconds = 5
    stack.sandbox.faults(fault("hasty", "rate_limit", platform=platform, retry_after_s=wait_seconds))
    hasty, calm = steps.accounts(stack, "hasty", "calm", platform=platform)
    at = steps.in_seconds(0.5)
    limited = [
        target_id
        for number in range(2)
        for target_id in steps.schedule(
            stack, [hasty], [{"text": f"Limited {number}"}], at=at + timedelta(seconds=1.5 * number)
        )
    ]
    (free,) = steps.schedule(stack, [calm], [{"text": "Free"}], at=at + timedelta(seconds=1.5))

    stack.wait_until(lambda: len(stack.sandbox.requests("hasty")) == 1, seconds=60)
    holds = "SELECT until FROM central.holds WHERE scope = 'account' AND key = %(key)s"
    stack.wait_until(lambda: bool(stack.stores.central.autocommit(holds, {"key": str(hasty.id)})), seconds=60)
    [hold] = stack.stores.central.autocommit(holds, {"key": str(hasty.id)})
    stack.wait_resting()

    first, *later = stack.sandbox.requests("hasty")
    assert len(later) == 2
    # Given in whole seconds, X's as an instant: it may be up to one second shorter than asked for.
    assert hold["until"] >= steps.received_at(first) + timedelta(seconds=wait_seconds - 1)
    assert all(steps.received_at(request) >= hold["until"] for request in later)
    assert steps.received_at(stack.sandbox.requests("calm")[0]) < hold["until"]
    assert stack.counts() == {"published": 3}
    assert [steps.tries_spent(stack, target_id) for target_id in [*limited, free]] == [0, 0, 0]
    stack.check_ledger()


def test_a_platform_that_hangs_delays_no_other(stack: Stack) -> None:
    """64 posts to a platform that answers nothing take their share of two workers' 32 slots, and the posts of
    another platform leave on time."""
    stack.start("publishing", number=2)
    stack.sandbox.faults({"kind": "hang_before", "times": None})
    hanging = steps.accounts(stack, *(f"hung{number:02}" for number in range(64)))
    others = steps.accounts(stack, *(f"free{number}" for number in range(8)), platform="x")
    at = steps.in_seconds(1)
    steps.schedule(stack, hanging, [{"text": "Into the void"}], at=at)
    free = steps.schedule(stack, others, [{"text": "On time"}], at=at + timedelta(seconds=2))
    steps.wait_published(stack, *free)

    assert sum(count["requests"] for count in stack.sandbox.calls().values()) >= 24
    assert len(stack.sandbox.ledger()) == 8
    assert stack.sandbox.calls("x") == {f"free{n}": {"requests": 1, "accepted": 1} for n in range(8)}
    worst = max(
        (steps.received_at(request) - at).total_seconds() - 2
        for request in stack.sandbox.requests()
        if request["platform"] == "x"
    )
    assert worst < 3, "without bounds they wait until half of the hanging requests have given up"


def test_an_account_that_hangs_delays_no_other(stack: Stack) -> None:
    """One account's hanging request holds up its own posts, and no other account of its platform; and what
    waits for the account does not keep the lost request from being looked for, though it was planned first."""
    stack.sandbox.faults(fault("stuck", "hang_before"))
    stuck, *free = steps.accounts(stack, "stuck", *(f"brisk{number}" for number in range(6)))
    at = steps.in_seconds(0.5)
    for number in (2, 1, 0):
        steps.schedule(
            stack, [stuck, *free], [{"text": f"Number {number}"}], at=at + timedelta(seconds=number)
        )
    stack.wait_resting(seconds=steps.GENEROUS_SECONDS)

    assert stack.counts() == {"published": 21}
    late = steps.lateness_seconds(stack)
    names = {line.id: line.account for line in stack.targets()}
    assert max(seconds for target_id, seconds in late.items() if "stuck" not in names[target_id]) < 3
    assert len(stack.sandbox.requests("stuck")) == 4
    stack.check_ledger()
    steps.check_owners(stack)
