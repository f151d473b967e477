"""The mark: committed before each request that makes content public, and refused when it may not be sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.desk import resolve, schedule
from socialq.domain.ids import new_token
from socialq.domain.keys import part_key, publication_key
from socialq.domain.local_time import Resolved
from socialq.domain.outcomes import Prepared
from socialq.providers.base import PrepareStep
from tests.integration.pipeline.doubles import lost, refused
from tests.integration.pipeline.racing import Background, race
from tests.integration.pipeline.world import in_seconds, wait_for_lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.pipeline.world import Claim, World

SLOT = datetime(2030, 6, 1, 7, 0, tzinfo=UTC)


def test_a_mark_is_written_with_its_attempt_and_renews_the_lease(world: World):
    """A mark names its attempt, and the lease runs anew from it."""
    target = world.post()
    claim = world.claim(target, lease_seconds=5.0)
    marked = claim.mark(lease_seconds=90.0)
    assert marked is not None
    part = world.part(target)
    assert (part["marked_attempt"], part["mark_cleared"]) == (1, False)
    assert part["marked_at"] is not None
    assert part["first_marked_at"] is not None
    assert world.attempts(target)[0]["marked_at"] is not None
    assert in_seconds(world.row(target)["lease_until"]) > 80


def _other_token(claim: Claim) -> None:
    claim.world.arrange_target(claim.target, lease_token=new_token())


def _cancel(claim: Claim) -> None:
    resolve.cancel(
        claim.world.stores, tenant=claim.world.tenant, target_id=claim.target, reason="typo", actor="test"
    )


def _seen(claim: Claim) -> None:
    claim.world.arrange(
        "INSERT INTO cell.sightings SELECT tenant_id, account_id, 'r-9', id, 1, 'late_answer', now()"
        " FROM cell.post_targets WHERE id = %(id)s",
        id=claim.target,
    )


def _live(claim: Claim) -> None:
    claim.world.arrange(
        "UPDATE cell.target_parts SET remote_id = 'r-9', accepted_at = now() WHERE target_id = %(id)s",
        id=claim.target,
    )


REFUSED_BY: dict[str, Callable[[Claim], None]] = {
    "another worker has the claim": _other_token,
    "its lease is over": lambda claim: claim.world.end_lease(claim.target, seconds_ago=0.001),
    "its publish-by time has passed": lambda claim: claim.world.arrange_target(
        claim.target, publish_by=datetime.now(UTC) - timedelta(milliseconds=1)
    ),
    "a person withdrew it": _cancel,
    "its part was seen live": _seen,
    "its part is live": _live,
    "it was settled": lambda claim: claim.world.arrange_target(
        claim.target,
        status="failed",
        lease_token=None,
        lease_until=None,
        holds_account=False,
        next_kind=None,
        next_at=None,
    ),
}


@pytest.mark.parametrize("why", REFUSED_BY)
def test_the_mark_is_refused(world: World, why: str):
    """Where a request may not be sent there is no mark: the part stays certainly not sent."""
    target = world.post()
    claim = world.claim(target)
    REFUSED_BY[why](claim)
    assert claim.mark() is None
    assert world.part(target)["marked_at"] is None
    assert world.attempts(target)[0]["marked_at"] is None


def test_a_mark_with_a_token_that_was_never_given_is_refused(world: World):
    """Only the claim's holder may mark."""
    target = world.post()
    claim = world.claim(target)
    assert claim.mark(token=new_token()) is None
    assert claim.mark() is not None


def test_a_cancel_that_is_under_way_stops_the_mark_that_waits_for_it(world: World):
    """The mark waits for the cancel that has the row, and then sees it."""
    target = world.post()
    claim = world.claim(target)
    with world.owner() as connection:
        connection.execute("UPDATE cell.post_targets SET cancel_requested = true WHERE id = %s", [target])
        marking = Background(claim.mark)
        wait_for_lock(world)
        connection.commit()
        assert marking.join() is None
    assert world.part(target)["marked_at"] is None


def test_a_late_acceptance_that_is_under_way_stops_the_mark_that_waits_for_it(world: World):
    """An acceptance of an earlier attempt arrives while a later one wants to mark: nothing is sent again."""
    target = world.post()
    earlier = world.claim(target, mark=True)
    world.taken_for_absent(target)
    later = world.claim(target)
    with world.owner() as connection:
        # The late acceptance has the target's row and waits for its sighting's place.
        connection.execute(
            "INSERT INTO cell.sightings SELECT tenant_id, account_id, 'r-1', id, 1, 'answer', now()"
            " FROM cell.post_targets WHERE id = %s",
            [target],
        )
        accepting = Background(lambda: earlier.late("r-1"))
        wait_for_lock(world)
        marking = Background(later.mark)
        wait_for_lock(world, 2)
        connection.rollback()
        assert accepting.join().status == "published"
        assert marking.join() is None
    assert world.part(target)["marked_attempt"] == 1


def test_a_late_acceptance_that_is_under_way_stops_the_claim_that_waits_for_it(world: World):
    """The same for a claim that is the mark, of a thread, whose target the evidence does not publish yet."""
    target = world.post(texts=["a", "b"])
    earlier = world.claim(target, mark=True)
    world.taken_for_absent(target)
    request = world.request(target, mark=True)
    with world.owner() as connection:
        connection.execute(
            "INSERT INTO cell.sightings SELECT tenant_id, account_id, 'r-1', id, 1, 'answer', now()"
            " FROM cell.post_targets WHERE id = %s",
            [target],
        )
        accepting = Background(lambda: earlier.late("r-1"))
        wait_for_lock(world)
        claiming = Background(lambda: world.targets.claim(request))
        wait_for_lock(world, 2)
        connection.rollback()
        accepting.join()
        assert claiming.join() is None
    assert world.part(target)["marked_attempt"] == 1


def test_two_marks_of_one_claim_count_one_attempt(world: World):
    """Marking twice, as after a lost answer of the database, changes nothing that counts."""
    target = world.post()
    claim = world.claim(target)
    results = race(claim.mark, claim.mark)
    assert all(result is not None for result in results)
    assert world.part(target)["marked_attempt"] == 1
    assert len(world.attempts(target)) == 1


def test_the_first_mark_freezes_the_instant(world: World):
    """The publication key's instant is the slot at the first mark."""
    target = world.post(publish_at=SLOT)
    claim = world.claim(target)
    marked = claim.mark()
    assert marked is not None
    assert marked.key_instant == SLOT
    assert world.row(target)["key_instant"] == SLOT


def test_a_later_time_after_the_first_mark_keeps_the_key(world: World):
    """Marked, certainly not sent, rescheduled, sent: the platform gets the key of the first slot."""
    target = world.post(publish_at=SLOT)
    world.platform.answers.append(refused())
    world.publish(target)
    assert world.status(target) == "retry_scheduled"
    later = SLOT + timedelta(days=1)
    schedule.reschedule(
        world.stores,
        tenant=world.tenant,
        target_ids=[target],
        resolved=_resolved(later),
        now=SLOT - timedelta(days=1),
        actor="test",
    )
    row = world.row(target)
    assert (row["publish_at"], row["key_instant"]) == (later, SLOT)
    assert world.publish(target) == "published"
    keys = {sent["key"] for sent in world.platform.sent}
    assert keys == {part_key(publication_key(target, SLOT, row["version_id"]), 1)}
    assert world.row(target)["key_instant"] == world.publications(target)[0]["key_instant"] == SLOT


def test_before_the_first_mark_another_time_is_another_publication(world: World):
    """Rescheduled before anything was marked: the key is the new slot's."""
    target = world.post(publish_at=SLOT)
    later = SLOT + timedelta(days=1)
    schedule.reschedule(
        world.stores,
        tenant=world.tenant,
        target_ids=[target],
        resolved=_resolved(later),
        now=SLOT - timedelta(days=1),
        actor="test",
    )
    assert world.publish(target) == "published"
    row = world.row(target)
    assert row["key_instant"] == later
    assert world.publications(target)[0]["publication_key"] == publication_key(
        target, later, row["version_id"]
    )


def test_every_try_of_a_part_has_the_same_key(world: World):
    """Retries keep the part's key, so that a platform that deduplicates can."""
    target = world.post()
    world.platform.answers += [refused(), refused()]
    for _ in range(3):
        world.publish(target)
    assert world.status(target) == "published"
    assert len(world.platform.sent) == 3
    assert len({sent["key"] for sent in world.platform.sent}) == 1


def test_the_first_mark_is_remembered_through_later_ones(world: World):
    """`first_marked_at` stays; `marked_at` is the latest mark's."""
    target = world.post()
    world.platform.answers.append(refused())
    world.publish(target)
    first = world.part(target)
    world.publish(target)
    second = world.part(target)
    assert second["first_marked_at"] == first["first_marked_at"]
    assert second["marked_at"] > first["marked_at"]
    assert second["marked_attempt"] == 2


def test_the_mark_is_committed_before_the_request_leaves(world: World):
    """While the request is under way the mark can be read by others, and no transaction is open."""
    target = world.post()
    seen: list[object] = []

    def under_way(_call: object) -> object:
        seen.append(world.part(target)["marked_at"])
        seen.append(
            world.arrange(
                "SELECT count(*) AS open FROM pg_stat_activity WHERE datname = current_database()"
                " AND application_name LIKE 'socialq-tests%%' AND xact_start IS NOT NULL"
            )[0]["open"]
        )
        return lost()

    world.platform.answers.append(under_way)
    world.publish(target)
    assert seen[0] is not None
    assert seen[1] == 0


@pytest.mark.parametrize("steps", [0, 1], ids=["the claim is the mark", "after a prepare step"])
def test_nothing_is_marked_before_the_connection_is_made(world: World, steps: int):
    """A connection that can't be made leaves no mark: the target is certainly not sent."""
    target = world.post()
    if steps:
        world.platform.steps = [PrepareStep(name="media.1", run=lambda _http: Prepared(result={"id": "m"}))]
    world.platform.connects.append(refused())
    assert world.publish(target) == "retry_scheduled"
    assert world.part(target)["marked_at"] is None
    assert world.platform.sent == []
    assert world.row(target)["tries_spent"] == 1


@pytest.mark.parametrize("bad", ["image/png\0", "\ud800"])
def test_a_prepare_result_that_no_database_keeps_is_a_failure_of_the_platform(world: World, bad: str):
    """It ends the try as any unreadable answer does, and says whose fault it is: no worker falls over it."""
    world.platform.steps = [
        PrepareStep(name="media.1", run=lambda _http: Prepared(result={"blob": {"mimeType": bad}}))
    ]
    target = world.post()
    assert world.publish(target) == "retry_scheduled"
    assert world.part(target)["marked_at"] is None
    assert world.row(target)["tries_spent"] == 1
    assert "no database keeps" in world.row(target)["detail"]


def test_a_prepare_result_is_kept_and_not_made_twice(world: World):
    """A step's result is stored the moment it exists; the next try starts from it."""
    runs: list[int] = []

    def run(_http: object) -> Prepared:
        runs.append(1)
        return Prepared(result={"id": "m-1"})

    world.platform.steps = [PrepareStep(name="media.1", run=run)]
    target = world.post()
    world.platform.connects.append(refused())
    world.publish(target)
    assert world.part(target)["prepared"] == {"media.1": {"id": "m-1"}}
    assert world.publish(target) == "published"
    assert len(runs) == 1


class _Standstill:
    """Read when the work begins, when the mark is asked for, and, after a standstill, before sending."""

    def __init__(self, seconds: float) -> None:
        self._times = iter([100.0, 100.0, 100.0 + seconds])

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return next(self._times, 200.0)


@pytest.mark.parametrize("steps", [0, 1], ids=["the claim is the mark", "after a prepare step"])
@pytest.mark.parametrize(("seconds", "sent"), [(4.9, 1), (5.1, 0)])
def test_no_request_starts_long_after_its_mark_was_asked_for(
    world: World, seconds: float, sent: int, steps: int
):
    """A worker that stood still for longer than five seconds sends nothing, and spends nothing."""
    target = world.post()
    if steps:
        world.platform.steps = [PrepareStep(name="media.1", run=lambda _http: Prepared(result={}))]
    world.publisher(clock=_Standstill(seconds)).publish(world.message(target))
    assert len(world.platform.sent) == sent
    row = world.row(target)
    assert row["status"] == ("published" if sent else "retry_scheduled")
    assert row["tries_spent"] == 0
    assert world.part(target)["mark_cleared"] is not bool(sent)


def _resolved(at: datetime) -> Resolved:
    return Resolved(instant_utc=at, local=at.replace(tzinfo=None), zone="UTC", zone_source="offset")
