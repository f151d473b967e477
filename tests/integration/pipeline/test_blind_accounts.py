"""Accounts that can't be looked through, on a platform where others can: a LinkedIn member beside an organisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from socialq.desk import resolve
from socialq.domain.outcomes import Duplicate, Evidence
from tests.integration.pipeline.doubles import SCOPES, Platform, lost
from tests.integration.pipeline.world import values

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.providers.base import Finder
    from tests.integration.pipeline.world import World

SAYS_DUPLICATE = Duplicate(
    evidence=Evidence(http_status=422, code="test.duplicate", message="Content is a duplicate"),
    existing_id="urn:li:share:7012",
)


class HalfBlind(Platform):
    """Members can't be looked through; whoever is an organisation can."""

    def finder_of(self, *, remote_user_id: str, scopes: frozenset[str]) -> Finder | None:
        assert scopes == frozenset(SCOPES)
        return None if remote_user_id.startswith("urn:li:person:") else self.finder


@pytest.fixture
def member(world: World) -> UUID:
    """An account of a member, on a platform that can see organisations only."""
    world.platform = HalfBlind()
    return world.new_account(remote_user_id="urn:li:person:a1")


def test_a_lost_answer_on_a_blind_account_goes_straight_to_a_person(world: World, member: UUID):
    """No look is planned that nobody can make; the account is free for its next post."""
    target = world.post(account=member)
    world.lose_answer(target)
    row = world.row(target)
    assert values(row, "status", "reason", "next_kind", "holds_account") == (
        "needs_attention",
        "outcome_unknown",
        None,
        False,
    )
    assert world.part(target)["mark_cleared"] is False


def test_an_organisation_of_the_same_platform_is_looked_for(world: World, member: UUID):
    """What the adapter says of the account decides, not what holds for the platform as a whole."""
    organisation = world.new_account(remote_user_id="urn:li:organization:9")
    target = world.post(account=organisation)
    assert world.lose_answer(target) == "unknown_outcome"
    world.time_passes(target, 20.0)
    world.look(target)
    assert len(world.platform.looked) == 1


def test_a_worker_lost_after_the_mark_leaves_a_blind_target_to_a_person_by_its_look(
    world: World, member: UUID
):
    """The sweep can't see whose account it is and plans a look; the look asks nothing, and tells a person why."""
    target = world.post(account=member)
    world.claim(target, mark=True)
    world.end_lease(target)
    world.sweep().sweep()
    assert world.status(target) == "unknown_outcome"
    world.time_passes(target, 20.0)
    assert world.look(target) == "needs_attention"
    row = world.row(target)
    assert values(row, "reason", "next_kind", "holds_account") == ("outcome_unknown", None, False)
    assert "the worker stopped before it could record the answer" in row["detail"]
    assert "look at the account" in row["detail"]
    assert world.platform.looked == []
    assert world.part(target)["mark_cleared"] is False
    assert world.attempts(target)[0]["state"] == "unknown"
    assert world.targets.claim(world.request(target)) is None


def test_a_retry_by_a_person_that_was_published_ends_its_planned_look(world: World, member: UUID):
    """Once more is looked for after an unknown; where nobody can look, that plan is ended, and it stays published."""
    target = world.post(account=member)
    world.lose_answer(target)
    now = world.row(target)["updated_at"]
    resolve.retry(
        world.stores, tenant=world.tenant, target_id=target, now=now, look_first=False, actor="person"
    )
    assert world.publish(target) == "published"
    world.time_passes(target, 4000.0)
    assert world.look(target) == "published"
    assert world.row(target)["next_kind"] is None
    assert world.platform.looked == []


def test_a_duplicate_error_that_names_a_post_is_offered_to_a_person(world: World, member: UUID):
    """After an unknown and a person's retry: the id stands in the sentence, and is adopted by nobody."""
    target = world.post(account=member)
    world.platform.answers += [lost(), SAYS_DUPLICATE]
    world.publish(target)
    now = world.row(target)["updated_at"]
    resolve.retry(
        world.stores, tenant=world.tenant, target_id=target, now=now, look_first=False, actor="person"
    )
    assert world.publish(target) == "needs_attention"
    assert "urn:li:share:7012" in world.row(target)["detail"]
    assert world.part(target)["remote_id"] is None
