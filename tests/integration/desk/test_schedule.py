"""Scheduling: targets get their time, another, or none; each change is seen by the relay."""

from __future__ import annotations

import psycopg
import pytest

from socialq.desk.approve import approve
from socialq.desk.compose import create_post
from socialq.desk.schedule import reschedule, schedule, unschedule
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from socialq.domain.states import TargetStatus
from tests.factories import make_post
from tests.integration.desk.conftest import NOW, at, hours


@pytest.fixture
def ready(stores, agency):
    """Two targets that are approved and have no time."""
    made = create_post(
        stores,
        tenant=agency.tenant,
        client=agency.client,
        account_ids=agency.accounts,
        parts=[{"text": "Hello"}],
        actor="test",
    )
    approve(
        stores, tenant=agency.tenant, post_id=made.post_id, version_id=made.version_id, approved_by="test"
    )
    return [target.id for target in made.targets]


@pytest.fixture
def give(stores, agency):
    def act(function, target_ids, when, **kw):
        kw = {"tenant": agency.tenant, "now": NOW, "actor": "test", **kw}
        return function(stores, target_ids=target_ids, resolved=at(when), **kw)

    return act


def _events(agency, target_id):
    return agency.rows(
        "SELECT seq, kind FROM cell.outbox_events WHERE target_id = %(id)s ORDER BY seq", id=target_id
    )


def test_scheduling_gives_work_words_and_an_event(agency, ready, give):
    """The words are kept as written, in the zone they were read in."""
    moved = give(schedule, ready, "2027-03-02T09:00", publish_by_hours=2)
    assert [target.id for target in moved] == ready
    row = agency.target(ready[0])
    due = at("2027-03-02T09:00").instant_utc
    assert (row["status"], row["next_kind"], row["next_at"], row["publish_at"]) == (
        "scheduled",
        "publish",
        due,
        due,
    )
    assert row["publish_by"] == due + hours(2)
    assert _events(agency, ready[0])[-1] == {"seq": row["seq"], "kind": "target.schedule"}


def test_rescheduling_moves_the_work_and_keeps_both_times_on_record(agency, ready, give):
    """A message under way with the old seq will be refused at the claim."""
    first = give(schedule, ready, "2027-03-02T09:00")[0]
    second = give(reschedule, ready, "2027-03-05T18:30")[0]
    assert second.seq == first.seq + 1
    row = agency.target(ready[0])
    due = at("2027-03-05T18:30").instant_utc
    assert (row["status"], row["next_at"], row["publish_at"]) == ("scheduled", due, due)
    assert _events(agency, ready[0])[-1] == {"seq": second.seq, "kind": "target.reschedule"}
    kept = agency.rows(
        "SELECT seq, publish_at FROM cell.post_schedules WHERE target_id = %(id)s ORDER BY seq", id=ready[0]
    )
    assert [entry["publish_at"] for entry in kept] == [first.publish_at, due]


def test_unscheduling_takes_the_work_away(stores, agency, ready, give):
    """The target is ready again, without a time, and the relay hears of it."""
    give(schedule, ready, "2027-03-02T09:00")
    unschedule(stores, tenant=agency.tenant, target_ids=ready, actor="test")
    row = agency.target(ready[0])
    assert (row["status"], row["next_kind"], row["next_at"]) == ("ready", None, None)
    assert (row["publish_at"], row["publish_by"]) == (None, None)
    assert _events(agency, ready[0])[-1] == {"seq": row["seq"], "kind": "target.unschedule"}
    give(schedule, ready, "2027-03-03T09:00")
    assert agency.target(ready[0])["status"] == "scheduled"


def test_a_target_that_waits_for_another_try_can_be_moved_and_keeps_its_budget(stores, agency, give):
    """It goes on as a retry, with its reason."""
    made = make_post(
        stores,
        agency.tenant,
        agency.client,
        agency.accounts[:1],
        status="retry_scheduled",
        columns={"tries_spent": 3, "reason": "transient", "key_instant": NOW},
    )
    give(reschedule, [made.target_id], "2027-03-05T18:30")
    row = agency.target(made.target_id)
    assert (row["status"], row["tries_spent"], row["reason"]) == ("retry_scheduled", 3, "transient")
    assert (row["next_at"], row["key_instant"]) == (at("2027-03-05T18:30").instant_utc, NOW)
    with pytest.raises(InputRefused, match="waits for another try; reschedule or cancel it"):
        unschedule(stores, tenant=agency.tenant, target_ids=[made.target_id], actor="test")


ALLOWED = {schedule: {"ready"}, reschedule: {"scheduled", "retry_scheduled"}, unschedule: {"scheduled"}}
COLUMNS = {
    "publishing": {
        "lease_token": new_id(),
        "lease_until": NOW,
        "holds_account": True,
    },
    "unknown_outcome": {"next_kind": "look", "next_at": NOW, "lost_at": NOW},
    "published": {"published_at": NOW},
}


@pytest.mark.parametrize("function", ALLOWED, ids=lambda function: function.__name__)
@pytest.mark.parametrize("status", list(TargetStatus), ids=str)
def test_every_state_allows_a_change_of_time_or_says_why_not(stores, agency, give, function, status):
    """All states, all three acts: what is refused changes nothing and names a way out."""
    made = make_post(
        stores,
        agency.tenant,
        agency.client,
        agency.accounts[:1],
        status=status.value,
        columns=COLUMNS.get(status.value),
    )
    before = agency.target(made.target_id)

    def act():
        if function is unschedule:
            return unschedule(stores, tenant=agency.tenant, target_ids=[made.target_id], actor="test")
        return give(function, [made.target_id], "2027-03-05T18:30")

    if status.value in ALLOWED[function]:
        act()
        assert agency.target(made.target_id)["seq"] == before["seq"] + 1
    else:
        with pytest.raises(InputRefused) as refused:
            act()
        assert refused.value.problems[0].way_out
        assert agency.target(made.target_id) == before


def test_one_bad_target_refuses_all(agency, ready, give):
    """Either every target gets its time or none does."""
    give(schedule, ready[:1], "2027-03-02T09:00")
    before = [agency.target(target_id) for target_id in ready]
    with pytest.raises(InputRefused) as refused:
        give(schedule, [*ready, new_id()], "2027-03-03T09:00")
    assert [problem.problem for problem in refused.value.problems] == [
        "has a time already",
        "there is no such target",
    ]
    assert [agency.target(target_id) for target_id in ready] == before


def test_a_past_time_is_refused_beyond_the_grace(agency, ready, give):
    """Up to the grace it means now."""
    with pytest.raises(InputRefused, match="past, more than the 5 minutes allowed"):
        give(schedule, ready, "2027-03-01T12:50", grace_minutes=5)
    assert agency.target(ready[0])["status"] == "ready"
    (target, _) = give(schedule, ready, "2027-03-01T12:50")
    assert target.next_at == NOW


@pytest.mark.parametrize(("when", "woken"), [("2027-03-01T13:00:09", True), ("2027-03-01T13:00:11", False)])
def test_the_relay_is_woken_only_for_what_is_due_within_two_ticks(database_url, ready, give, when, woken):
    """Later work is found by its scan; a notification for each would be a burden."""
    with psycopg.connect(database_url, autocommit=True) as listener:
        listener.execute("LISTEN socialq_outbox")
        give(schedule, ready, when)
        heard = list(listener.notifies(timeout=1.0 if woken else 0.3, stop_after=1))
    assert bool(heard) is woken


def test_a_relay_that_cannot_be_woken_does_not_undo_the_schedule(agency, ready, give, monkeypatch):
    """The change is committed; the relay's scan finds it."""
    from socialq.store.sessions import Database

    def broken(self, channel, payload=""):
        raise psycopg.OperationalError("gone")

    monkeypatch.setattr(Database, "notify", broken)
    give(schedule, ready, "2027-03-01T13:00:01")
    assert agency.target(ready[0])["status"] == "scheduled"
