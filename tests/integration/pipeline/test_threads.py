"""Threads: settled part by part under one claim; what is live is never sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.desk import resolve
from socialq.domain.outcomes import (
    Accepted,
    Evidence,
    Transient,
)

if TYPE_CHECKING:
    from tests.integration.pipeline.world import World

SAID = Evidence(http_status=400, code="test.code", message="said so", request_id="q-1")


def test_a_thread_is_settled_part_by_part_under_one_claim(world: World):
    """Three parts, one attempt, each reply to the one before, each with its own key."""
    target = world.post(texts=["one", "two", "three"])
    assert world.publish(target) == "published"
    assert [(sent["text"], sent["parent"]) for sent in world.platform.sent] == [
        ("one", None),
        ("two", "r-1"),
        ("three", "r-2"),
    ]
    assert len({sent["key"] for sent in world.platform.sent}) == 3
    assert [part["remote_id"] for part in world.parts(target)] == ["r-1", "r-2", "r-3"]
    assert len(world.attempts(target)) == 1
    assert world.publications(target)[0]["remote_id"] == "r-1"


def test_a_thread_that_fails_midway_goes_on_where_it_stopped(world: World):
    """What is live is never sent again: the retry begins with the part that failed."""
    target = world.post(texts=["one", "two", "three"])
    world.platform.answers += [Accepted(remote_id="p-1"), Transient(evidence=SAID)]
    assert world.publish(target) == "retry_scheduled"
    assert world.publish(target) == "published"
    assert world.platform.texts == ["one", "two", "two", "three"]
    assert world.platform.sent[2]["parent"] == "p-1"


def test_a_thread_withdrawn_midway_keeps_what_is_live_and_sends_no_more(world: World):
    """Cancelled while part 1 is under way: part 2 is never marked, and the target says why."""
    target = world.post(texts=["one", "two"])

    def under_way(_call: object) -> object:
        resolve.cancel(world.stores, tenant=world.tenant, target_id=target, reason="typo", actor="person")
        return Accepted(remote_id="p-1")

    world.platform.answers.append(under_way)
    world.publish(target)
    row = world.row(target)
    assert (row["status"], row["reason"]) == ("failed", "cancelled_midway")
    assert [part["marked_at"] is None for part in world.parts(target)] == [False, True]
    assert world.platform.texts == ["one"]
