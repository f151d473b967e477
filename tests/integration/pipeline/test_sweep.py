"""The sweep closes what a crash, a lost message or a lost database leaves open; any number may run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from socialq.desk import resolve
from socialq.domain.hops import QueueUnreachableError
from socialq.domain.outcomes import Accepted
from socialq.pipeline import sweep as sweep_module
from tests.integration.pipeline.doubles import lost
from tests.integration.pipeline.racing import race
from tests.integration.pipeline.test_dispatch import index_row, taken
from tests.integration.pipeline.world import values

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.pipeline.world import World


@pytest.fixture
def claimed(world: World) -> UUID:
    """A relayed target whose worker is gone and whose lease is over; nothing was marked."""
    target = world.post()
    world.relay().scan()
    world.dispatcher().scan()
    world.queue.take()
    world.claim(target)
    world.end_lease(target)
    return target


def test_a_lease_that_is_over_without_a_mark_was_certainly_not_sent(world: World, claimed: UUID):
    """It is tried again, and one of the budget is spent, so that a message that kills its worker ends."""
    assert world.sweep().sweep()["leases_ended"] == 1
    row = world.row(claimed)
    assert values(row, "status", "tries_spent", "holds_account", "lease_token") == (
        "retry_scheduled",
        1,
        False,
        None,
    )
    attempt = world.attempts(claimed)[0]
    assert (attempt["state"], attempt["code"]) == ("transient", "worker.lost")
    index = world.index_row(claimed)
    assert values(index, "status", "seq", "due_at") == ("pending", 2, row["next_at"])


def test_a_worker_that_dies_each_time_ends_after_the_budget(world: World):
    """Five workers lost: the target has failed, and says so."""
    target = world.post()
    for _ in range(5):
        world.claim(target)
        world.end_lease(target)
        world.sweep().sweep()
    row = world.row(target)
    assert values(row, "status", "reason", "tries_spent") == ("failed", "budget_used_up", 5)


def test_a_lease_that_is_over_with_a_mark_is_an_unknown_outcome(world: World):
    """The request may have been sent: it is looked for, and the account stays held."""
    target = world.post()
    world.relay().scan()
    world.claim(target, mark=True)
    world.end_lease(target)
    assert world.sweep().sweep()["leases_ended"] == 1
    row = world.row(target)
    assert values(row, "status", "next_kind", "holds_account", "tries_spent") == (
        "unknown_outcome",
        "look",
        True,
        0,
    )
    assert world.part(target)["unknown_count"] == 1
    assert world.attempts(target)[0]["state"] == "unknown"
    assert values(world.index_row(target), "kind", "status") == ("look", "pending")


def test_a_thread_whose_second_part_was_marked_is_looked_for_there(world: World):
    """Part 1 is live, part 2 was marked and its worker died: part 2 is what is unknown."""
    target = world.post(texts=["one", "two", "three"])

    def dies(_call: object) -> object:
        raise SystemExit

    world.platform.answers += [Accepted(remote_id="p-1"), dies]
    with pytest.raises(SystemExit):
        world.publish(target)
    world.end_lease(target)
    world.sweep().sweep()
    assert world.status(target) == "unknown_outcome"
    assert [part["unknown_count"] for part in world.parts(target)] == [0, 1, 0]


def test_a_thread_whose_second_part_was_not_marked_goes_on_there(world: World):
    """Part 1 is live and the worker died before part 2 was marked: part 2 follows, part 1 is not sent again."""
    target = world.post(texts=["one", "two"])

    def dies() -> object:
        raise SystemExit

    world.platform.answers.append(Accepted(remote_id="p-1"))
    world.platform.connects += [None, dies]
    with pytest.raises(SystemExit):
        world.publish(target)
    world.end_lease(target)
    world.sweep().sweep()
    assert world.status(target) == "retry_scheduled"
    assert world.publish(target) == "published"
    assert world.platform.texts == ["one", "two"]


def test_a_lease_that_runs_is_left_alone(world: World):
    """A live holder is never doubted, nor one whose lease has just ended."""
    first, second = world.post(), world.post(account=world.new_account())
    world.claim(first, mark=True)
    world.claim(second, mark=True)
    world.end_lease(second, seconds_ago=0.2)
    assert world.sweep().sweep() == {"leases_ended": 0, "expired": 0, "re_emitted": 0}
    assert world.status(first) == world.status(second) == "publishing"


@pytest.mark.parametrize("status", ["scheduled", "retry_scheduled"])
def test_what_is_past_its_publish_by_time_has_failed_as_expired(world: World, status: str):
    """Nothing is sent after `publish_by`, and the target says why."""
    target = world.post(status=status, publish_by=datetime.now(UTC) - timedelta(seconds=1))
    world.relay().scan()
    assert world.sweep().sweep()["expired"] == 1
    assert values(world.row(target), "status", "reason", "next_kind") == ("failed", "expired", None)
    assert world.index_row(target)["status"] == "done"


def test_an_expired_thread_says_that_a_part_is_live(world: World):
    """What is live stays; the rest was not sent."""
    target = world.post(
        texts=["one", "two"],
        status="retry_scheduled",
        publish_by=datetime.now(UTC) - timedelta(seconds=1),
        part_columns={"remote_id": "p-1", "accepted_at": datetime.now(UTC)},
    )
    world.sweep().sweep()
    row = world.row(target)
    assert (row["status"], row["reason"]) == ("failed", "expired")
    assert "1 of 2 parts is live" in row["detail"]


def test_an_expired_target_that_a_person_withdrew_is_cancelled(world: World):
    """Withdrawn and never sent is cancelled, not failed."""
    target = world.post(
        status="retry_scheduled",
        publish_by=datetime.now(UTC) - timedelta(seconds=1),
        columns={"cancel_requested": True},
    )
    world.sweep().sweep()
    assert world.status(target) == "cancelled"


def test_a_cancelled_targets_lost_worker_makes_it_cancelled(world: World, claimed: UUID):
    """Withdrawn in flight, never marked, worker lost: nothing is sent."""
    resolve.cancel(world.stores, tenant=world.tenant, target_id=claimed, reason="typo", actor="person")
    world.sweep().sweep()
    assert world.status(claimed) == "cancelled"


def test_what_is_marked_or_unknown_does_not_expire(world: World):
    """Past `publish_by` with a marked request: it is looked for, never just called failed."""
    target = world.post()
    world.lose_answer(target)
    world.arrange_target(target, publish_by=datetime.now(UTC) - timedelta(hours=1))
    assert world.sweep().sweep()["expired"] == 0
    assert world.status(target) == "unknown_outcome"


def test_two_sweeps_at_once_settle_each_target_once(world: World):
    """Four sweeps race over eight lost workers: each attempt ends once, each budget is spent once."""
    targets = [world.post(account=world.new_account()) for _ in range(8)]
    for number, target in enumerate(targets):
        world.claim(target, mark=number % 2 == 0)
        world.end_lease(target)
    results = race(*[world.sweep().sweep] * 4)
    assert not [result for result in results if isinstance(result, Exception)]
    assert sum(result["leases_ended"] for result in results) == 8
    for number, target in enumerate(targets):
        row = world.row(target)
        expected = ("unknown_outcome", 0, 2) if number % 2 == 0 else ("retry_scheduled", 1, 2)
        assert values(row, "status", "tries_spent", "seq") == expected
        assert world.part(target)["unknown_count"] == (number % 2 == 0)


def test_a_lease_that_was_renewed_after_the_sweep_read_it_is_left_alone(world: World, claimed: UUID):
    """The sweep settles the row as it read it, or not at all."""
    [stale] = world.machine.ended_leases(limit=10)
    world.arrange_target(claimed, lease_until=datetime.now(UTC) + timedelta(minutes=1))

    class OneStale:
        name = "default"
        past_publish_by = world.machine.past_publish_by
        overdue_rows = world.machine.overdue_rows
        settle = world.machine.settle

        def ended_leases(self, *, limit: int) -> list[Any]:
            return [stale]

    assert world.sweep(overdue=OneStale()).sweep()["leases_ended"] == 0
    assert world.status(claimed) == "publishing"


def test_one_target_that_cannot_be_settled_blocks_no_other(world: World):
    """A target of a platform that this version doesn't know: the others are swept, and a person is told."""
    broken, fine = world.post(platform="gone"), world.post(account=world.new_account())
    for target in (broken, fine):
        world.claim(target)
    world.end_lease(broken, seconds_ago=60)
    world.end_lease(fine)

    def adapter_for(platform: str) -> Any:
        if platform == "gone":
            raise LookupError(platform)
        return world.platform

    world.sweep(adapter_for=adapter_for).sweep()
    assert world.status(fine) == "retry_scheduled"
    assert world.status(broken) == "publishing"
    assert world.alarms() != []


@pytest.mark.parametrize("marked", [True, False])
def test_where_nobody_can_look_an_unknown_outcome_is_for_a_person(world: World, marked: bool):
    """A platform without a finder: a lost answer, or a lost worker, goes straight to a person."""
    world.platform.finder = None
    target = world.post()
    if marked:
        world.claim(target, mark=True)
        world.end_lease(target)
        world.sweep().sweep()
    else:
        world.lose_answer(target)
    assert values(world.row(target), "status", "holds_account") == ("needs_attention", False)
    assert world.part(target)["mark_cleared"] is False
    assert world.targets.claim(world.request(target)) is None


# Next work that the index does not have.


def test_next_work_that_the_index_lost_is_mirrored_again(world: World):
    """A row that is gone, or older than the cell, is re-emitted once it is overdue."""
    gone, old, known = (world.post(account=world.new_account()) for _ in range(3))
    world.relay().scan()
    for target in (gone, old, known):
        world.time_passes(target, 60)
    world.arrange("DELETE FROM central.publish_dispatch_index WHERE target_id = %(id)s", id=gone)
    world.arrange_target(old, seq=5)
    assert world.sweep().sweep()["re_emitted"] == 2
    assert values(world.index_row(gone), "status", "seq") == ("pending", 1)
    assert values(world.index_row(old), "status", "seq") == ("pending", 5)
    assert world.sweep().sweep()["re_emitted"] == 0


def test_work_that_is_just_due_is_not_called_lost(world: World):
    """The relay has a few seconds before anything is missing."""
    world.post()
    assert world.sweep().sweep()["re_emitted"] == 0


def test_lost_work_behind_a_long_backlog_is_found(world: World, monkeypatch: pytest.MonkeyPatch):
    """More overdue rows than one batch are known to the index; the one that is not stands behind them."""
    monkeypatch.setattr(sweep_module, "_AUDIT_PAGE", 4)
    known = [world.post(account=world.new_account()) for _ in range(6)]
    world.relay().scan()
    lost_one = world.post(account=world.new_account())
    for target in known:
        world.time_passes(target, 600)
    world.time_passes(lost_one, 60)
    for _ in range(4):
        world.sweep().sweep()
    assert world.index_row(lost_one) is not None


# Messages that nobody answered.


def silent(world: World, *, sends: int = 1) -> UUID:
    """A row whose message should have been answered a moment ago."""
    target = index_row(world, status="enqueued")
    world.arrange(
        "UPDATE central.publish_dispatch_index SET resend_at = now() - interval '1 ms', sends = %(sends)s"
        " WHERE target_id = %(id)s",
        sends=sends,
        id=target,
    )
    return target


def test_a_message_that_nobody_answered_is_sent_again_with_doubling_waits(world: World):
    """15 s after the first, then 30 s, a minute, … at most ten minutes."""
    target = silent(world)
    for sends, wait in ((2, 30), (3, 60), (4, 120), (5, 240), (6, 480), (7, 600), (8, 600)):
        assert world.queue_sweep().sweep() == 1
        assert taken(world) == [target]
        row = world.index_row(target)
        assert row["sends"] == sends
        assert (row["resend_at"] - row["updated_at"]).total_seconds() == pytest.approx(wait)
        world.arrange("UPDATE central.publish_dispatch_index SET resend_at = now() - interval '1 ms'")


def test_a_message_that_is_sent_again_and_again_alarms(world: World):
    """From the fifth sending on a person is told, once, counted."""
    silent(world, sends=3)
    for alarms in (0, 1, 1):
        world.queue_sweep().sweep()
        world.queue.take()
        assert len(world.alarms()) == alarms
        world.arrange("UPDATE central.publish_dispatch_index SET resend_at = now() - interval '1 ms'")


def test_nothing_is_sent_again_while_the_messages_are_still_in_the_queue(world: World):
    """The queue is as long as what is out: the workers are behind, no message is lost."""
    for _ in range(3):
        silent(world)
    for length in (3, 4):
        world.queue.said_length = length
        assert world.queue_sweep().sweep() == 0
    world.queue.said_length = 2
    assert world.queue_sweep().sweep() == 3


def test_a_message_whose_time_is_not_over_is_not_sent_again(world: World):
    """An enqueued row has its fifteen seconds."""
    index_row(world, status="enqueued")
    assert world.queue_sweep().sweep() == 0


def test_a_row_that_was_answered_is_not_sent_again(world: World):
    """Done and pending rows are nobody's silent message."""
    for status in ("done", "pending"):
        index_row(world, status=status, in_seconds=3600.0)
    index_row(world, status="enqueued")
    assert world.queue_sweep().sweep() == 0


def test_two_queue_sweeps_at_once_send_each_message_once(world: World):
    """Rows that another sweep has are passed over."""
    targets = [silent(world) for _ in range(12)]
    world.queue.said_length = 0
    results = race(*[world.queue_sweep().sweep] * 3)
    assert not [result for result in results if isinstance(result, Exception)]
    assert sorted(taken(world)) == sorted(targets)


def test_a_queue_that_cannot_be_reached_fails_no_sweep(world: World):
    """The rows come again at their next time."""
    silent(world)
    world.queue.said_length = 0
    world.queue.failing = QueueUnreachableError("gone")
    assert world.queue_sweep().sweep() == 0
    assert taken(world) == []


def test_a_lost_message_is_made_good_end_to_end(world: World):
    """The message is lost, the sweep sends it again, a worker publishes; a message too many harms nothing."""
    target = world.post()
    world.relay().scan()
    world.dispatcher().scan()
    world.queue.take()
    world.arrange("UPDATE central.publish_dispatch_index SET resend_at = now()")
    world.queue_sweep().sweep()
    [again] = world.queue.take()
    assert world.handle(again) == "published"
    assert world.handle(again) == "claimable"
    assert len(world.platform.sent) == 1
    assert values(world.index_row(target), "status") == ("done",)


def test_a_lost_answer_comes_to_its_end_by_itself(world: World):
    """Lost, looked for three times, sent once more: relay, dispatcher and workers need nothing but time."""
    target = world.post()
    world.platform.answers.append(lost())
    assert world.work_off() == ["unknown_outcome"]
    said = []
    for _ in range(4):
        world.time_passes(target, 400)
        said += world.work_off()
    assert said[:3] == ["unknown_outcome", "unknown_outcome", "retry_scheduled"]
    assert world.status(target) == "published"
    assert len(world.platform.sent) == 2
