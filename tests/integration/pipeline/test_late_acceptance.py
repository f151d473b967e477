"""Late answers and second ids: evidence counts in every state, and what is wrong raises an alarm."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from socialq.desk import edit, resolve
from socialq.domain.outcomes import Accepted, Evidence, Rejected
from socialq.domain.states import TargetStatus
from tests.integration.pipeline.doubles import found, lost

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.pipeline.world import World

NOW = datetime.now(UTC)
RESTING = {
    "next_kind": None,
    "next_at": None,
    "lease_token": None,
    "lease_until": None,
    "holds_account": False,
}
WAITING = {**RESTING, "next_kind": "publish", "next_at": NOW}
STATES: dict[str, dict[str, Any]] = {
    "draft": RESTING,
    "invalid": RESTING,
    "ready": RESTING,
    "scheduled": WAITING,
    "retry_scheduled": WAITING,
    "publishing": {
        "next_kind": "publish",
        "next_at": NOW,
        "holds_account": True,
        "lease_token": "00000000-0000-4000-8000-000000000001",
        "lease_until": NOW + timedelta(minutes=1),
    },
    "unknown_outcome": {
        **RESTING,
        "next_kind": "look",
        "next_at": NOW,
        "lost_at": NOW,
        "holds_account": True,
    },
    "needs_attention": RESTING,
    "needs_reconnect": RESTING,
    "failed": RESTING,
    "published": {**RESTING, "published_at": NOW},
    "cancelled": RESTING,
}


@pytest.mark.parametrize("status", STATES)
def test_a_late_acceptance_publishes_whatever_state_the_target_is_in(world: World, status: str):
    """The post is live: from any state its target is published, its part has the id, its attempt is accepted."""
    target = world.post()
    claim = world.claim(target, mark=True)
    world.arrange_target(target, status=status, **STATES[status])
    settled = claim.late("r-1")
    assert settled.status is TargetStatus.PUBLISHED
    row = world.row(target)
    assert (row["status"], row["holds_account"], row["lease_token"]) == ("published", False, None)
    assert world.part(target)["remote_id"] == "r-1"
    assert world.attempts(target)[0]["state"] == "accepted"
    assert settled.alarm is None
    if status != "published":
        assert world.history(target)[-1] == "published"
        assert [publication["remote_id"] for publication in world.publications(target)] == ["r-1"]


@pytest.mark.parametrize("status", sorted(set(STATES) - {"published"}))
def test_after_a_late_acceptance_nothing_is_left_to_do_but_one_look(world: World, status: str):
    """What follows a late acceptance ends: whatever look is planned is finished when its time has come."""
    target = world.post()
    claim = world.claim(target, mark=True)
    world.relay().scan()
    world.arrange_target(target, status=status, seq=7, **STATES[status])
    claim.late("r-1")
    world.work_off()
    world.time_passes(target, 7200)
    world.work_off()
    assert world.row(target)["next_kind"] is None
    assert world.index_row(target)["status"] == "done"
    assert world.platform.sent == []


def test_a_late_acceptance_of_an_edited_post_is_kept(world: World):
    """Proven absent, failed, edited into a draft, and then the answer comes: it was the old version that is live."""
    target = world.post()
    claim = world.claim(target, mark=True)
    world.taken_for_absent(target)
    world.platform.answers.append(Rejected(evidence=Evidence(code="no")))
    world.publish(target)
    post_id, old_version = world.row(target)["post_id"], world.row(target)["version_id"]
    edit.edit_post(
        world.stores,
        tenant=world.tenant,
        post_id=post_id,
        parts=[{"text": "another text", "media": []}],
        actor="person",
    )
    assert world.status(target) == "draft"
    assert claim.late("r-1").status is TargetStatus.PUBLISHED
    [publication] = world.publications(target)
    assert (publication["remote_id"], publication["version_id"]) == ("r-1", old_version)


def test_an_answer_after_the_sweep_publishes(world: World):
    """The worker stood still past its lease; its answer still counts, and nothing is sent again."""
    target = world.post()
    world.relay().scan()

    def under_way(_call: object) -> object:
        world.end_lease(target)
        assert world.sweep().sweep()["leases_ended"] == 1
        assert world.status(target) == "unknown_outcome"
        return Accepted(remote_id="r-1")

    world.platform.answers.append(under_way)
    assert world.publish(target) == "late_acceptance"
    assert world.status(target) == "published"
    assert world.part(target)["remote_id"] == "r-1"
    assert world.alarms() == []


def test_a_refusal_after_the_sweep_is_recorded_with_its_attempt(world: World):
    """A late failure says how its own attempt ended; the target is looked for all the same."""
    target = world.post()

    def under_way(_call: object) -> object:
        world.end_lease(target)
        world.sweep().sweep()
        return Rejected(evidence=Evidence(http_status=422, code="test.no", message="no"))

    world.platform.answers.append(under_way)
    assert world.publish(target) == "lost_claim"
    assert world.status(target) == "unknown_outcome"
    [attempt] = world.attempts(target)
    assert (attempt["state"], attempt["http_status"]) == ("rejected", 422)


def test_a_late_acceptance_blocks_the_mark_of_the_next_attempt(world: World):
    """The next attempt has its claim and prepares; the first one's answer comes; nothing more is sent."""
    target = world.post()
    earlier = world.claim(target, mark=True)
    world.taken_for_absent(target)
    later = world.claim(target)
    earlier.late("r-1")
    assert later.mark() is None
    assert world.status(target) == "published"
    assert world.publish(target) == "claimable"
    assert world.platform.sent == []


def test_a_late_acceptance_of_one_part_of_a_thread_blocks_its_second_sending(world: World):
    """Part 1 turns out to be live after the thread was loaded for a retry: part 1 is not sent again."""
    target = world.post(texts=["one", "two"])
    earlier = world.claim(target, mark=True)
    world.taken_for_absent(target)
    message = world.message(target)

    def connect() -> None:
        # Between the worker's read and its claim.
        earlier.late("r-1")

    world.platform.connects.append(connect)
    world.publisher().publish(message)
    assert "one" not in world.platform.texts
    world.work_off()
    world.publish(target)
    assert world.platform.texts == ["two"]
    assert world.status(target) == "published"


def test_a_late_acceptance_of_a_part_ends_the_search_for_it(world: World):
    """Part 1 of 2 was looked for; its answer comes: the thread goes on with part 2, and no look repeats for ever."""
    target = world.post(texts=["one", "two"])
    claim = world.claim(target, mark=True)
    world.end_lease(target)
    world.relay().scan()
    world.sweep().sweep()
    assert world.status(target) == "unknown_outcome"
    claim.late("r-1")
    world.time_passes(target, 60)
    world.work_off()
    assert world.status(target) == "published"
    assert [(sent["text"], sent["parent"]) for sent in world.platform.sent] == [("two", "r-1")]


def test_a_late_acceptance_of_a_part_leaves_what_waits_for_a_person(world: World):
    """A thread that a person decides about stays theirs; the evidence is there for them to see."""
    target = world.post(texts=["one", "two"])
    claim = world.claim(target, mark=True)
    world.arrange_target(target, status="needs_attention", **RESTING)
    settled = claim.late("r-1")
    assert settled.status is TargetStatus.NEEDS_ATTENTION
    assert world.part(target)["remote_id"] == "r-1"
    assert world.platform.sent == []


def test_a_late_acceptance_that_comes_twice_changes_nothing_more(world: World):
    """The same evidence twice is one piece of evidence."""
    target = world.post()
    claim = world.claim(target, mark=True)
    world.end_lease(target)
    world.sweep().sweep()
    claim.late("r-1")
    before = world.row(target)
    assert claim.late("r-1").alarm is None
    assert world.row(target) == before
    assert len(world.publications(target)) == 1


def test_two_remote_ids_for_one_part_raise_the_duplicate_alarm(world: World):
    """The customer's post is there twice: the first id stays, the second is kept as seen, a person is told."""
    target = world.post()
    claim = world.claim(target, mark=True)
    claim.accepted("r-1")
    settled = claim.late("r-2")
    assert settled.alarm is not None
    assert "r-1" in settled.alarm
    assert "r-2" in settled.alarm
    assert world.part(target)["remote_id"] == "r-1"
    seen = world.rows("SELECT remote_id FROM cell.sightings ORDER BY remote_id")
    assert [row["remote_id"] for row in seen] == ["r-1", "r-2"]


def test_the_duplicate_alarm_reaches_the_central_database(world: World):
    """The worker whose late answer shows a duplicate raises the alarm."""
    target = world.post()

    def under_way(_call: object) -> object:
        resolve_as_published(world, target, "r-1")
        return Accepted(remote_id="r-2")

    world.platform.answers.append(under_way)
    assert world.publish(target) == "late_acceptance"
    assert any("live more than once" in alarm for alarm in world.alarms())


def resolve_as_published(world: World, target: UUID, remote_id: str) -> None:
    """Its lease ends, it is unknown, and a person says that it is live."""
    world.end_lease(target)
    world.sweep().sweep()
    resolve.mark_published(
        world.stores,
        tenant=world.tenant,
        target_id=target,
        link_or_id=remote_id,
        now=datetime.now(UTC),
        actor="person",
    )


def test_a_second_id_for_a_part_of_a_thread_never_replaces_the_first(world: World):
    """A late answer gave part 1 its id while a retry sent it again: the first id stays, and the alarm is raised."""
    target = world.post(texts=["one", "two"])
    earlier = world.claim(target, mark=True)
    world.taken_for_absent(target)

    def under_way(_call: object) -> object:
        earlier.late("r-first")
        return Accepted(remote_id="r-second")

    world.platform.answers.append(under_way)
    world.publish(target)
    assert world.part(target, 1)["remote_id"] == "r-first"
    assert any("live more than once" in alarm for alarm in world.alarms())


def test_an_answer_with_another_parts_id_is_not_adopted(world: World):
    """Late, with an id that another target owns: an alarm, no publication, and the owner keeps its id."""
    owner, target = world.post(), world.post(account=world.account)
    world.claim(owner, mark=True).accepted("r-1")
    claim = world.claim(target, mark=True)
    world.end_lease(target)
    world.sweep().sweep()
    settled = claim.late("r-1")
    assert settled.status is TargetStatus.UNKNOWN_OUTCOME
    assert "another part owns" in settled.alarm
    assert world.part(target)["remote_id"] is None
    assert world.publications(target) == []
    [sighting] = world.rows("SELECT target_id FROM cell.sightings")
    assert sighting["target_id"] == owner


@pytest.mark.parametrize("texts", [["one"], ["one", "two"]], ids=["post", "thread"])
def test_an_answer_in_time_with_another_parts_id_raises_an_alarm(world: World, texts: list[str]):
    """A platform that answers with the id of another post of ours: a person is told, the owner keeps its id."""
    owner, target = world.post(), world.post(texts=texts)
    world.platform.answers.append(Accepted(remote_id="r-1"))
    world.publish(owner)
    world.platform.answers.append(Accepted(remote_id="r-1"))
    world.publish(target)
    assert any("another part owns" in alarm for alarm in world.alarms())
    sightings = world.rows("SELECT target_id FROM cell.sightings WHERE remote_id = 'r-1'")
    assert [row["target_id"] for row in sightings] == [owner]


def test_a_look_that_finds_what_another_part_just_adopted_settles_nothing(world: World):
    """Two looks find the same post: the first adopts it, the second's finding says nothing any more."""
    first, second = world.post(), world.post(account=world.account)
    world.lose_answer(first)
    world.arrange_target(first, holds_account=False)
    world.lose_answer(second)
    for target in (first, second):
        world.time_passes(target, 60)
    world.platform.looks += [found("r-1"), found("r-1")]
    assert world.look(first) == "published"
    assert world.look(second) == "lost_race"
    assert world.status(second) == "unknown_outcome"
    assert world.part(second)["remote_id"] is None


def test_a_person_who_marked_it_published_is_not_contradicted_by_the_same_answer(world: World):
    """The late answer names the very post that the person named: no alarm."""
    target = world.post()

    def under_way(_call: object) -> object:
        resolve_as_published(world, target, "12345")
        return Accepted(remote_id="12345")

    world.platform.answers.append(under_way)
    world.publish(target)
    assert world.alarms() == []
    assert world.status(target) == "published"


def test_a_lost_answer_is_no_late_acceptance(world: World):
    """A request that was lost after the claim was lost leaves the target where it is."""
    target = world.post()

    def under_way(_call: object) -> object:
        world.end_lease(target)
        world.sweep().sweep()
        return lost()

    world.platform.answers.append(under_way)
    assert world.publish(target) == "lost_claim"
    assert world.status(target) == "unknown_outcome"
    assert world.part(target)["unknown_count"] == 1


def test_the_same_key_twice_returns_the_first_publication(world: World):
    """A second publication of a key keeps the first result."""
    target = world.post()
    claim = world.claim(target, mark=True)
    claim.accepted("r-1")
    claim.late("r-2")
    assert [publication["remote_id"] for publication in world.publications(target)] == ["r-1"]
