"""Each rule finds its thing, names post, account, lateness and the first thing to do, and nothing else is found."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from socialq.domain.hops import Message
from socialq.store.central import heartbeats, holds
from tests import factories
from tests.integration.upkeep.watching_rig import Rig

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.central.holds import Scope
    from tests.integration.pipeline.world import World


@pytest.fixture
def rig(world: World) -> Rig:
    return Rig(world)


def overdue(world: World, minutes: float = 5.0, **more: object) -> UUID:
    """A target whose slot passed some minutes ago."""
    target = world.post(**more)  # type: ignore[arg-type]
    world.time_passes(target, minutes * 60)
    return target


def account_name(world: World) -> str:
    [row] = world.arrange(
        "SELECT platform || ':' || handle AS name FROM cell.accounts WHERE id = %(id)s", id=world.account
    )
    return row["name"]


def test_nothing_is_found_where_everything_is_well(rig: Rig):
    """Posts to come, posts that are out, posts that were published: no alarm."""
    rig.world.post(account=rig.world.new_account(), publish_at=datetime.now(UTC) + timedelta(hours=1))
    rig.world.post()
    rig.world.work_off()
    assert rig.found() == []


def test_a_slot_that_passed_is_told_with_post_account_lateness_and_what_to_do(rig: Rig):
    """Five minutes late, and never relayed: the relay is what to look at."""
    target = overdue(rig.world)
    [found] = rig.found("late")
    post = rig.world.row(target)["post_id"]
    assert found.key == f"late:{target}"
    assert found.red
    assert found.tenant_id == rig.world.tenant
    for part in (
        str(post),
        account_name(rig.world),
        "5 min late",
        "relay of cell default",
        f"socialq why {target}",
    ):
        assert part in found.message


def test_a_slot_that_passed_a_minute_ago_is_not_late_yet(rig: Rig):
    """Two minutes are what it takes."""
    target = overdue(rig.world, minutes=1.5)
    assert rig.found("late") == []
    rig.world.time_passes(target, 60)
    assert len(rig.found("late")) == 1


def test_the_first_step_follows_the_hop_that_was_not_passed(rig: Rig):
    """Relayed and not dispatched, then dispatched and not answered: other processes are to be looked at."""
    target = overdue(rig.world)
    rig.world.relay().scan()
    assert "was not sent to a worker" in rig.found("late")[0].message
    rig.world.dispatcher().scan()
    assert "nobody answers" in rig.found("late")[0].message
    rig.world.handle(
        Message(tenant_id=rig.world.tenant, target_id=target, seq=1, kind=rig.world.queue.take()[0].kind)
    )
    assert rig.found("late") == []


def test_a_claim_whose_worker_is_gone_and_that_nobody_settles_is_late(rig: Rig):
    """In flight is a reason as long as the lease runs; two minutes after it nobody acts."""
    target = overdue(rig.world)
    rig.world.claim(target)
    assert rig.found("late") == []
    rig.world.end_lease(target, seconds_ago=130)
    [found] = rig.found("late")
    assert "a claim of post" in found.message
    assert "no sweep has settled it" in found.message


def test_an_overdue_look_is_late_too(rig: Rig):
    """A lost answer that nobody looks for."""
    target = rig.world.post()
    rig.world.lose_answer(target)
    assert rig.found("late") == []
    rig.world.time_passes(target, 300)
    assert "a look for post" in rig.found("late")[0].message


@pytest.mark.parametrize("scope", ["account", "platform", "tenant", "cell"])
def test_a_hold_is_a_reason(rig: Rig, scope: Scope):
    """What is held is not late; two minutes after the hold's end it is."""
    overdue(rig.world)
    key = {
        "account": str(rig.world.account),
        "platform": "mastodon",
        "tenant": str(rig.world.tenant),
        "cell": "default",
    }[scope]
    until = datetime.now(UTC) + timedelta(minutes=10)
    holds.set_hold(rig.world.stores.central, scope=scope, key=key, until=until, reason="r", set_by="t")
    assert rig.found("late") == []
    rig.world.arrange("UPDATE central.holds SET until = now() - interval '1 min'")
    assert rig.found("late") == []
    rig.world.arrange("UPDATE central.holds SET until = now() - interval '3 min'")
    assert len(rig.found("late")) == 1


@pytest.mark.parametrize(
    "reason",
    [
        "UPDATE cell.tenant_state SET status = 'suspended', suspended_at = now()",
        "UPDATE cell.tenant_state SET stopped_at = now(), stopped_by = '{person}', stop_reason = 'x'",
        "UPDATE cell.accounts SET status = 'disabled'",
        "UPDATE cell.accounts SET hold_until = now() + interval '1 h'",
    ],
)
def test_who_may_not_publish_is_not_late(rig: Rig, reason: str):
    """Suspended, stopped, switched off, told to wait: stated reasons."""
    overdue(rig.world)
    rig.world.arrange(reason)
    assert rig.found("late") == []


def test_waiting_for_an_account_that_is_at_work_is_a_reason(rig: Rig):
    """Behind a target in flight; once that one's lease is long over, both are late."""
    first = overdue(rig.world)
    overdue(rig.world)
    rig.world.claim(first)
    assert rig.found("late") == []
    rig.world.end_lease(first, seconds_ago=200)
    assert len(rig.found("late")) == 2


def test_many_late_posts_are_one_alarm_of_their_cell(rig: Rig):
    """Eleven: how many, and the oldest by name."""
    targets = [
        overdue(rig.world, minutes=5 + number, account=rig.world.new_account()) for number in range(11)
    ]
    [found] = rig.found("late")
    assert found.key == "late:cell:default"
    assert "11 posts are late" in found.message
    assert str(targets[-1]) in found.message
    assert str(targets[0]) not in found.message


def test_held_rows_do_not_hide_a_late_one(rig: Rig, monkeypatch: pytest.MonkeyPatch):
    """More held rows than are read at once, all older."""
    monkeypatch.setattr("socialq.upkeep.watching.of_schedule._MOST", 5)
    held = rig.world.new_account()
    for _ in range(12):
        overdue(rig.world, minutes=60, account=held)
    until = datetime.now(UTC) + timedelta(hours=1)
    holds.set_hold(
        rig.world.stores.central, scope="account", key=str(held), until=until, reason="r", set_by="t"
    )
    late = overdue(rig.world)
    assert [found.key for found in rig.found("late")] == [f"late:{late}"]


def test_two_ids_of_one_part_are_told_with_both_links_until_one_is_taken_down(rig: Rig):
    """The alarm stays while both are live, however long ago they were seen."""
    target = rig.world.post()
    claim = rig.world.claim(target, mark=True)
    claim.accepted("one")
    assert rig.found("duplicate") == []
    rig.world.arrange(
        "INSERT INTO cell.sightings (tenant_id, account_id, remote_id, target_id, part_no, source, first_seen_at)"
        " VALUES (%(tenant)s, %(account)s, 'two', %(id)s, 1, 'late_answer', now())",
        tenant=rig.world.tenant,
        account=rig.world.account,
        id=target,
    )
    [found] = rig.found("duplicate")
    assert found.key == f"duplicate:{target}"
    assert found.red
    for part in ("https://social.example/one", "id two", account_name(rig.world), "take-down", "--only two"):
        assert part in found.message
    rig.watch.run()
    rig.world.arrange("UPDATE cell.sightings SET first_seen_at = now() - interval '1 day'")
    assert len(rig.found("duplicate")) == 1
    rig.world.arrange(
        "INSERT INTO cell.takedowns (tenant_id, id, target_id, part_no, remote_id, state, asked_by, reason,"
        " finished_at) VALUES (%(tenant)s, %(new)s, %(id)s, 1, 'two', 'taken_down', 't', 'r', now())",
        tenant=rig.world.tenant,
        new=uuid4(),
        id=target,
    )
    rig.watch.run()
    assert f"duplicate:{target}" not in rig.open()


@pytest.mark.parametrize("name", ["beat", "dispatch", "relay:default"])
def test_a_window_or_beat_not_seen_for_thirty_seconds_is_told(rig: Rig, name: str):
    """Each by its name, with how long ago, and what to start."""
    rig.world.arrange(
        "UPDATE central.heartbeats SET beat_at = now() - interval '25 s' WHERE name = %(n)s", n=name
    )
    assert rig.found("window") == []
    rig.world.arrange(
        "UPDATE central.heartbeats SET beat_at = now() - interval '40 s' WHERE name = %(n)s", n=name
    )
    [found] = rig.found("window")
    assert found.key == f"window:{name}"
    assert "40 s ago" in found.message
    rig.world.arrange("DELETE FROM central.heartbeats WHERE name = %(n)s", n=name)
    assert "never seen" in rig.found("window")[0].message


def test_the_oldest_due_row_is_told(rig: Rig):
    """Due in the index for more than a minute."""
    overdue(rig.world, minutes=1.5)
    rig.world.relay().scan()
    [found] = rig.found("due")
    assert "1 posts could go out and do not, the oldest for 90 s" in found.message


def test_a_queue_beyond_its_bound_is_told(rig: Rig):
    """More messages than may be out at once; the bound itself is fine."""
    rig.lengths = {"publishing": 100}
    assert rig.found("queue") == []
    rig.lengths = {"publishing": 101}
    [found] = rig.found("queue")
    assert "101 messages wait in the queue publishing" in found.message


def test_a_redis_that_is_away_is_told(rig: Rig):
    """Nothing goes out then, whatever else is fine."""
    rig.redis_is_away = True
    [found] = rig.found("queue")
    assert (found.key, found.red) == ("queue:unreachable", True)


@pytest.mark.parametrize(
    ("scope", "key"), [("platform", "mastodon"), ("app", "0e5c9a52-0a53-4c1e-9d0b-6d1f2f6a7c11")]
)
def test_an_application_or_platform_that_is_paused_is_told(rig: Rig, scope: Scope, key: str):
    """Until when, why, how many wait; nothing is red for it."""
    rig.world.post()
    rig.world.relay().scan()
    until = datetime.now(UTC) + timedelta(hours=1)
    holds.set_hold(
        rig.world.stores.central,
        scope=scope,
        key=key,
        until=until,
        reason="quota",
        set_by="worker",
        source="platform",
    )
    [found] = rig.found("paused")
    assert not found.red
    waiting = 1 if scope == "platform" else 0
    for part in (key, "quota", f"{waiting} posts wait", f"socialq hold lift {scope} {key}"):
        assert part in found.message


def test_an_account_that_is_held_by_a_person_is_no_alarm(rig: Rig):
    """A person knows what they did."""
    until = datetime.now(UTC) + timedelta(hours=1)
    holds.set_hold(
        rig.world.stores.central,
        scope="account",
        key=str(rig.world.account),
        until=until,
        reason="r",
        set_by="t",
    )
    assert rig.found() == []


def test_an_account_that_must_be_connected_before_its_next_post_is_told(rig: Rig):
    """With the time of that post; an account without any post is not."""
    lost = rig.world.new_account()
    rig.world.arrange("UPDATE cell.accounts SET status = 'needs_reconnect' WHERE id = %(id)s", id=lost)
    assert rig.found("reconnect") == []
    at = datetime.now(UTC) + timedelta(hours=3)
    rig.world.post(account=lost, publish_at=at)
    rig.world.relay().scan()
    [found] = rig.found("reconnect")
    assert found.key == f"reconnect:{lost}"
    assert f"{at:%Y-%m-%d %H:%M} UTC" in found.message
    assert "1 wait" in found.message


def test_a_token_that_just_ends_before_the_next_post_is_told(rig: Rig):
    """Where nothing can be refreshed; not where the post goes out before, nor where it can."""
    at = datetime.now(UTC) + timedelta(hours=3)
    rig.world.post(publish_at=at)
    rig.world.relay().scan()
    rig.world.arrange("UPDATE cell.accounts SET token_expires_at = now() + interval '2 hours'")
    assert rig.found("reconnect") == []
    rig.not_refreshing = ("mastodon",)
    assert "its token ends before that" in rig.found("reconnect")[0].message
    rig.world.arrange("UPDATE cell.accounts SET token_expires_at = now() + interval '4 hours'")
    assert rig.found("reconnect") == []


def test_the_fifth_sending_of_a_message_is_told(rig: Rig):
    """Sent again and again, and nobody answers."""
    target = rig.world.post()
    rig.world.relay().scan()
    rig.world.dispatcher().scan()
    rig.world.arrange("UPDATE central.publish_dispatch_index SET sends = 4")
    assert rig.found("resend") == []
    rig.world.arrange("UPDATE central.publish_dispatch_index SET sends = 5")
    [found] = rig.found("resend")
    assert found.key == f"resend:{target}"
    assert "was sent 5 times" in found.message


def test_changes_that_were_set_aside_are_told(rig: Rig):
    """With why, until somebody lets them be relayed."""
    target = rig.world.post()
    rig.world.machine.park(target, failure="too large")
    [found] = rig.found("parked")
    assert found.key == f"parked:{target}"
    assert "too large" in found.message
    rig.world.machine.unpark(target)
    assert rig.found("parked") == []


def test_a_queue_that_nobody_consumes_is_told(rig: Rig):
    """No publishing worker at all is red; one of two that is silent is worth knowing."""
    rig.world.stores.central.pipelined(heartbeats.beat("canary:publishing:h:3"))
    rig.world.arrange(
        "UPDATE central.heartbeats SET beat_at = now() - interval '100 s' WHERE name = 'canary:publishing:h:2'"
    )
    [found] = rig.found("worker")
    assert (found.key, found.red) == ("worker:publishing:h:2", False)
    rig.world.arrange("DELETE FROM central.heartbeats WHERE name LIKE 'canary:publishing%%'")
    [found] = rig.found("worker")
    assert (found.key, found.red) == ("worker:no_publishing", True)


def test_limits_are_settings(rig: Rig):
    """A shorter patience finds what a longer one does not."""
    overdue(rig.world, minutes=1)
    assert rig.found("late") == []
    rig.limits = replace(rig.limits, late_seconds=30.0)
    assert len(rig.found("late")) == 1


def test_names_are_read_as_the_tenant_that_they_are_of(rig: Rig):
    """Two agencies' late posts: each alarm carries its own agency, account and nothing of the other."""
    other = factories.make_tenant(rig.world.stores)
    account = rig.world.new_account(other, handle="zoe@other.example")
    client = factories.make_client(rig.world.stores, other)
    made = factories.make_post(rig.world.stores, other, client, [account])
    rig.world.time_passes(made.target_id, 300)
    mine = overdue(rig.world)
    found = {one.key: one for one in rig.found("late")}
    assert "zoe@other.example" in found[f"late:{made.target_id}"].message
    assert found[f"late:{made.target_id}"].tenant_id == other
    assert "zoe" not in found[f"late:{mine}"].message
