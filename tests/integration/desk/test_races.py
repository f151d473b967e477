"""Two sessions at one target: one wins, the other is told, and nothing is half done."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from socialq.desk.edit import edit_post
from socialq.desk.resolve import CancelResult, cancel, mark_published, retry
from socialq.desk.schedule import reschedule, unschedule
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from socialq.domain.states import NextKind, TargetStatus
from socialq.domain.targets import Move
from socialq.store.cell import many_targets, post_targets, posts
from tests.factories import make_post
from tests.integration.desk.conftest import NOW, Aside, at, hours, wait_for_waiting_session

WHEN = "2027-03-05T18:30"


@pytest.fixture
def acts(stores, agency):
    """The desk's acts on one post of one target."""

    class Acts:
        def __init__(self):
            made = agency.plan()
            self.post_id, self.target_id = made.post_id, made.targets[0].id

        def cancel(self):
            return cancel(stores, tenant=agency.tenant, target_id=self.target_id, reason="no", actor="cancel")

        def reschedule(self):
            return reschedule(
                stores,
                tenant=agency.tenant,
                target_ids=[self.target_id],
                resolved=at(WHEN),
                now=NOW,
                actor="reschedule",
            )

        def unschedule(self):
            return unschedule(stores, tenant=agency.tenant, target_ids=[self.target_id], actor="unschedule")

        def edit(self, text="Edited"):
            return edit_post(
                stores, tenant=agency.tenant, post_id=self.post_id, parts=[{"text": text}], actor="edit"
            )

        def mark(self):
            return mark_published(
                stores,
                tenant=agency.tenant,
                target_id=self.target_id,
                link_or_id="1234",
                now=NOW,
                actor="mark",
            )

    return Acts()


@pytest.fixture
def while_held(stores, agency):
    """Let `other` start while this session holds the target and makes `change`; both then commit."""

    def act(target_id, change, other):
        with stores.cell("default").app.transaction(tenant=agency.tenant, actor="first") as session:
            target = post_targets.lock(session, target_id)
            aside = Aside(other)
            wait_for_waiting_session(stores)
            if change is not None:
                assert post_targets.apply(session, target, change) is not None
        return aside.finish()

    return act


CANCELLED = Move(to=TargetStatus.CANCELLED, reason="cancelled", event="target.cancelled")
MOVED = Move(
    to=TargetStatus.SCHEDULED,
    next_kind=NextKind.PUBLISH,
    next_at=NOW + hours(50),
    changes={"publish_at": NOW + hours(50), "publish_by": NOW + hours(74)},
)


@pytest.mark.parametrize("act", ["reschedule", "unschedule", "edit"])
def test_what_was_cancelled_meanwhile_is_not_moved(agency, acts, while_held, act):
    """The loser is told the state it found, and writes nothing."""
    aside = while_held(acts.target_id, CANCELLED, getattr(acts, act))
    assert isinstance(aside.error, InputRefused)
    assert aside.error.problems[0].problem in {"is cancelled", "has nothing left that could be edited"}
    row = agency.target(acts.target_id)
    assert (row["status"], row["seq"], agency.count("post_versions")) == ("cancelled", 3, 1)


def test_a_cancel_that_waited_for_a_reschedule_cancels_the_new_time(agency, acts, while_held):
    """It decides on the row as it stands when the lock is free."""
    aside = while_held(acts.target_id, MOVED, acts.cancel)
    assert aside.result is CancelResult.CANCELLED
    row = agency.target(acts.target_id)
    assert (row["status"], row["next_kind"], row["seq"]) == ("cancelled", None, 4)


def test_a_cancel_that_waited_for_a_claim_only_asks(stores, agency, acts):
    """The worker won: the target is in flight, and keeps its lease."""
    with stores.cell("default").app.transaction(tenant=agency.tenant) as session:
        post_targets.lock(session, acts.target_id)
        aside = Aside(acts.cancel)
        wait_for_waiting_session(stores)
        session.run(
            "UPDATE cell.post_targets SET status = 'publishing', lease_token = gen_random_uuid(),"
            " lease_until = now() + interval '1 minute', holds_account = true WHERE id = %(id)s",
            {"id": acts.target_id},
        )
    assert aside.finish().result is CancelResult.REQUESTED
    row = agency.target(acts.target_id)
    assert (row["status"], row["cancel_requested"], row["lease_token"] is None) == ("publishing", True, False)


@pytest.mark.parametrize("act", ["reschedule", "unschedule", "edit", "mark"])
def test_what_a_worker_took_meanwhile_is_left_to_it(stores, agency, acts, act):
    """No act takes a target from its worker."""
    with stores.cell("default").app.transaction(tenant=agency.tenant) as session:
        post_targets.lock(session, acts.target_id)
        aside = Aside(getattr(acts, act))
        wait_for_waiting_session(stores)
        session.run(
            "UPDATE cell.post_targets SET status = 'publishing', lease_token = gen_random_uuid(),"
            " lease_until = now() + interval '1 minute', holds_account = true WHERE id = %(id)s",
            {"id": acts.target_id},
        )
    assert isinstance(aside.finish().error, InputRefused)
    row = agency.target(acts.target_id)
    assert (row["status"], row["lease_token"] is None) == ("publishing", False)


def test_a_move_of_many_takes_no_target_from_its_worker(stores, agency):
    """The statement itself refuses, whoever calls it; so does a seq that is no longer the row's."""
    lease = {"lease_token": new_id(), "lease_until": NOW, "holds_account": True}
    made = make_post(
        stores, agency.tenant, agency.client, agency.accounts[:1], status="publishing", columns=lease
    )
    other = make_post(stores, agency.tenant, agency.client, agency.accounts[:1], status="scheduled")
    with stores.cell("default").app.transaction(tenant=agency.tenant) as session:
        held, free = (
            post_targets.lock(session, target_id) for target_id in (made.target_id, other.target_id)
        )
        stale = replace(free, seq=0)
        assert many_targets.apply(session, [(held, CANCELLED), (stale, CANCELLED)]) == []
        assert [
            target.id for target in many_targets.apply(session, [(held, CANCELLED), (free, CANCELLED)])
        ] == [free.id]
    assert agency.target(made.target_id)["status"] == "publishing"


def test_two_edits_at_once_make_two_versions(agency, acts):
    """They wait for each other at the post; the later one is the newest."""
    asides = [Aside(lambda number=number: acts.edit(f"Edit {number}")) for number in range(4)]
    assert [aside.finish().error for aside in asides] == [None] * 4
    numbers = agency.rows("SELECT number FROM cell.post_versions ORDER BY number")
    assert [row["number"] for row in numbers] == [1, 2, 3, 4, 5]
    newest = max((aside.result for aside in asides), key=lambda edited: edited.number)
    assert agency.target(acts.target_id)["version_id"] == newest.version_id


def test_an_edit_waits_for_whoever_holds_the_post(stores, agency, acts):
    """The post comes first in the lock order."""
    with stores.cell("default").app.transaction(tenant=agency.tenant) as session:
        posts.lock(session, acts.post_id)
        aside = Aside(acts.edit)
        wait_for_waiting_session(stores)
        assert agency.count("post_versions") == 1
    assert aside.finish().error is None


def test_two_retries_at_once_send_once(stores, agency):
    """The second finds it scheduled."""
    made = make_post(stores, agency.tenant, agency.client, agency.accounts[:1], status="failed")

    def again():
        return retry(stores, tenant=agency.tenant, target_id=made.target_id, now=NOW, actor="ann")

    asides = [Aside(again) for _ in range(4)]
    results = [aside.finish() for aside in asides]
    assert sorted(type(aside.error).__name__ for aside in results) == ["InputRefused"] * 3 + ["NoneType"]
    assert agency.target(made.target_id)["seq"] == 2


def test_two_people_marking_two_targets_with_one_link_let_one_win(stores, agency):
    """The sighting is unique; the other target stays as it was."""
    targets = [
        make_post(stores, agency.tenant, agency.client, agency.accounts[:1], status="failed").target_id
        for _ in range(3)
    ]

    def mark(target_id):
        return mark_published(
            stores, tenant=agency.tenant, target_id=target_id, link_or_id="1234", now=NOW, actor="ann"
        )

    results = [aside.finish() for aside in [Aside(lambda t=target: mark(t)) for target in targets]]
    assert sorted(type(aside.error).__name__ for aside in results) == ["InputRefused"] * 2 + ["NoneType"]
    assert sorted(agency.target(target)["status"] for target in targets) == ["failed", "failed", "published"]
    assert agency.count("publications") == 1


@pytest.mark.parametrize("seed", range(3))
def test_many_acts_at_once_leave_a_whole_target(agency, acts, seed):
    """No deadlock, no half state: every change has its event, every move its line in the history."""
    chance = random.Random(seed)
    names = ["cancel"] + ["reschedule", "unschedule", "edit"] * 4
    chance.shuffle(names)
    calls = [
        Aside(lambda number=number: acts.edit(f"Edit {number}"))
        if name == "edit"
        else Aside(getattr(acts, name))
        for number, name in enumerate(names)
    ]
    errors = [aside.finish().error for aside in calls]
    assert all(error is None or isinstance(error, InputRefused) for error in errors), errors
    row = agency.target(acts.target_id)
    assert row["status"] == "cancelled"
    seqs = agency.rows("SELECT seq FROM cell.outbox_events ORDER BY seq")
    assert [event["seq"] for event in seqs] == list(range(1, row["seq"] + 1))
    history = agency.rows("SELECT from_status, to_status FROM cell.target_history ORDER BY id")
    for before, after in itertools.pairwise(history):
        assert after["from_status"] == before["to_status"]
