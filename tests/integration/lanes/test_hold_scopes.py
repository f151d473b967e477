"""Holds of every scope: what they keep back, what that costs, and how they end."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from socialq.desk import holds as desk_holds
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from socialq.store.central import dispatch_index, dispatch_pick, holds
from tests.integration.pipeline.racing import Background, wait_until

if TYPE_CHECKING:
    import psycopg

    from tests.integration.lanes.world import Account, Lanes

SCOPES = ["account", "app", "platform", "cell", "tenant"]


def key_of(scope: str, account: Account) -> str:
    row = account.row
    return {
        "account": str(account.id),
        "app": str(row["provider_app_id"]),
        "platform": "x",
        "cell": account.agency.tenant.cell,
        "tenant": str(account.agency.tenant.id),
    }[scope]


def hold(lanes: Lanes, scope: Any, key: str, *, minutes: float = 60, reason: str = "test") -> int:
    now = datetime.now(UTC)
    return desk_holds.hold(
        lanes.wiring.stores,
        scope=scope,
        key=key,
        until=now + timedelta(minutes=minutes),
        reason=reason,
        now=now,
        actor="test",
    )


@pytest.mark.parametrize("scope", SCOPES)
def test_a_hold_keeps_its_posts_and_lifted_they_go_at_once(lanes: Lanes, scope: str):
    """What is there when it is set waits, what comes later waits, and a lift lets both go within one scan."""
    account = lanes.account()
    before = lanes.post(account, "There before")
    lanes.relay()
    hold(lanes, scope, key_of(scope, account))
    after = (
        lanes.post(lanes.account(), "Came later") if scope != "account" else lanes.post(account, "Came later")
    )
    lanes.relay()
    assert lanes.dispatch() == []
    assert [lanes.row(target)["status"] for target in (before, after)] == ["scheduled"] * 2
    desk_holds.lift(lanes.wiring.stores, scope=scope, key=key_of(scope, account), actor="test")
    assert lanes.work_off() == ["published", "published"]


@pytest.mark.parametrize("scope", SCOPES)
def test_it_is_said_what_a_hold_comes_too_late_for(lanes: Lanes, scope: str):
    """Messages that are with the workers are not called back: whoever sets a hold must know how many there are."""
    account = lanes.account()
    lanes.post(account, "Out already")
    lanes.relay()
    key, stores = key_of(scope, account), lanes.wiring.stores
    assert desk_holds.out_already(stores, scope=scope, key=key) == 0
    assert len(lanes.dispatch()) == 1
    assert desk_holds.out_already(stores, scope=scope, key=key) == 1


@pytest.mark.parametrize("scope", ["account", "app", "platform", "tenant"])
def test_a_hold_keeps_nothing_else(lanes: Lanes, scope: str):
    """Another account, application, platform and tenant goes out meanwhile."""
    held = lanes.account()
    lanes.post(held, "Held")
    other_app = lanes.sandbox.control("POST", "/_apps", {"platform": "x", "name": "other"})
    other = lanes.account(agency=lanes.new_agency(), client_id=other_app["client_id"])
    target = lanes.post(other, "Free")
    lanes.relay()
    if scope == "platform":
        lanes.central(
            "UPDATE central.publish_dispatch_index SET platform = 'elsewhere' WHERE target_id = %(id)s",
            id=target,
        )
    hold(lanes, scope, key_of(scope, held))
    assert [message.target_id for message in lanes.dispatch()] == [target]


def test_twenty_thousand_held_rows_at_the_head_cost_the_pick_few_buffers(
    lanes: Lanes, owner: psycopg.Connection[dict[str, Any]]
):
    """The pick does not walk over what is held, however old it is; a row behind it is found as quickly as ever."""
    crowd = new_id()
    owner.execute(
        "INSERT INTO central.publish_dispatch_index (target_id, lane, tenant_id, cell, account_id, platform, seq,"
        " kind, due_at, ready_at, publish_by, status)"
        " SELECT gen_random_uuid(), 'main', %(tenant)s, 'default', gen_random_uuid(), 'x', 1, 'publish',"
        " now() - interval '1 hour', now() - interval '1 hour', now() + interval '1 day', 'pending'"
        " FROM generate_series(1, 20000)",
        {"tenant": crowd},
    )
    account = lanes.account()
    target = lanes.post(account)
    lanes.relay()
    owner.execute("VACUUM ANALYZE central.publish_dispatch_index")
    until = datetime.now(UTC) + timedelta(hours=1)
    central = lanes.wiring.stores.central
    assert holds.set_hold(central, scope="tenant", key=str(crowd), until=until, reason="t", set_by="t") == 0
    owner.execute("VACUUM ANALYZE central.publish_dispatch_index")
    sql, params = dispatch_pick.pick(
        lane="main",
        limit=200,
        scan=2000,
        max_enqueued=2000,
        tenant_cap=1000,
        slow_cap=24,
        resend_seconds=15.0,
    )
    with central.transaction() as session:
        plan = session.one(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
    assert plan is not None
    shown = plan["QUERY PLAN"]
    top = (json.loads(shown) if isinstance(shown, str) else shown)[0]["Plan"]
    assert top["Shared Hit Blocks"] + top["Shared Read Blocks"] < 300
    assert lanes.index_row(target)["status"] == "enqueued"


def test_a_hold_that_outlasts_publish_by_says_so_at_once(lanes: Lanes):
    """How many posts it will let expire is returned and raised as an alarm, and the lift clears that."""
    account = lanes.account()
    lanes.post(account, publish_by_hours=1.0)
    lanes.post(account, publish_by_hours=48.0)
    lanes.relay()
    assert hold(lanes, "account", str(account.id), minutes=30) == 0
    assert lanes.alarms() == []
    assert hold(lanes, "account", str(account.id), minutes=120) == 1
    (alarm,) = lanes.alarms()
    assert "1 posts will expire" in alarm
    desk_holds.lift(lanes.wiring.stores, scope="account", key=str(account.id), actor="test")
    assert lanes.alarms() == []


def test_a_shorter_hold_under_a_longer_one_counts_by_the_end_that_holds(lanes: Lanes):
    """The later end wins, and what is said of it is true of it."""
    account = lanes.account()
    lanes.post(account, publish_by_hours=1.0)
    lanes.relay()
    assert hold(lanes, "account", str(account.id), minutes=120, reason="audit") == 1
    assert hold(lanes, "account", str(account.id), minutes=5, reason="rate limit") == 1
    (row,) = desk_holds.list_all(lanes.wiring.stores)
    assert row["reason"] == "audit"
    assert row["until"] > datetime.now(UTC) + timedelta(minutes=100)


def test_a_machine_never_lifts_a_hold_that_a_person_has_set(lanes: Lanes):
    """A cell under maintenance that could not be reached for a while stays held when it is back."""
    hold(lanes, "cell", "default", minutes=120, reason="maintenance")
    watch = lanes.wiring.cell_watch
    watch.lost("default", ConnectionError("gone"))
    watch.reached("default")
    (row,) = desk_holds.list_all(lanes.wiring.stores)
    assert (row["scope"], row["key"], row["reason"], row["set_by"]) == (
        "cell",
        "default",
        "maintenance",
        "test",
    )
    assert lanes.alarms() == []


def test_a_hold_that_has_ended_is_ignored_without_being_lifted(lanes: Lanes):
    """Its row may stay in the table; new work goes at its own time."""
    account = lanes.account()
    until = datetime.now(UTC) - timedelta(seconds=1)
    holds.set_hold(
        lanes.wiring.stores.central, scope="account", key=str(account.id), until=until, reason="t", set_by="t"
    )
    lanes.post(account)
    assert lanes.work_off() == ["published"]
    assert desk_holds.list_all(lanes.wiring.stores) == []


def test_work_that_is_mirrored_while_a_hold_is_set_does_not_slip_through(
    lanes: Lanes, owner: psycopg.Connection[dict[str, Any]]
):
    """An upsert that began before the hold can't know it, and the hold can't see its row: the pick sees both."""
    account = lanes.account()
    target = lanes.post(account, "Slips")
    machine = lanes.wiring.machine_cell("default")
    row = machine.rows_of([target])[0]
    central = lanes.wiring.stores.central
    with central.transaction(actor="relay") as session:
        from socialq.store.machine_store import _index_values

        dispatch_index.upsert(session, [_index_values("default", row)])
        setting = Background(lambda: hold(lanes, "account", str(account.id)))
        wait_until(lambda: not setting._thread.is_alive(), what="the hold")
    assert lanes.dispatch() == []
    assert lanes.index_row(target)["status"] == "pending"
    assert lanes.index_row(target)["ready_at"] > datetime.now(UTC) + timedelta(minutes=50)


@pytest.mark.parametrize(
    ("scope", "key", "said"),
    [
        ("account", "mastodon:ann", "is not an id"),
        ("tenant", "nobody", "no such tenant"),
        ("app", "", "is not an id"),
        ("platform", "myspace", "no such platform"),
        ("cell", "moon", "no such cell"),
    ],
)
def test_a_hold_of_something_that_can_not_be_is_refused(lanes: Lanes, scope: str, key: str, said: str):
    """A hold that holds nothing would be believed in."""
    with pytest.raises(InputRefused, match=said):
        hold(lanes, scope, key)
    assert desk_holds.list_all(lanes.wiring.stores) == []


def test_an_id_holds_however_it_is_written(lanes: Lanes):
    """Capitals in an id are the same id."""
    account = lanes.account()
    lanes.post(account)
    lanes.relay()
    hold(lanes, "account", str(account.id).upper())
    lanes.post(account)
    lanes.relay()
    assert lanes.dispatch() == []
    desk_holds.lift(lanes.wiring.stores, scope="account", key=str(account.id).upper(), actor="test")
    assert lanes.work_off() == ["published", "published"]
