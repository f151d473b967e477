"""Tenants and accounts that may publish nothing ask nobody: their posts are held as long as the state lasts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from socialq.desk import holds as desk_holds
from socialq.desk import switching, tenants
from socialq.domain.errors import InputRefused
from socialq.store.central import holds

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from tests.integration.lanes.world import Account, Lanes


def sources(lanes: Lanes) -> list[tuple[str, str]]:
    return [(row["scope"], row["source"]) for row in desk_holds.list_all(lanes.wiring.stores)]


def stop(lanes: Lanes, account: Account, state: str) -> None:
    stores, tenant = lanes.wiring.stores, lanes.agency.tenant.id
    if state == "suspended":
        tenants.suspend(stores, tenant=tenant, reason="unpaid", actor="test")
    else:
        switching.disable(stores, tenant=tenant, account_id=account.id, reason="holiday", actor="test")


def start(lanes: Lanes, account: Account, state: str) -> None:
    stores, tenant = lanes.wiring.stores, lanes.agency.tenant.id
    if state == "suspended":
        tenants.resume(stores, tenant=tenant, actor="test")
    else:
        switching.enable(stores, tenant=tenant, account_id=account.id, actor="test")


@pytest.mark.parametrize("state", ["suspended", "disabled"])
def test_posts_of_what_may_not_publish_ask_nobody_and_go_out_when_it_may_again(lanes: Lanes, state: str):
    """Those there before and those that come later wait without a single message, and leave at once afterwards."""
    account = lanes.account()
    before = lanes.post(account, "Before")
    lanes.relay()
    stop(lanes, account, state)
    if state == "suspended":
        after = lanes.post(account, "After")
        lanes.relay()
    else:
        after = None
    assert lanes.dispatch() == []
    assert lanes.row(before)["status"] == "scheduled"
    start(lanes, account, state)
    assert sources(lanes) == []
    assert lanes.work_off() == ["published"] * (1 if after is None else 2)


def test_a_suspension_is_held_until_its_grace_is_over_and_then_each_post_fails_once(lanes: Lanes):
    """The hold ends with the grace: one message for each post, which says why it fails."""
    account = lanes.account()
    target = lanes.post(account)
    lanes.relay()
    tenant = tenants.suspend(
        lanes.wiring.stores, tenant=lanes.agency.tenant.id, reason="unpaid", grace_hours=5.0, actor="test"
    )
    assert tenant.suspended_at is not None
    assert lanes.index_row(target)["ready_at"] == tenant.suspended_at + timedelta(hours=5)
    long_ago = datetime.now(UTC) - timedelta(hours=30)
    lanes.change("UPDATE cell.tenant_state SET suspended_at = %(at)s", at=long_ago)
    lanes.wiring.state_holds.audit()
    assert sources(lanes) == []
    assert lanes.work_off() == ["tenant_active"]
    assert lanes.row(target)["reason"] == "tenant_suspended"


def test_what_a_suspended_tenant_may_have_live_is_looked_for_all_the_same(lanes: Lanes):
    """A state keeps posts from going out; whether one did go out is asked, as nothing is sent by that."""
    account = lanes.account()
    target = lanes.post(account)
    lanes.relay()
    lanes.sandbox.faults(
        [
            {
                "platform": "x",
                "account": account.name,
                "step": "publish",
                "kind": "accept_then_reset",
                "times": 1,
            }
        ]
    )
    lanes.publish_of(target)
    assert lanes.row(target)["status"] == "unknown_outcome"
    stop(lanes, account, "suspended")
    lanes.relay()
    lanes.due_now(target)
    assert [message.kind.value for message in lanes.dispatch()] == ["look"]


def test_a_persons_hold_outlives_the_suspension_that_came_after_it(lanes: Lanes):
    """Each source lifts its own hold: resuming a tenant does not end what a person has asked for."""
    account, stores, now = lanes.account(), lanes.wiring.stores, datetime.now(UTC)
    lanes.post(account)
    lanes.relay()
    tenant = str(lanes.agency.tenant.id)
    desk_holds.hold(
        stores,
        scope="tenant",
        key=tenant,
        until=now + timedelta(hours=1),
        reason="audit",
        now=now,
        actor="ann",
    )
    stop(lanes, account, "suspended")
    start(lanes, account, "suspended")
    assert sources(lanes) == [("tenant", "person")]
    assert lanes.dispatch() == []


@pytest.mark.parametrize(
    ("state", "scope", "said"), [("suspended", "tenant", "resume"), ("disabled", "account", "enable")]
)
def test_a_hold_that_follows_a_state_is_not_lifted_alone(lanes: Lanes, state: str, scope: Any, said: str):
    """Its posts would be refused one by one, each minute: the state itself must end, and the refusal says how."""
    account = lanes.account()
    stop(lanes, account, state)
    key = str(account.id if scope == "account" else lanes.agency.tenant.id)
    with pytest.raises(InputRefused, match=said):
        desk_holds.lift(lanes.wiring.stores, scope=scope, key=key, actor="test")
    assert sources(lanes) == [(scope, state)]


def test_a_used_up_monthly_limit_holds_the_tenant_for_the_rest_of_the_month(lanes: Lanes):
    """The first post that is refused says so for all; the others cost no message; a higher limit lets them go."""
    stores, tenant = lanes.wiring.stores, lanes.agency.tenant.id
    tenants.set_limit(stores, tenant=tenant, monthly_limit=1, actor="test")
    targets = [lanes.post(lanes.account()) for _ in range(4)]
    lanes.relay()
    first, *others = lanes.dispatch()
    assert lanes.handle(first) == "published"
    assert lanes.handle(others[0]) == "within_entitlement"
    (held,) = desk_holds.list_all(stores)
    assert (held["scope"], held["source"], held["until"].day, held["until"].hour) == (
        "tenant",
        "monthly_limit",
        1,
        0,
    )
    late = lanes.post(lanes.account())
    lanes.relay()
    assert lanes.dispatch() == []
    assert lanes.wiring.state_holds.audit() == {"set": 0, "lifted": 0}
    tenants.set_limit(stores, tenant=tenant, monthly_limit=None, actor="test")
    for target in [*targets, late]:
        if lanes.row(target)["next_at"] is not None:
            lanes.due_now(target)
    for message in others[1:]:
        assert lanes.handle(message) == "published"
    assert lanes.work_off() == ["published"] * 2


def test_a_limit_that_is_not_used_up_after_all_is_noticed(lanes: Lanes):
    """Claims counted against the limit may fail: the audit lets the others go."""
    stores, tenant = lanes.wiring.stores, lanes.agency.tenant.id
    tenants.set_limit(stores, tenant=tenant, monthly_limit=5, actor="test")
    until = datetime.now(UTC) + timedelta(days=9)
    holds.set_hold(
        stores.central,
        scope="tenant",
        key=str(tenant),
        until=until,
        reason="monthly_limit",
        set_by="worker",
        source="monthly_limit",
    )
    assert lanes.wiring.state_holds.audit() == {"set": 0, "lifted": 1}
    assert sources(lanes) == []


@pytest.mark.parametrize("state", ["suspended", "disabled"])
def test_the_audit_puts_right_what_a_crash_left_between_cell_and_hold(lanes: Lanes, state: str):
    """A state without its hold gets it, a hold without its state goes, and twice changes nothing."""
    account = lanes.account()
    stop(lanes, account, state)
    lanes.central("DELETE FROM central.holds")
    audit = lanes.wiring.state_holds.audit
    assert audit() == {"set": 1, "lifted": 0}
    assert audit() == {"set": 0, "lifted": 0}
    lanes.change("UPDATE cell.tenant_state SET status = 'active', suspended_at = NULL")
    lanes.change("UPDATE cell.accounts SET status = 'active'")
    assert audit() == {"set": 0, "lifted": 1}
    assert sources(lanes) == []


def test_connecting_an_account_anew_switches_it_on(lanes: Lanes):
    """Its hold goes with the switch."""
    made = lanes.sandbox.create_account("switched", "x")
    account = lanes.connect(made)
    stop(lanes, account, "disabled")
    lanes.connect(made)
    assert (account.row["status"], sources(lanes)) == ("active", [])


def test_the_alarm_of_a_hold_ends_with_the_hold(lanes: Lanes):
    """A hold that ran out by itself leaves no open alarm behind."""
    account = lanes.account()
    lanes.post(account, publish_by_hours=1.0)
    lanes.relay()
    now = datetime.now(UTC)
    desk_holds.hold(
        lanes.wiring.stores,
        scope="account",
        key=str(account.id),
        until=now + timedelta(hours=2),
        reason="t",
        now=now,
        actor="test",
    )
    lanes.wiring.state_holds.audit()
    assert len(lanes.alarms()) == 1
    lanes.central("UPDATE central.holds SET until = now() - interval '1 second'")
    lanes.wiring.state_holds.audit()
    assert lanes.alarms() == []


def test_setting_a_hold_that_lasts_as_long_already_walks_no_rows(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
):
    """A thousand workers that meet the same limit at once must not each walk all of its rows."""
    until = datetime.now(UTC) + timedelta(days=3)
    index: Any = lanes.wiring.index
    set_once: list[UUID] = []
    real: Callable[..., int] = holds.set_hold

    def counted(*arguments: Any, **named: Any) -> int:
        set_once.append(named["key"])
        return real(*arguments, **named)

    monkeypatch.setattr(holds, "set_hold", counted)
    for _ in range(3):
        index.hold(scope="tenant", key=str(lanes.agency.tenant.id), until=until, reason="monthly_limit")
    assert len(set_once) == 1
