"""An alarm that a hop raised ends with its cause, and the next incident is told again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.desk import holds as desk_holds
from socialq.desk import resolve
from socialq.pipeline.pausing import tell_operator, tell_owner
from socialq.store.central import holds
from tests.integration.upkeep.watching_rig import Rig

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from tests.integration.pipeline.world import World


@pytest.fixture
def rig(world: World) -> Rig:
    return Rig(world)


def age(rig: Rig, seconds: float) -> None:
    """Let every alarm have been raised some time earlier."""
    rig.world.arrange("UPDATE central.alarms SET last_at = last_at - %(s)s * interval '1 second'", s=seconds)


def will_fail(rig: Rig) -> UUID:
    """A target that was prepared in vain, and of which a person was told."""
    slot = datetime.now(UTC) + timedelta(hours=1)
    target = rig.world.post(account=rig.world.new_account(), publish_at=slot)
    rig.world.arrange(
        "UPDATE cell.post_targets SET prepared_version_id = version_id, prepare_tries = 1 WHERE id = %(id)s",
        id=target,
    )
    rig.world.index.alarm(
        key=f"prepare:{target}", message="it will fail at its time", tenant_id=rig.world.tenant
    )
    return target


def sent(rig: Rig, target: UUID) -> None:
    rig.world.arrange_target(target, next_at=datetime.now(UTC) - timedelta(seconds=1))
    rig.world.publish(target)


def cancelled(rig: Rig, target: UUID) -> None:
    resolve.cancel(rig.world.stores, tenant=rig.world.tenant, target_id=target, reason="no", actor="anna")


def edited(rig: Rig, target: UUID) -> None:
    """What an edit that was approved at once leaves: another version, not prepared yet."""
    rig.world.arrange(
        "UPDATE cell.post_targets SET prepared_version_id = NULL, prepare_tries = 0 WHERE id = %(id)s",
        id=target,
    )


@pytest.mark.parametrize("ended", [sent, cancelled, edited])
def test_what_would_fail_at_its_slot_is_over_once_it_is_sent_withdrawn_or_edited(
    rig: Rig, ended: Callable[[Rig, UUID], None]
):
    """Until then it stays told, and another target's stays after that."""
    target, other = will_fail(rig), will_fail(rig)
    rig.watch.run()
    assert set(rig.open()) == {f"prepare:{target}", f"prepare:{other}"}
    ended(rig, target)
    rig.watch.run()
    assert set(rig.open()) == {f"prepare:{other}"}


def test_a_second_incident_is_told_again_and_the_first_ones_end_in_between(rig: Rig):
    """An account is lost, connected again, and lost again months later."""
    for _ in range(2):
        account = rig.world.work(rig.world.post()).account
        rig.world.arrange("UPDATE cell.accounts SET status = 'needs_reconnect', status_reason = 'x'")
        tell_owner(rig.world.index, account, tenant_id=rig.world.tenant, reason="it was withdrawn")
        age(rig, 5)
        rig.watch.run()
        rig.world.arrange(
            "UPDATE cell.accounts SET status = 'active', status_reason = NULL, connected_at = now()"
        )
        rig.watch.run()
    told = [body.partition(":")[0] for _, body in rig.channel.sent]
    assert [one for one in told if one.endswith("account")] == ["ALARM account", "OVER account"] * 2


ACCOUNT_STAYS = [
    "UPDATE cell.accounts SET status = 'needs_reconnect', status_reason = 'x', refreshed_at = now()",
    "UPDATE cell.accounts SET refreshed_at = now() - interval '1 hour', connected_at = now() - interval '2 hours'",
]
ACCOUNT_ENDS = [
    "UPDATE cell.accounts SET refreshed_at = now()",
    "UPDATE cell.accounts SET connected_at = now(), refreshed_at = NULL",
    "UPDATE cell.accounts SET status = 'disabled'",
]


@pytest.mark.parametrize(
    ("change", "stays"), [(sql, True) for sql in ACCOUNT_STAYS] + [(sql, False) for sql in ACCOUNT_ENDS]
)
def test_an_account_is_well_with_a_token_that_it_got_since(rig: Rig, change: str, stays: bool):
    """Refreshed or connected after the alarm, or switched off; not one that merely works still."""
    account = rig.world.work(rig.world.post()).account
    ends_at = datetime.now(UTC) + timedelta(days=3)
    tell_owner(rig.world.index, account, tenant_id=rig.world.tenant, reason="no means", ends_at=ends_at)
    age(rig, 60)
    rig.world.arrange(change)
    rig.watch.run()
    assert (f"account:{account.id}" in rig.open()) is stays


def test_an_alarm_that_is_raised_while_it_is_looked_at_stays_open(rig: Rig, monkeypatch: pytest.MonkeyPatch):
    """What the rows said a moment ago does not speak of now."""
    account = rig.world.account
    alarm = {"key": f"vault:{account}", "message": "unreadable", "tenant_id": rig.world.tenant}
    rig.world.index.alarm(**alarm)
    causes = rig.watch.causes
    rig.readable.add(account)
    real = causes.can_open

    def raised_meanwhile(tenant: UUID, account: UUID) -> bool:
        rig.world.index.alarm(**alarm)
        return real(tenant, account)

    object.__setattr__(causes, "can_open", raised_meanwhile)
    assert causes.close_ended() == []
    object.__setattr__(causes, "can_open", real)
    assert causes.close_ended() == [alarm["key"]]


def test_tokens_that_can_be_opened_again_end_their_alarm(rig: Rig):
    """Stored anew, or their key is there again: the tokens themselves are tried."""
    other = rig.world.new_account()
    for account in (rig.world.account, other):
        rig.world.index.alarm(key=f"vault:{account}", message="unreadable", tenant_id=rig.world.tenant)
    rig.readable.add(other)
    rig.watch.run()
    assert set(rig.open()) == {f"vault:{rig.world.account}"}


@pytest.mark.parametrize("named", [True, False])
def test_our_application_is_well_once_it_is_held_no_more_and_something_was_accepted(rig: Rig, named: bool):
    """Neither the end of its hold alone says so, nor what was accepted before it was refused."""
    world = rig.world
    account = world.work(world.post()).account
    if named:
        world.arrange("UPDATE cell.accounts SET provider_app_id = gen_random_uuid()")
        account = world.work(world.post()).account
    app = str(account.provider_app_id)
    tell_operator(world.index, account, "app", message="the secret is wrong")
    if named:
        until = datetime.now(UTC) + timedelta(minutes=5)
        holds.set_hold(
            world.stores.central, scope="app", key=app, until=until, reason="x", set_by="t", source="platform"
        )
    [key] = rig.open()
    world.publish(world.post(account=account.id))
    rig.watch.run()
    assert key in rig.open(), "refused just now: some requests pass, others do not"
    age(rig, 600)
    world.arrange("UPDATE cell.sightings SET first_seen_at = first_seen_at - interval '20 minutes'")
    world.arrange("UPDATE central.holds SET until = now() - interval '1 s'")
    rig.watch.run()
    assert key in rig.open(), "nothing was accepted since"
    world.arrange("UPDATE central.holds SET until = now() + interval '1 min'")
    world.publish(world.post(account=account.id))
    if named:
        rig.watch.run()
        assert key in rig.open(), "held"
    world.arrange("UPDATE central.holds SET until = now() - interval '1 s'")
    rig.watch.run()
    assert key not in rig.open()


def test_another_applications_acceptance_says_nothing_of_ours(rig: Rig):
    """The platform takes posts of all others."""
    world = rig.world
    account = world.work(world.post()).account
    tell_operator(world.index, account, "app", message="the secret is wrong")
    age(rig, 600)
    other = world.new_account()
    world.arrange("UPDATE cell.accounts SET provider_app_id = gen_random_uuid() WHERE id = %(id)s", id=other)
    target = world.post(account=other)
    world.publish(target)
    assert world.status(target) == "published"
    rig.watch.run()
    assert len(rig.open()) == 1


def test_whoever_lifts_the_hold_of_our_application_is_told_of_the_next_refusal(rig: Rig):
    """Its alarm ends with the hold."""
    world = rig.world
    account = world.work(world.post()).account
    tell_operator(world.index, account, "platform", message="the version is gone")
    until = datetime.now(UTC) + timedelta(hours=1)
    desk_holds.hold(
        world.stores,
        scope="platform",
        key="mastodon",
        until=until,
        reason="x",
        now=datetime.now(UTC),
        actor="anna",
    )
    assert "ours:platform:mastodon" in rig.open()
    desk_holds.lift(world.stores, scope="platform", key="mastodon", actor="anna")
    assert "ours:platform:mastodon" not in rig.open()


def test_what_cannot_be_asked_stays_open_and_keeps_nothing_from_being_told(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    """A cell that is away, or a bug: the pass goes on."""
    target = will_fail(rig)
    cancelled(rig, target)

    def broken(*_: object) -> object:
        raise RuntimeError("a bug")

    monkeypatch.setattr("socialq.store.alarm_causes.still_prepared", broken)
    rig.watch.run()
    assert list(rig.open()) == [f"prepare:{target}"]
    assert len(rig.channel.sent) == 1
