"""Tokens that are traded for themselves: weeks ahead, once, and never when they are over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.domain.errors import InputRefused
from socialq.pipeline.ports import AccountLost, AccountReady
from tests.integration.lanes.world import number
from tests.integration.pipeline.racing import race

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.wiring import Wiring
    from tests.integration.lanes.world import Account, Lanes

DAY = 86_400.0


@pytest.fixture
def account(lanes: Lanes) -> Account:
    """An account on the simulated Threads, whose tokens may be traded at once, connected without an application."""
    lanes.sandbox.settings("threads", refresh_least_age_s=0)
    made = lanes.sandbox.create_account(f"user{number()}", "threads")
    connected = lanes.connect({**made, "refresh_token": None}, platform="threads", app=None)
    # A token of a consent of today is not traded: this one was given weeks ago.
    connected.set(connected_at=datetime.now(UTC) - timedelta(days=50))
    return connected


def test_a_token_with_ten_days_left_is_traded_with_the_next_post(lanes: Lanes, account: Account):
    """The new one lives two months, and the post goes out with it; no application and no refresh token is needed."""
    target = lanes.post(account, "On time")
    account.ends_in(10 * DAY)
    before = account.opened()
    assert lanes.work_off() == ["published"]
    row = account.row
    assert account.opened() != before
    assert row["refresh_token"] is None
    assert row["token_expires_at"] > datetime.now(UTC) + timedelta(days=59)
    assert lanes.row(target)["status"] == "published"


def test_a_token_with_more_than_twenty_days_left_is_kept(lanes: Lanes, account: Account):
    """Never in bulk, and never early."""
    work = lanes.work(lanes.post(account))
    account.ends_in(21 * DAY)
    before = account.row["access_token"]
    assert isinstance(lanes.wiring.token_refresh.ensure(lanes.work(work.target.id)), AccountReady)
    assert account.row["access_token"] == before


def test_a_token_that_is_less_than_a_day_old_is_not_traded(lanes: Lanes, account: Account):
    """The platform would refuse it: nothing is asked."""
    target = lanes.post(account)
    account.ends_in(10 * DAY)
    account.set(refreshed_at=datetime.now(UTC) - timedelta(hours=23))
    before = account.row["access_token"]
    assert isinstance(lanes.wiring.token_refresh.ensure(lanes.work(target)), AccountReady)
    assert account.row["access_token"] == before
    account.set(refreshed_at=datetime.now(UTC) - timedelta(hours=25))
    assert isinstance(lanes.wiring.token_refresh.ensure(lanes.work(target)), AccountReady)
    assert account.row["access_token"] != before


def test_eight_workers_trade_one_token_once(
    lanes: Lanes, account: Account, make_wiring: Callable[..., Wiring], empty_database: str
):
    """One has the lease; the others go on with the token that still works."""
    target = lanes.post(account)
    account.ends_in(10 * DAY)
    rule = {"platform": "threads", "account": account.name, "step": "prepare", "kind": "slow"}
    lanes.sandbox.faults([{**rule, "delay_ms": 100, "times": None}])
    workers = [make_wiring(empty_database) for _ in range(4)]
    answers = race(
        *[lambda wiring=wiring: wiring.token_refresh.ensure(lanes.work(target)) for wiring in workers * 2]
    )
    assert {type(answer) for answer in answers} == {AccountReady}
    assert lanes.counted == 1


@pytest.mark.parametrize("kind", ["refuse_503", "accept_then_reset", "rate_limit", "validation"])
def test_a_trade_that_fails_costs_nothing_while_the_token_lives(lanes: Lanes, account: Account, kind: str):
    """There are weeks for another try; the post goes out with what there is."""
    lanes.post(account, "All the same")
    account.ends_in(10 * DAY)
    before = account.row["access_token"]
    rule = {"platform": "threads", "account": account.name, "step": "prepare", "kind": kind}
    lanes.sandbox.faults([{**rule, "times": 2 if "reset" in kind else 1}])
    assert lanes.work_off() == ["published"]
    assert account.row["access_token"] == before
    assert account.row["status"] == "active"


def test_a_token_that_is_over_needs_a_person_and_is_not_traded(lanes: Lanes, account: Account):
    """It can't be traded any more: nothing is asked, and the account says so."""
    target = lanes.post(account)
    account.ends_in(-1)
    rule = {"platform": "threads", "account": account.name, "step": "any", "kind": "slow", "delay_ms": 0}
    lanes.sandbox.faults([{**rule, "times": None}])
    lanes.work_off()
    assert lanes.row(target)["status"] == "needs_reconnect"
    assert lanes.counted == 0


def test_a_token_that_the_platform_has_ended_is_lost_at_its_trade(lanes: Lanes, account: Account):
    """The owner has thrown us out: the refusal marks the account, once."""
    target = lanes.post(account)
    account.ends_in(10 * DAY)
    lanes.sandbox.revoke(account.name, "threads")
    answer = lanes.wiring.token_refresh.ensure(lanes.work(target))
    assert isinstance(answer, AccountLost)
    assert account.row["status"] == "needs_reconnect"


def test_a_token_refused_at_publish_is_not_traded_for_another(lanes: Lanes, account: Account):
    """What the platform has ended before its time can't be traded: a person is asked at once."""
    target = lanes.post(account)
    lanes.sandbox.revoke(account.name, "threads")
    lanes.work_off()
    assert lanes.row(target)["status"] == "needs_reconnect"


def test_a_refresh_token_is_refused_where_there_is_none(lanes: Lanes):
    """A person who brings one is told, while still there."""
    made = lanes.sandbox.create_account(f"user{number()}", "threads")
    with pytest.raises(InputRefused, match="refresh_token"):
        lanes.connect({**made, "refresh_token": "something"}, platform="threads")
