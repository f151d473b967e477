"""What follows publication: every consumer gets every event once, in order, and none can stop another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from socialq.upkeep.fanout.events import FanOut, LatenessCounter, WebhookMaker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.store.cell.event_cursors import Event
    from socialq.store.sessions import Session
    from tests.integration.pipeline.world import World


@dataclass
class Listener:
    """Keeps what it is given; fails as long as `failing` says."""

    name: str = "listener"
    heard: list[Event] = field(default_factory=list)
    failing: bool = False
    poison: UUID | None = None

    def take(self, session: Session, events: Sequence[Event]) -> None:
        del session
        if self.failing or self.poison in {event.target_id for event in events}:
            raise RuntimeError("it can't")
        self.heard += events

    @property
    def said(self) -> list[tuple[str, UUID]]:
        return [(event.name, event.target_id) for event in self.heard]


@pytest.fixture(autouse=True)
def from_the_beginning(world: World) -> None:
    """No consumer is known, and nothing is counted."""
    world.arrange("DELETE FROM machine.event_cursors")
    world.arrange("DELETE FROM machine.lateness_counts")


def published(world: World) -> UUID:
    target = world.post(account=world.new_account())
    world.work_off()
    return target


def listen(world: World, *consumers: Listener | LatenessCounter | WebhookMaker) -> dict[str, int]:
    world.wait_for_older_transactions()
    return FanOut(stores=world.stores, consumers=consumers).run("default")


def waits_no_more(world: World) -> None:
    world.arrange("UPDATE machine.event_cursors SET next_try_at = now()")


def test_an_event_is_named_as_the_state_it_tells_of(world: World):
    """Published, unknown, needs attention, failed, cancelled: not that a worker has claimed something."""
    live = published(world)
    lost = world.post(account=world.new_account())
    world.lose_answer(lost)
    listener = Listener()
    listen(world, listener)
    assert listener.said == [("post_target.published", live), ("post_target.unknown_outcome", lost)]
    assert [event.tenant_id for event in listener.heard] == [world.tenant] * 2


def test_every_consumer_gets_every_event_once(world: World):
    """At its own time: one that comes late gets all of it."""
    first = published(world)
    one, two = Listener("one"), Listener("two")
    assert listen(world, one) == {"one": 1}
    second = published(world)
    assert listen(world, one, two) == {"one": 1, "two": 2}
    assert listen(world, one, two) == {"one": 0, "two": 0}
    assert [target for _, target in one.said] == [target for _, target in two.said] == [first, second]


def test_a_consumer_that_fails_waits_alone_and_is_tried_again(world: World):
    """The other one goes on; the failing one gets its events when it works again, and there is an alarm meanwhile."""
    bad, good = Listener("bad", failing=True), Listener("good")
    target = published(world)
    for number in range(5):
        listen(world, bad, good)
        assert len(good.heard) == 1
        waits_no_more(world)
        assert bool(world.alarms()) == (number == 4)
    assert "consumer bad of cell default has failed 5 times" in world.alarms()[0]
    assert world.status(target) == "published"
    bad.failing = False
    listen(world, bad, good)
    assert bad.said == good.said
    assert world.alarms() == []


def test_a_failed_consumer_waits_longer_each_time(world: World):
    """It is not asked again in a tight loop."""
    bad = Listener("bad", failing=True)
    published(world)
    listen(world, bad)
    listen(world, bad)
    [row] = world.arrange("SELECT failures, next_try_at - updated_at AS wait FROM machine.event_cursors")
    assert (row["failures"], row["wait"].total_seconds()) == (1, pytest.approx(1, abs=0.2))
    waits_no_more(world)
    listen(world, bad)
    [row] = world.arrange("SELECT failures, next_try_at - updated_at AS wait FROM machine.event_cursors")
    assert (row["failures"], row["wait"].total_seconds()) == (2, pytest.approx(2, abs=0.2))


def test_what_comes_before_a_poisonous_event_is_dealt_with(world: World):
    """A batch fails as a whole; one by one, everything before the one that can't be dealt with goes through."""
    first, poison, _ = published(world), published(world), published(world)
    listener = Listener(poison=poison)
    listen(world, listener)
    assert listener.heard == []
    for _ in range(2):
        waits_no_more(world)
        listen(world, listener)
    assert [target for _, target in listener.said] == [first]


def test_no_event_is_passed_over_however_late_its_transaction_commits(world: World):
    """A move that began first and commits last is not behind the consumer's place by then."""
    slow = world.post(account=world.new_account())
    listener = Listener()
    with world.owner() as connection:
        connection.execute(
            "UPDATE cell.post_targets SET status = 'cancelled', next_kind = NULL, next_at = NULL"
            " WHERE id = %s",
            [slow],
        )
        quick = world.post(account=world.new_account())
        world.publish(quick)
        FanOut(stores=world.stores, consumers=[listener]).run("default")
        assert listener.heard == []
        connection.commit()
    listen(world, listener)
    assert listener.said == [("post_target.cancelled", slow), ("post_target.published", quick)]


def test_several_at_once_hand_out_each_event_once(world: World):
    """A consumer's place is one's at a time."""
    targets = [published(world) for _ in range(5)]
    listener = Listener()
    fan_out = FanOut(stores=world.stores, consumers=[listener])
    world.wait_for_older_transactions()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: fan_out.run("default"), range(8)))
    assert [target for _, target in listener.said] == targets


@pytest.mark.parametrize("old_numbers", [1000000000000, 0])
def test_in_a_database_from_a_dump_consumers_go_on(world: World, old_numbers: int):
    """Its server counts transactions from the beginning again: what is old is not told anew, what is new is told."""
    published(world)
    listener = Listener()
    listen(world, listener)
    old = world.arrange("SELECT max(id) AS id FROM cell.target_history")[0]["id"]
    world.arrange(
        "UPDATE cell.target_history SET xact = xact + %(by)s WHERE id <= %(old)s", old=old, by=old_numbers
    )
    world.arrange("UPDATE machine.event_cursors SET xact = xact + 1000000000000")
    listener.heard.clear()
    fresh = published(world)
    for _ in range(3):
        listen(world, listener)
    assert [target for _, target in listener.said] == [fresh]


def test_a_consumer_that_is_at_it_elsewhere_is_left_alone(world: World):
    """Another process has its place: nothing is handed out twice, and nobody waits."""
    published(world)
    listen(world, Listener())
    published(world)
    listener = Listener()
    with world.owner() as connection:
        connection.execute("SELECT 1 FROM machine.event_cursors FOR UPDATE")
        assert listen(world, listener) == {"listener": 0}
        assert listener.heard == []
    assert listen(world, listener) == {"listener": 1}


def test_lateness_is_counted_once_for_each_published_target(world: World):
    """Platform and gap, in buckets; a target that is told of twice at once, or again, counts no more."""
    for _ in range(3):
        published(world)
    listen(world, LatenessCounter())
    listen(world, LatenessCounter())
    rows = world.arrange(
        "SELECT gap, sum(count)::int AS n FROM machine.lateness_counts GROUP BY 1 ORDER BY 1"
    )
    assert {row["gap"]: row["n"] for row in rows} == {
        "slot_to_claim": 3,
        "claim_to_acceptance": 3,
        "acceptance_to_seen": 3,
        "slot_to_seen": 3,
    }
    assert {row["platform"] for row in world.arrange("SELECT platform FROM machine.lateness_counts")} == {
        "mastodon"
    }
