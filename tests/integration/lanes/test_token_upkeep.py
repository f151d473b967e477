"""Tokens looked after before anybody needs them, on the simulated X: one by one, once an hour, owners told once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.providers.mastodon import Mastodon
from socialq.providers.x import X
from socialq.upkeep.token_upkeep import TokenUpkeep, aheads_of
from tests.integration.pipeline.racing import race

if TYPE_CHECKING:
    from tests.integration.lanes.world import Account, Lanes

TOKEN_STEP = {"platform": "x", "step": "prepare"}


@pytest.fixture
def upkeep(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> TokenUpkeep:
    """Upkeep of a platform whose tokens live for weeks, and are refreshed in their last ten days."""
    monkeypatch.setattr(X, "refresh_ahead", timedelta(days=10))
    return replace(lanes.wiring.token_upkeep, adapters={"x": X()})


def connected(lanes: Lanes, *, days: float = 60.0) -> Account:
    """An account whose token lives for so many days more."""
    return lanes.account(ends_in_seconds=days * 86_400)


def told(lanes: Lanes) -> list[str]:
    return [alarm for alarm in lanes.alarms() if "must be connected again" in alarm]


def an_hour_later(lanes: Lanes) -> None:
    lanes.change("UPDATE cell.accounts SET refresh_tried_at = refresh_tried_at - interval '61 minutes'")


def refreshed(*, days_ago: int) -> dict[str, datetime]:
    """Connected before, and refreshed so long ago."""
    at = datetime.now(UTC) - timedelta(days=days_ago)
    return {"connected_at": at - timedelta(days=1), "refreshed_at": at}


def test_who_has_just_come_back_is_not_asked_to(lanes: Lanes, upkeep: TokenUpkeep):
    """The account is old and was never refreshed; its owner connected it again today: nothing is due."""
    account = connected(lanes, days=50)
    account.set(refresh_token=None, refreshed_at=None, created_at=datetime.now(UTC) - timedelta(days=90))
    assert upkeep.run("default") == {"fine": 0, "told": 0, "later": 0}
    assert told(lanes) == []


def test_a_token_that_lives_for_weeks_yet_is_not_told_as_ending(lanes: Lanes, upkeep: TokenUpkeep):
    """Idle for two weeks and without a way to the next token: there is time, and the owner is told later."""
    account = connected(lanes, days=40)
    account.set(refresh_token=None, **refreshed(days_ago=20))
    assert upkeep.run("default") == {"fine": 0, "told": 0, "later": 1}
    assert told(lanes) == []


def test_a_token_is_refreshed_days_before_its_end(lanes: Lanes, upkeep: TokenUpkeep):
    """Nothing is published, and the account has a new pair; one with weeks left is not asked for."""
    near, far = connected(lanes, days=4), connected(lanes, days=11)
    assert upkeep.run("default") == {"fine": 1, "told": 0, "later": 0}
    assert (near.generation(), far.generation()) == (2, 1)
    assert near.row["refresh_lease"] is None
    assert upkeep.run("default") == {"fine": 0, "told": 0, "later": 0}


def test_accounts_connected_together_are_not_refreshed_together(lanes: Lanes, upkeep: TokenUpkeep):
    """Each has its own place in the second half of the days before its end; a run takes a few."""
    accounts = [connected(lanes, days=7.5) for _ in range(12)]
    first = upkeep.run("default")["fine"]
    assert 0 < first < 12
    for account in accounts:
        account.ends_in(4.9 * 86_400)
    an_hour_later(lanes)
    lanes.change("UPDATE cell.accounts SET refreshed_at = NULL")
    assert replace(upkeep, batch=5).run("default")["fine"] == 5


def test_an_account_that_nothing_is_published_on_keeps_its_refresh_token_alive(
    lanes: Lanes, upkeep: TokenUpkeep
):
    """The access token has long ended: after two weeks without a refresh there is one."""
    idle, busy = connected(lanes, days=-1), connected(lanes, days=-1)
    idle.set(**refreshed(days_ago=15))
    busy.set(**refreshed(days_ago=13))
    upkeep.run("default")
    assert (idle.generation(), busy.generation()) == (2, 1)


def test_tokens_that_live_for_hours_are_left_to_who_publishes(lanes: Lanes):
    """X's own are refreshed when they are used; no run touches one that is about to end."""
    account = lanes.account(ends_in_seconds=120)
    assert lanes.wiring.token_upkeep.run("default")["fine"] == 0
    assert account.generation() == 1
    assert aheads_of({"x": X(), "mastodon": Mastodon()}) == {"x": 0.0}


def test_two_runs_at_once_refresh_once(lanes: Lanes, upkeep: TokenUpkeep):
    """Leased as a publish's refresh is: the second finds the lease taken, or the new pair."""
    account = connected(lanes, days=4)
    race(lambda: upkeep.run("default"), lambda: upkeep.run("default"))
    assert account.generation() == 2


def test_a_refusal_leaves_a_token_that_works_and_tells_the_owner_once_by_when(
    lanes: Lanes, upkeep: TokenUpkeep
):
    """Posts go out until the end; the alarm is one, however often it is tried, and a reconnect takes it back."""
    account = connected(lanes, days=4)
    lanes.sandbox.faults([{**TOKEN_STEP, "account": account.name, "kind": "auth_revoked", "times": None}])
    for _ in range(2):
        assert upkeep.run("default") == {"fine": 0, "told": 1, "later": 0}
        assert upkeep.run("default")["told"] == 0, "within the hour nobody is asked again"
        an_hour_later(lanes)
    lanes.sandbox.faults([])
    row = account.row
    assert (row["status"], row["refresh_lease"]) == ("active", None)
    (alarm,) = told(lanes)
    assert f"before {row['token_expires_at']:%Y-%m-%d}" in alarm
    assert account.opened() not in alarm
    lanes.post(account, "Still here")
    assert lanes.work_off() == ["published"]
    lanes.connect(lanes.sandbox.create_account(account.name, "x"))
    assert told(lanes) == []


def test_an_account_whose_token_has_ended_and_is_refused_is_lost(lanes: Lanes, upkeep: TokenUpkeep):
    """Nothing works any more: the account waits for its owner, who is told before a post fails."""
    account = connected(lanes, days=-1)
    account.set(**refreshed(days_ago=20))
    lanes.sandbox.revoke(account.name, "x")
    assert upkeep.run("default")["told"] == 1
    assert account.row["status"] == "needs_reconnect"
    assert len(told(lanes)) == 1


def test_a_token_without_a_way_to_the_next_is_told_before_its_end(lanes: Lanes, upkeep: TokenUpkeep):
    """Connected with an access token alone: nobody can refresh it, and the owner has days to come back."""
    account = connected(lanes, days=4)
    account.set(refresh_token=None)
    assert upkeep.run("default")["told"] == 1
    assert "before" in told(lanes)[0]
    assert account.row["status"] == "active"


def test_a_fault_of_our_application_ends_the_platforms_run_and_alarms_once(lanes: Lanes, upkeep: TokenUpkeep):
    """The first refusal is enough: no account is marked, and the others are not even asked for."""
    accounts = [connected(lanes, days=4) for _ in range(3)]
    lanes.central("UPDATE central.provider_apps SET client_id = 'gone'")
    assert upkeep.run("default") == {"fine": 0, "told": 0, "later": 1}
    assert len([alarm for alarm in lanes.alarms() if "refuses our application" in alarm]) == 1
    assert {account.row["status"] for account in accounts} == {"active"}
    assert lanes.central("SELECT scope FROM central.holds") == [], "their tokens work: they publish on"


def test_a_fault_of_our_application_holds_it_where_the_tokens_have_ended(lanes: Lanes, upkeep: TokenUpkeep):
    """Nothing can be published through it: what would be sent waits, and no account is marked."""
    account = connected(lanes, days=-1)
    account.set(**refreshed(days_ago=20))
    lanes.central("UPDATE central.provider_apps SET client_id = 'gone'")
    assert upkeep.run("default")["later"] == 1
    assert [hold["scope"] for hold in lanes.central("SELECT scope FROM central.holds")] == ["app"]
    assert account.row["status"] == "active"


def test_an_account_that_can_not_be_read_keeps_no_other_from_its_refresh(lanes: Lanes, upkeep: TokenUpkeep):
    """A stored token of another key: told to the operator, and the next one is refreshed."""
    broken, fine = connected(lanes, days=4), connected(lanes, days=4)
    broken.set(refresh_token="v1.k1.AAAA")
    assert upkeep.run("default") == {"fine": 1, "told": 0, "later": 1}
    assert fine.generation() == 2
    assert upkeep.run("default") == {"fine": 0, "told": 0, "later": 0}


def test_the_machine_that_searches_sees_no_token(lanes: Lanes):
    """It knows when, for whom, and nothing to publish with."""
    connected(lanes)
    import psycopg

    machine = lanes.wiring.stores.cell("default").machine
    for column in ("access_token", "refresh_token", "handle"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            machine.pipelined((f"SELECT {column} FROM cell.accounts", {}))
