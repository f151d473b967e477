"""Stopped between any two commits, for good or for a while: once another machine goes on, each post is live once.

Each test lists the points of an undisturbed life, then lives it again for those of them that the story is for: each
the first and the last time it comes. With SOCIALQ_FAILPOINTS=all it is every point, every time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from socialq.desk.schedule import unschedule
from tests.integration.failpoints.machine import Machine, Point, start
from tests.simulation.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    import psycopg

    from tests.integration.lanes.world import Account, Lanes

EVERY_POINT = os.environ.get("SOCIALQ_FAILPOINTS") == "all"


@dataclass(frozen=True)
class Story:
    """A life: what is posted, and what the platform does to its first publish request."""

    texts: tuple[str, ...]
    fault: str | None
    rounds: int
    points: frozenset[str]
    """The calls that it is for; it passes others too."""
    schedules: bool = False
    """Whether it begins with a person who gives a ready post its time."""
    needs_a_person: bool = False
    """Stopped at the wrong moment two requests are lost in a row: then a person is asked, and nothing is live."""


WAYS = frozenset(
    {
        "outbox.unrelayed",
        "outbox.rows_of",
        "index_writer.upsert",
        "outbox.mark_relayed",
        "due.pick",
        "queue.send",
        "targets.load",
        "http.open",
        "targets.claim",
        "opened.send",
        "targets.accepted",
        "index.finish",
        "queue.length",
        "overdue.ended_leases",
    }
)
"""What every life passes: relay, dispatch, publish, settle, sweep."""
STORIES = {
    "schedule": Story(
        ("one",),
        None,
        1,
        frozenset({"schedule.commit", "schedule.notify", "outbox.unrelayed"}),
        schedules=True,
    ),
    "text": Story(("one",), None, 1, WAYS),
    "thread": Story(
        ("one", "two"), None, 1, frozenset({"targets.mark", "targets.part_accepted", "opened.send"})
    ),
    "answer lost": Story(
        ("one",),
        "accept_then_reset",
        4,
        frozenset({"targets.settle", "targets.settle_look", "targets.claimed_ids"}),
    ),
    "request lost": Story(
        ("one",), "reset_before", 8, frozenset({"targets.settle_look", "opened.send"}), needs_a_person=True
    ),
}


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.crash_all()


@pytest.mark.timeout(1800 if EVERY_POINT else 110)
@pytest.mark.parametrize("how", ["kill", "stall"])
@pytest.mark.parametrize("name", STORIES)
def test_stopped_at_any_point_each_part_is_live_once(
    lanes: Lanes, owner: psycopg.Connection[dict[str, Any]], stage: Stage, name: str, how: str
):
    """The machine that stopped is gone, or goes on when others have done its work."""
    story = STORIES[name]
    undisturbed = live(lanes, owner, stage, story)
    assert story.points <= set(undisturbed)
    for point in points_of(undisturbed, story, how):
        live(lanes, owner, stage, story, stop_at=point, how=how)


def live(
    lanes: Lanes,
    owner: psycopg.Connection[dict[str, Any]],
    stage: Stage,
    story: Story,
    *,
    stop_at: Point | None = None,
    how: str = "",
) -> list[str]:
    """Live a story; returns the calls that its machine made."""
    account = lanes.account()
    if story.fault:
        rule = {"platform": "x", "account": account.name, "step": "publish", "kind": story.fault}
        lanes.sandbox.faults([rule])
    target = lanes.post(account, *story.texts)
    if story.schedules:
        unschedule(lanes.wiring.stores, tenant=account.agency.tenant.id, target_ids=[target], actor="person")
    machine = Machine(lanes, owner, target, stage, stop_at=stop_at, how=how, schedules=story.schedules)
    actor = start(machine, rounds=story.rounds)
    stopped = stop_at is not None
    if stopped:
        assert not machine.at_rest() or len(machine.passed) > stop_at.number, f"{stop_at} was not reached"
        another(lanes, owner, target, machine)
    if actor in stage.waiting:
        check(lanes, account, target, story, f"stopped {stop_at}")
        stage.resume(actor)
        another(lanes, owner, target, machine)
    machine.clear_up()
    check(lanes, account, target, story, f"{how} {stop_at}")
    return machine.passed


def another(lanes: Lanes, owner: psycopg.Connection[dict[str, Any]], target: UUID, first: Machine) -> None:
    """Another machine goes on, and sees to it that the target comes to rest."""
    lanes.queues["main"].take()
    Machine(lanes, owner, target, first.stage, clock=first.clock, schedules=first.schedules).run(rounds=12)


def check(lanes: Lanes, account: Account, target: UUID, story: Story, when: str) -> None:
    """It is published, each part is live once, and what we know is what the ledger has."""
    parts = lanes.rows(
        "SELECT remote_id FROM cell.target_parts WHERE target_id = %(id)s ORDER BY part_no", id=target
    )
    ledger = lanes.sandbox.ledger("x", account.name)
    row = lanes.row(target)
    if story.needs_a_person and row["reason"] == "unknown_twice" and when.startswith("kill"):
        assert not ledger, when
        return
    assert row["status"] == "published", f"{when}: {row}"
    assert [post["text"] for post in ledger] == list(story.texts), when
    assert [str(post["id"]) for post in ledger] == [part["remote_id"] for part in parts], when


def points_of(calls: list[str], story: Story, how: str) -> list[Point]:
    """The points of a life at which it is stopped."""
    points = []
    for number, name in enumerate(calls):
        first, last = calls.index(name), len(calls) - 1 - calls[::-1].index(name)
        if not EVERY_POINT and (name not in story.points or number not in {first, last}):
            continue
        # A stop between the last look at the clock and the request is the one that nobody can rule out: it is
        # documented, and bounded to that instant by the mark's age.
        # And while a schedule is not committed nobody can do it, and nobody knows of it: it holds its rows.
        if how == "kill" or name not in {"opened.send", "schedule.commit"}:
            points.append(Point(number, name, after=False))
        points.append(Point(number, name, after=True))
    return points
