"""Looking for what was lost: found, proven absent, or for a person; and never another post's id."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.desk import resolve
from socialq.domain.outcomes import (
    Absent,
    Accepted,
    AuthLost,
    CannotTell,
    Evidence,
    RateLimited,
    Transient,
)
from tests.integration.pipeline.doubles import found, lost
from tests.integration.pipeline.racing import race
from tests.integration.pipeline.world import LOOK_DELAYS_SECONDS, in_seconds

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.pipeline.world import World

SAID = Evidence(code="test.code", message="said so")
NO_ANSWER = CannotTell(failure=Transient(evidence=SAID))


@pytest.fixture
def lost_one(world: World) -> UUID:
    """A target whose answer was lost, and whose first look is due."""
    target = world.post()
    world.relay().scan()
    world.lose_answer(target)
    world.time_passes(target, 11.0)
    return target


def look_until_the_end(world: World, target: UUID) -> None:
    """Every planned look, each at its time."""
    for _ in LOOK_DELAYS_SECONDS:
        if world.status(target) == "unknown_outcome":
            world.time_passes(target, 400.0)
            world.look(target)


def test_what_a_look_finds_is_published(world: World, lost_one: UUID):
    """The lost answer's post is there: the target is published with its id, and nothing is sent again."""
    world.platform.looks.append(found("r-1"))
    assert world.look(lost_one) == "published"
    row, part = world.row(lost_one), world.part(lost_one)
    assert (row["status"], row["reason"], row["holds_account"], row["next_kind"]) == (
        "published",
        "found",
        False,
        None,
    )
    assert (part["remote_id"], part["permalink"]) == ("r-1", "https://social.example/r-1")
    assert world.attempts(lost_one)[0]["state"] == "found"
    assert world.publications(lost_one)[0]["remote_id"] == "r-1"
    assert world.index_row(lost_one)["status"] == "done"
    assert world.alarms() == []


def test_a_look_asks_from_the_first_mark_on(world: World, lost_one: UUID):
    """The window of the look begins with the earliest request that may have made it live."""
    world.look(lost_one)
    assert world.platform.looked[0]["sent_after"] == world.part(lost_one)["first_marked_at"]


def test_absent_at_every_look_is_sent_once_more(world: World, lost_one: UUID):
    """Ten seconds, a minute, five minutes: then it is proven absent and sent again, once."""
    look_until_the_end(world, lost_one)
    row = world.row(lost_one)
    assert (row["status"], row["reason"], row["looks_done"]) == ("retry_scheduled", "proven_absent", 3)
    assert row["tries_spent"] == 0
    assert world.part(lost_one)["mark_cleared"] is True
    assert world.attempts(lost_one)[0]["state"] == "absent"
    assert len(world.platform.looked) == 3
    assert world.publish(lost_one) == "published"
    assert len(world.platform.sent) == 2


def test_no_look_but_the_last_proves_anything(world: World, lost_one: UUID):
    """After one finished look the target is still unknown, and no worker may claim it."""
    world.look(lost_one)
    row = world.row(lost_one)
    assert (row["status"], row["next_kind"], row["looks_done"]) == ("unknown_outcome", "look", 1)
    assert world.publish(lost_one) == "claimable"
    assert world.targets.claim(world.request(lost_one)) is None
    assert len(world.platform.sent) == 1


def test_the_first_finished_look_frees_the_account(world: World, lost_one: UUID):
    """Other posts of the account go out after the first look, not after the last."""
    other = world.post()
    assert world.publish(other) == "account_busy"
    world.look(lost_one)
    assert world.row(lost_one)["holds_account"] is False
    assert world.publish(other) == "published"


def test_a_failed_look_does_not_free_the_account(world: World, lost_one: UUID):
    """A look that could not be finished says nothing, so nothing is freed."""
    world.platform.looks.append(NO_ANSWER)
    world.look(lost_one)
    row = world.row(lost_one)
    assert (row["status"], row["holds_account"], row["looks_done"], row["looks_failed"]) == (
        "unknown_outcome",
        True,
        0,
        1,
    )
    assert world.publish(world.post()) == "account_busy"


def test_a_second_unknown_outcome_that_is_absent_is_for_a_person(world: World, lost_one: UUID):
    """Lost, absent, sent again, lost again, absent again: a person decides; the account is free."""
    look_until_the_end(world, lost_one)
    assert world.lose_answer(lost_one) == "unknown_outcome"
    assert world.part(lost_one)["unknown_count"] == 2
    look_until_the_end(world, lost_one)
    row = world.row(lost_one)
    assert (row["status"], row["reason"], row["holds_account"]) == ("needs_attention", "unknown_twice", False)
    assert world.part(lost_one)["mark_cleared"] is False
    assert len(world.platform.sent) == 2
    assert world.index_row(lost_one)["status"] == "done"


def test_a_person_may_still_send_it_a_third_time(world: World, lost_one: UUID):
    """What a person decides is done, under the same key, and the history says who decided."""
    look_until_the_end(world, lost_one)
    world.lose_answer(lost_one)
    look_until_the_end(world, lost_one)
    resolve.retry(
        world.stores,
        tenant=world.tenant,
        target_id=lost_one,
        now=world.work(lost_one).read_at,
        look_first=False,
        actor="person",
    )
    assert world.publish(lost_one) == "published"
    assert len({sent["key"] for sent in world.platform.sent}) == 1
    actors = world.rows("SELECT actor FROM cell.target_history WHERE target_id = %(id)s", id=lost_one)
    assert {"actor": "person"} in actors


def test_looks_that_fail_in_a_row_are_for_a_person(world: World, lost_one: UUID):
    """After as many failed looks as are allowed a person decides; nothing was sent again."""
    world.platform.looks += [NO_ANSWER] * 3
    waits = []
    for _ in range(2):
        world.look(lost_one)
        waits.append(in_seconds(world.row(lost_one)["next_at"]))
        world.time_passes(lost_one, 3600)
    assert waits == pytest.approx([10, 20], abs=2)
    world.look(lost_one)
    row = world.row(lost_one)
    assert (row["status"], row["reason"]) == ("needs_attention", "cannot_look")
    assert world.part(lost_one)["mark_cleared"] is False
    assert len(world.platform.sent) == 1


def test_a_finished_look_forgives_the_failed_ones_before_it(world: World, lost_one: UUID):
    """Only failures in a row count."""
    world.platform.looks += [NO_ANSWER, NO_ANSWER, Absent(examined=1), NO_ANSWER]
    for _ in range(4):
        world.look(lost_one)
        world.time_passes(lost_one, 3600)
    row = world.row(lost_one)
    assert (row["status"], row["looks_failed"], row["looks_done"]) == ("unknown_outcome", 1, 1)


def test_a_rate_limited_look_waits_as_long_as_the_platform_said(world: World, lost_one: UUID):
    """A look respects the platform's limits like anything else."""
    limited = CannotTell(failure=RateLimited(evidence=SAID, retry_after_seconds=500))
    world.platform.looks.append(limited)
    world.look(lost_one)
    assert in_seconds(world.row(lost_one)["next_at"]) == pytest.approx(500, abs=2)


def test_a_look_without_authorisation_is_for_a_person_and_marks_the_account(world: World, lost_one: UUID):
    """Nobody can look: the account needs to be reconnected, and the target needs attention."""
    world.platform.looks.append(CannotTell(failure=AuthLost(evidence=SAID)))
    assert world.look(lost_one) == "needs_attention"
    assert world.rows("SELECT status FROM cell.accounts WHERE id = %(id)s", id=world.account) == [
        {"status": "needs_reconnect"}
    ]


@pytest.mark.parametrize("seq", [-1, +1])
def test_a_look_message_of_another_seq_does_nothing(world: World, lost_one: UUID, seq: int):
    """An old message, or one that claims to be newer than the truth, asks nobody."""
    before = world.row(lost_one)
    message = world.message(lost_one, seq=before["seq"] + seq)
    assert world.looker().look(message) == "obsolete"
    assert world.row(lost_one) == before
    assert world.platform.looked == []


def test_an_early_look_message_does_nothing_but_set_its_row(world: World):
    """Before its time a look would prove nothing: it is asked again at its time."""
    target = world.post()
    world.relay().scan()
    world.lose_answer(target)
    before = world.row(target)
    assert world.look(target) == "obsolete"
    assert world.row(target) == before
    assert world.platform.looked == []
    index_row = world.index_row(target)
    assert (index_row["status"], index_row["kind"]) == ("pending", "look")
    assert index_row["ready_in_seconds"] == pytest.approx(10, abs=1)


def test_a_look_message_for_a_target_that_is_not_looked_for_publishes_nothing(world: World):
    """A message of the wrong kind only sets the row from the truth."""
    target = world.post()
    assert world.look(target) == "obsolete"
    assert world.status(target) == "scheduled"
    assert world.platform.looked == world.platform.sent == []


def test_two_racing_looks_settle_once(world: World, lost_one: UUID):
    """Two workers look with the same message: one settles, the other finds it changed."""
    world.platform.looks += [found("r-1"), found("r-1")]
    message = world.message(lost_one)
    results = race(lambda: world.looker().look(message), lambda: world.looker().look(message))
    assert results.count("published") == 1
    assert world.alarms() == []
    assert len(world.publications(lost_one)) == 1


def test_a_cancel_while_it_is_looked_for_is_kept_until_absence_is_proven(world: World, lost_one: UUID):
    """Withdrawn while unknown: found is published, proven absent is cancelled, and nothing is sent."""
    resolve.cancel(world.stores, tenant=world.tenant, target_id=lost_one, reason="typo", actor="person")
    assert world.status(lost_one) == "unknown_outcome"
    look_until_the_end(world, lost_one)
    assert world.status(lost_one) == "cancelled"
    assert len(world.platform.sent) == 1


def test_proven_absent_after_publish_by_is_expired(world: World, lost_one: UUID):
    """It is too late to send it once more."""
    world.arrange_target(lost_one, publish_by=world.row(lost_one)["next_at"])
    look_until_the_end(world, lost_one)
    row = world.row(lost_one)
    assert (row["status"], row["reason"]) == ("failed", "expired")
    assert world.part(lost_one)["mark_cleared"] is True


def test_ids_that_a_part_owns_are_left_out_of_the_look(world: World, lost_one: UUID):
    """A look is told which ids belong to other parts of the account, and of no other account."""
    world.look(lost_one)
    world.platform.answers.append(Accepted(remote_id="r-own"))
    world.publish(world.post())
    world.platform.answers.append(Accepted(remote_id="r-elsewhere"))
    world.publish(world.post(account=world.new_account()))
    world.time_passes(lost_one, 3600)
    world.look(lost_one)
    assert world.platform.looked[1]["claimed"] == frozenset({"r-own"})


def test_two_lost_posts_with_the_same_text_never_share_an_id(world: World):
    """Both answers are lost, one post is there: one target adopts it, the other is proven absent."""
    posts = ["r-1"]

    def finder(claimed: frozenset[str]) -> object:
        there = [remote_id for remote_id in posts if remote_id not in claimed]
        return found(there[0]) if there else Absent(examined=len(posts))

    world.platform.looks += [finder] * 12
    first, second = world.post(texts=["same"]), world.post(texts=["same"])
    world.lose_answer(first)
    world.arrange_target(first, holds_account=False)
    world.lose_answer(second)
    for target in (first, second):
        world.time_passes(target, 60)
        world.look(target)
    assert world.status(first) == "published"
    assert world.status(second) == "unknown_outcome"
    look_until_the_end(world, second)
    assert world.status(second) == "retry_scheduled"
    assert world.part(second)["remote_id"] is None


def test_a_thread_whose_second_part_was_lost_goes_on_under_the_part_that_was_found(world: World):
    """Part 2 of 3 is found: part 3 follows it, no budget is spent, and nothing is sent twice."""
    target = world.post(texts=["one", "two", "three"])
    world.platform.answers += [Accepted(remote_id="p-1"), lost()]
    assert world.publish(target) == "unknown_outcome"
    world.time_passes(target, 60)
    world.platform.looks.append(found("p-2"))
    assert world.look(target) == "retry_scheduled"
    row = world.row(target)
    assert (row["reason"], row["tries_spent"]) == ("found", 0)
    assert world.platform.looked[0]["part"] == 2
    assert world.platform.looked[0]["claimed"] == frozenset({"p-1"})
    world.platform.answers.append(Accepted(remote_id="p-3"))
    assert world.publish(target) == "published"
    assert world.platform.texts == ["one", "two", "three"]
    assert world.platform.sent[2]["parent"] == "p-2"
    assert [part["remote_id"] for part in world.parts(target)] == ["p-1", "p-2", "p-3"]
    assert world.publications(target)[0]["remote_id"] == "p-1"


def test_unknown_outcomes_count_for_each_part(world: World):
    """One lost answer for part 1 and one for part 2 are not two of one part."""
    target = world.post(texts=["one", "two"])
    world.lose_answer(target)
    look_until_the_end(world, target)
    world.platform.answers += [Accepted(remote_id="p-1"), lost()]
    world.publish(target)
    look_until_the_end(world, target)
    assert world.status(target) == "retry_scheduled"
    assert [part["unknown_count"] for part in world.parts(target)] == [1, 1]


@pytest.fixture
def published_after_unknown(world: World, lost_one: UUID) -> UUID:
    """Lost, proven absent, sent again, accepted; the look an hour later is due."""
    look_until_the_end(world, lost_one)
    world.platform.answers.append(Accepted(remote_id="r-2"))
    assert world.publish(lost_one) == "published"
    row = world.row(lost_one)
    assert row["next_kind"] == "look"
    assert in_seconds(row["next_at"]) == pytest.approx(3600, abs=5)
    world.relay().scan()
    world.time_passes(lost_one, 3700)
    return lost_one


def test_a_published_target_is_looked_for_once_more_after_an_unknown(
    world: World, published_after_unknown: UUID
):
    """An hour later it looks whether the lost request did make a second post: no, and that ends it."""
    assert world.work_off() == ["published"]
    row = world.row(published_after_unknown)
    assert (row["status"], row["next_kind"]) == ("published", None)
    assert world.platform.looked[-1]["claimed"] == frozenset({"r-2"})
    assert world.index_row(published_after_unknown)["status"] == "done"
    assert world.alarms() == []


def test_a_second_post_that_the_late_look_finds_raises_the_duplicate_alarm(
    world: World, published_after_unknown: UUID
):
    """The lost request did come through after all: a person is told of both ids; published stays published."""
    world.platform.looks.append(found("r-1"))
    assert world.look(published_after_unknown) == "published"
    [alarm] = world.alarms()
    assert "r-1" in alarm
    assert "r-2" in alarm
    assert world.part(published_after_unknown)["remote_id"] == "r-2"
    assert world.row(published_after_unknown)["next_kind"] is None


def test_a_late_look_that_fails_is_repeated_and_then_given_up(world: World, published_after_unknown: UUID):
    """Nobody is bothered by it: the target is published."""
    world.platform.looks += [NO_ANSWER] * 3
    for _ in range(3):
        world.look(published_after_unknown)
        world.time_passes(published_after_unknown, 3600)
    row = world.row(published_after_unknown)
    assert (row["status"], row["next_kind"]) == ("published", None)


def test_looking_publishes_nothing(world: World, lost_one: UUID):
    """Hop 6 only reads."""
    look_until_the_end(world, lost_one)
    assert len(world.platform.sent) == 1


def test_looks_count_from_the_end_of_the_lease_when_the_worker_died(world: World):
    """The request may have run until the lease was over: the first look is due ten seconds after that."""
    target = world.post()
    world.claim(target, mark=True)
    world.end_lease(target, seconds_ago=3.0)
    ended = world.row(target)["lease_until"]
    world.sweep().sweep()
    row = world.row(target)
    assert row["lost_at"] == ended
    assert row["next_at"] == ended + timedelta(seconds=10)
