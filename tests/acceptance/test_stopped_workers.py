"""Publishing workers that stand still (SIGSTOP), past their leases or while messages wait for them."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.desk import resolve
from socialq.desk import schedule as desk_schedule
from socialq.domain import local_time
from tests.acceptance import steps
from tests.acceptance.harness import ACTOR
from tests.acceptance.steps import fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from tests.acceptance.harness import Stack
    from tests.acceptance.steps import Seen

THREAD = ("Part one", "Part two", "Part three")

STOPPED_IN = {
    "image_upload": fault("image_upload", "slow", step="prepare", delay_ms=4000),
    "thread_upload": fault("thread_upload", "slow", step="prepare", delay_ms=4000),
    "text_answered_late": fault("text_answered_late", "slow", delay_ms=4000),
    "thread_answered_late": fault("thread_answered_late", "slow", skip=1, delay_ms=4000),
    "text_never_accepted": fault("text_never_accepted", "hang_before"),
    "thread_never_accepted": fault("thread_never_accepted", "hang_before", skip=1),
    "text_accepted": fault("text_accepted", "accept_then_hang"),
    "image_accepted": fault("image_accepted", "accept_then_hang"),
}
"""By case: the request that is in flight while its worker stands still. An upload and a late answer finish
behind its back."""


@pytest.fixture(scope="module")
def stopped(running_stack: Stack) -> Iterator[tuple[dict[str, Seen], dict[str, Seen]]]:
    """What was seen of every case before the worker went on, and after it had."""
    with steps.scene(running_stack) as stack:
        stack.kill("preparing")
        image = steps.picture(stack)
        thread = [{"text": text} for text in THREAD]
        account = dict(zip(STOPPED_IN, steps.accounts(stack, *STOPPED_IN), strict=True))
        # Connecting an account is a preparing request, too.
        stack.sandbox.faults(*STOPPED_IN.values())
        at = steps.in_seconds(1)
        made = {}
        for name in STOPPED_IN:
            match name.partition("_"):
                case ("image", _, _):
                    parts = [{"text": "One image", "media": [image]}]
                case ("thread", _, "upload"):
                    parts = [thread[0], {**thread[1], "media": [image]}, thread[2]]
                case ("thread", _, _):
                    parts = thread
                case _:
                    parts = [{"text": "One text"}]
            (made[name],) = steps.schedule(stack, [account[name]], parts, at=at)
        stack.wait_until(lambda: all(rule["fired"] for rule in stack.sandbox.plan()), what="every fault")
        pid = stack.kill("publishing", signal.SIGSTOP)
        assert stack.counts() == {"publishing": len(made)}
        assert {steps.worker_of(stack, target_id) for target_id in made.values()} == {pid}

        other = stack.start("publishing", number=2, wait=False)
        stack.wait_resting(seconds=steps.GENEROUS_SECONDS)
        assert steps.worker_of(stack, made["text_never_accepted"]) == other
        stack.check_ledger()
        before = steps.see(stack, made)

        os.kill(pid, signal.SIGCONT)
        steps.wait_answering(stack)
        steps.quiet(stack)
        stack.check_ledger()
        steps.check_owners(stack)
        yield before, steps.see(stack, made)


@pytest.mark.parametrize("case", STOPPED_IN)
def test_a_worker_that_stood_still_past_its_lease_doubles_nothing(
    stopped: tuple[dict[str, Seen], dict[str, Seen]], case: str
) -> None:
    """Others have finished its work by then, each part is live once; when it goes on it sends nothing, and
    what it still has to say changes nothing but its own attempt."""
    before, after = stopped[0][case], stopped[1][case]
    kind = case.partition("_")[0]
    texts = THREAD if kind == "thread" else ("One image",) if kind == "image" else ("One text",)
    for seen in (before, after):
        seen.check_live_once(*texts)
    assert after.requests == before.requests
    assert after.target.history == before.target.history
    assert after.target.parts == before.target.parts
    sent_again = len(after.requests) - len(texts)
    assert sent_again == (1 if case.endswith("never_accepted") else 0)


def test_an_upload_that_outlasts_its_worker_is_not_unknown(
    stopped: tuple[dict[str, Seen], dict[str, Seen]],
) -> None:
    """Where the worker stood still before the mark, nothing was sent and nothing is looked for."""
    _, after = stopped
    for case in ("image_upload", "thread_upload"):
        assert "unknown_outcome" not in after[case].path


def test_the_outcome_of_a_marked_request_is_looked_up(
    stopped: tuple[dict[str, Seen], dict[str, Seen]],
) -> None:
    """Where the worker stood still after the mark the post is found, or proven absent and sent once more."""
    _, after = stopped
    for case in set(STOPPED_IN) - {"image_upload", "thread_upload"}:
        found = "proven_absent" if case.endswith("never_accepted") else "found"
        assert {"outcome_unknown", found} & after[case].reasons
        assert found in after[case].reasons


def reschedule(stack: Stack, target_id: UUID, at: datetime) -> None:
    """Give a planned target another time, as the panel does."""
    now = datetime.now(UTC)
    desk_schedule.reschedule(
        stack.stores,
        tenant=stack.tenant,
        target_ids=[target_id],
        resolved=local_time.resolve(at.isoformat(), zone=None, default_zone="UTC", now=now),
        now=now,
        actor=ACTOR,
    )


def test_what_is_changed_while_its_message_waits_follows_the_change(stack: Stack) -> None:
    """With the messages out and no worker to take them: one post is moved later, one earlier, one cancelled.
    Each is sent once at its new time, the cancelled one never."""
    later_on, earlier_on, never_on, same_on = steps.accounts(stack, "later", "earlier", "never", "same")
    worker = stack.kill("publishing", signal.SIGSTOP)
    at = steps.in_seconds(1)
    made = steps.schedule(stack, [later_on, earlier_on, never_on, same_on], [{"text": "Planned"}], at=at)
    later, earlier, never, same = made
    stack.wait_until(lambda: steps.all_enqueued(stack, made), what="their messages")

    new_time = steps.in_seconds(6)
    reschedule(stack, later, new_time)
    reschedule(stack, earlier, at - timedelta(minutes=2))
    assert resolve.cancel(
        stack.stores, tenant=stack.tenant, target_id=never, reason="not after all", actor=ACTOR
    )
    os.kill(worker, signal.SIGCONT)
    steps.wait_published(stack, earlier, same)
    assert datetime.now(UTC) < new_time, "the machine is too slow to tell"
    assert stack.status(later) == "scheduled"
    steps.wait_published(stack, later)
    steps.quiet(stack)

    assert stack.counts() == {"published": 3, "cancelled": 1}
    [sent] = stack.sandbox.requests("later")
    assert steps.received_at(sent) >= new_time
    assert stack.sandbox.requests("never") == []
    assert {name: count["accepted"] for name, count in stack.sandbox.calls().items()} == {
        "later": 1,
        "earlier": 1,
        "same": 1,
    }
    stack.check_ledger()
    steps.check_owners(stack)


def test_a_post_moved_forward_and_back_is_sent_once(stack: Stack) -> None:
    """Every change of the time leaves a message that is out of date, and none of them is obeyed."""
    account = stack.account("fickle")
    worker = stack.kill("publishing", signal.SIGSTOP)
    (target_id,) = stack.schedule([account], ["Now, or later"])
    for seconds in (0.5, 0.2, 0.4):
        stack.wait_until(lambda: steps.all_enqueued(stack, [target_id]), what="its message")
        reschedule(stack, target_id, steps.in_seconds(seconds))
    stack.wait_until(lambda: steps.all_enqueued(stack, [target_id]), what="its last message")
    os.kill(worker, signal.SIGCONT)
    steps.wait_published(stack, target_id)
    before = steps.snapshot(stack)
    assert stack.replay() >= 4
    assert steps.snapshot(stack) == before
    assert len(stack.sandbox.requests("fickle")) == 1
    stack.check_ledger()
    steps.check_owners(stack)
