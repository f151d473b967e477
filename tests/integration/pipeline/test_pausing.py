"""What a platform says of its limits, and of our application, holds the right thing, durably and once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from socialq.domain.ids import new_id
from socialq.domain.outcomes import Accepted, CannotTell, Evidence, Ours, RateLimited, Transient
from socialq.pipeline.ports import AccountWaits
from tests.integration.pipeline.world import in_seconds

if TYPE_CHECKING:
    from tests.integration.pipeline.world import World

SAID = Evidence(http_status=200, code="test.used_up", message="nothing is left")


def used_up(**more: Any) -> RateLimited:
    return RateLimited(evidence=SAID, retry_after_seconds=600.0, **more)


def holds(world: World) -> dict[tuple[str, str], dict[str, Any]]:
    rows = world.arrange("SELECT scope, key, until, reason FROM central.holds")
    return {(row["scope"], row["key"]): row for row in rows}


def says(world: World, told: Any) -> None:
    """Let every answer tell this of what is left."""

    def usage(_answer: object) -> Any:
        if isinstance(told, Exception):
            raise told
        return told

    world.platform.usage = usage


def app_of(world: World) -> str:
    app = new_id()
    world.arrange("UPDATE cell.accounts SET provider_app_id = %(app)s", app=app)
    return str(app)


@pytest.mark.parametrize("scope", ["account", "app", "platform"])
def test_a_good_answer_that_says_nothing_is_left_holds_what_it_is_about(world: World, scope: Any):
    """The post is published, and what comes after it waits until the window's end without asking."""
    key = {"account": str(world.account), "app": app_of(world), "platform": "mastodon"}[scope]
    says(world, used_up(scope=scope))
    assert world.publish(world.post()) == "published"
    hold = holds(world)[scope, key]
    assert 590 < in_seconds(hold["until"]) < 601
    following = world.post()
    assert world.work_off() == []
    row = world.index_row(following)
    assert row is not None
    assert row["ready_in_seconds"] > 580


def test_a_failed_answer_is_read_for_its_limits_too(world: World):
    """Whatever became of the request, its headers count."""
    says(world, used_up())
    world.platform.answers.append(Transient(evidence=SAID))
    assert world.publish(world.post()) == "retry_scheduled"
    assert set(holds(world)) == {("account", str(world.account))}


def test_nothing_is_held_while_something_is_left(world: World):
    """The common case writes nothing."""
    assert world.publish(world.post()) == "published"
    assert holds(world) == {}


def test_an_unreadable_usage_fails_nothing(world: World):
    """The acceptance is recorded before anything else is read from its answer."""
    says(world, ValueError("a header that nobody foresaw"))
    target = world.post(texts=["one", "two"])
    assert world.publish(target) == "published"
    assert world.platform.texts == ["one", "two"]


def test_a_limit_of_an_unnamed_application_holds_the_account(world: World):
    """An account connected with a bare token: its application is known to us by nothing else."""
    says(world, used_up(scope="app"))
    world.publish(world.post())
    assert set(holds(world)) == {("account", str(world.account))}


@pytest.mark.parametrize("scope", ["app", "platform"])
def test_a_fault_of_our_application_pauses_it_and_alarms_once(world: World, scope: Any):
    """Three posts meet it: one alarm, one hold on the application or the platform, no mark on any account."""
    app = app_of(world)
    for _ in range(3):
        account = world.new_account()
        world.arrange("UPDATE cell.accounts SET provider_app_id = %(app)s", app=app)
        said = Evidence(http_status=403, code="test.sunset", message="this version is gone")
        world.platform.answers.append(Ours(evidence=said, scope=scope))
        assert world.publish(world.post(account=account)) == "retry_scheduled"
    assert set(holds(world)) == {(scope, app if scope == "app" else "mastodon")}
    (alarm,) = world.alarms()
    assert "this version is gone" in alarm
    accounts = world.rows("SELECT status, hold_until, flagged_at FROM cell.accounts")
    assert {tuple(row.values()) for row in accounts} == {("active", None, None)}


def test_a_fault_of_our_unnamed_application_alarms_and_holds_no_account(world: World):
    """Without an application's id there is nothing to hold but the target itself."""
    world.platform.answers.append(Ours(evidence=SAID))
    assert world.publish(world.post()) == "retry_scheduled"
    assert holds(world) == {}
    assert len(world.alarms()) == 1


def test_a_look_and_a_refresh_that_meet_a_limit_hold_as_a_publish_does(world: World):
    """Neither publishes anything, and both show that it is no use to go on."""
    app = app_of(world)
    target = world.post()
    world.lose_answer(target)
    world.platform.looks.append(CannotTell(failure=Ours(evidence=SAID)))
    world.time_passes(target, 20.0)
    world.look(target)
    assert set(holds(world)) == {("app", app)}

    class Refused:
        def ensure(self, _work: object) -> AccountWaits:
            return AccountWaits(seconds=60, detail="refused", because=used_up(scope="platform"))

    other = world.post(account=world.new_account())
    world.publisher(tokens=Refused()).publish(world.message(other))
    assert ("platform", "mastodon") in holds(world)
    assert world.platform.sent[1:] == []


def test_a_thread_goes_on_although_its_first_answer_was_the_last_of_the_window(world: World):
    """It is claimed, and half a thread is worse than one request too many; what comes after it is held."""
    says(world, used_up())
    world.platform.answers += [Accepted(remote_id="p-1"), Accepted(remote_id="p-2")]
    assert world.publish(world.post(texts=["one", "two"])) == "published"
    assert len(holds(world)) == 1
