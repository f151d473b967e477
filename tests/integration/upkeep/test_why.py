"""`why` names the first hop that a target has not passed, since when, and who acts next: a test for each hop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from socialq.desk.why import explain
from socialq.domain.errors import InputRefused
from socialq.store.central import heartbeats, holds
from socialq.store.stores import Stores
from tests import factories

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.desk.why import Why
    from tests.integration.pipeline.world import World

NAMES = ["slot", "outbox", "index", "hold", "queue", "claim", "platform"]


def ask(world: World, target: UUID) -> Why:
    why = explain(world.stores, tenant=world.tenant, target_id=target)
    assert [hop.name for hop in why.hops] == NAMES
    if why.stopped_at is not None:
        place = NAMES.index(why.stopped_at)
        states = ["passed"] * place + ["stopped"] + ["not_reached"] * (6 - place)
        assert [hop.state for hop in why.hops] == states
    return why


def ago(why: Why) -> float:
    assert why.since is not None
    return (datetime.now(UTC) - why.since).total_seconds()


def relayed(world: World, **more: object) -> UUID:
    target = world.post(**more)  # type: ignore[arg-type]
    world.relay().scan()
    return target


@pytest.fixture(autouse=True)
def beating(world: World) -> None:
    for name in ("dispatch", "relay:default"):
        world.stores.central.pipelined(heartbeats.beat(name))


def test_a_published_target_has_passed_every_hop(world: World):
    """Nothing stops it, and nobody has to do anything."""
    target = world.post()
    world.work_off()
    why = ask(world, target)
    assert (why.stopped_at, why.status) == (None, "published")
    assert {hop.state for hop in why.hops} == {"passed"}
    assert ago(why) < 60


def test_a_slot_to_come_stops_at_the_slot(world: World):
    """Its time is said, and that nobody has to act."""
    at = datetime.now(UTC) + timedelta(hours=2)
    why = ask(world, relayed(world, publish_at=at))
    assert why.stopped_at == "slot"
    assert f"{at:%Y-%m-%d %H:%M}" in why.because
    assert "nobody" in why.who


@pytest.mark.parametrize(("status", "who"), [("draft", "a person"), ("cancelled", "nobody")])
def test_what_has_no_time_stops_at_the_slot(world: World, status: str, who: str):
    """Not scheduled, or withdrawn."""
    target = world.post(status=status, columns={"next_kind": None, "next_at": None})
    why = ask(world, target)
    assert why.stopped_at == "slot"
    assert why.who.startswith(who)


def test_a_change_that_is_not_relayed_stops_at_the_outbox(world: World):
    """Since it was made; that the relay's window is silent is said."""
    target = world.post()
    world.arrange("UPDATE cell.outbox_events SET created_at = now() - interval '50 s'")
    world.arrange("UPDATE central.heartbeats SET beat_at = now() - interval '45 s'")
    why = ask(world, target)
    assert why.stopped_at == "outbox"
    assert ago(why) == pytest.approx(50, abs=10)
    assert "relay:default) was last seen 45 s ago" in why.because
    assert "relay of cell default" in why.who


def test_a_change_that_was_set_aside_stops_at_the_outbox(world: World):
    """With why, and it is the operator's."""
    target = world.post()
    world.machine.park(target, failure="too large")
    why = ask(world, target)
    assert why.stopped_at == "outbox"
    assert "too large" in why.because
    assert "outbox unpark" in why.who


def test_a_row_that_the_index_has_lost_stops_at_the_index(world: World):
    """Relayed, and not there: the audit brings it back."""
    target = relayed(world)
    world.arrange("DELETE FROM central.publish_dispatch_index")
    why = ask(world, target)
    assert why.stopped_at == "index"
    assert "audit" in why.who


def test_a_held_target_stops_at_the_hold(world: World):
    """Whose hold it is, why, since when, and how it ends."""
    target = relayed(world)
    until = datetime.now(UTC) + timedelta(hours=1)
    holds.set_hold(
        world.stores.central,
        scope="platform",
        key="mastodon",
        until=until,
        reason="maintenance",
        set_by="cli:ann",
    )
    world.arrange("UPDATE central.holds SET set_at = now() - interval '5 min'")
    why = ask(world, target)
    assert why.stopped_at == "hold"
    assert "platform mastodon is held until" in why.because
    assert "maintenance" in why.because
    assert "cli:ann" in why.who
    assert "hold lift platform mastodon" in why.who
    assert ago(why) == pytest.approx(300, abs=10)


@pytest.mark.parametrize(
    ("state", "because", "who"),
    [
        (
            "UPDATE cell.tenant_state SET status = 'suspended', suspended_at = now()",
            "suspended",
            "tenant resume",
        ),
        (
            "UPDATE cell.tenant_state SET stopped_at = now(), stopped_by = '{quarantine}', stop_reason = 'restored'",
            "restored",
            "cell release",
        ),
        (
            "UPDATE cell.accounts SET status = 'disabled', status_reason = 'holiday'",
            "holiday",
            "account enable",
        ),
        ("UPDATE cell.accounts SET hold_until = now() + interval '1 h'", "platform asked", "nobody"),
    ],
)
def test_a_state_holds_too(world: World, state: str, because: str, who: str):
    """Suspended, stopped, switched off, told to wait: said even before the hold that follows is set."""
    target = relayed(world)
    world.arrange(state)
    why = ask(world, target)
    assert why.stopped_at == "hold"
    assert because in why.because
    assert who in why.who


def test_a_due_target_that_was_not_sent_stops_at_the_queue(world: World):
    """The dispatcher is next; a silent window is said."""
    target = relayed(world)
    world.arrange("UPDATE central.heartbeats SET beat_at = now() - interval '45 s' WHERE name = 'dispatch'")
    why = ask(world, target)
    assert why.stopped_at == "queue"
    assert "dispatch) was last seen 45 s ago" in why.because
    assert "dispatcher" in why.who


def test_waiting_for_its_account_stops_at_the_queue(world: World):
    """Which other target is in flight there."""
    first = relayed(world)
    second = relayed(world)
    world.claim(first)
    why = ask(world, second)
    assert why.stopped_at == "queue"
    assert f"target {first} is publishing" in why.because
    assert str(first) in why.who


def test_a_queued_target_stops_at_the_claim(world: World):
    """Its message is out, since when, and how often it was sent."""
    target = relayed(world)
    world.dispatcher().scan()
    world.arrange(
        "UPDATE central.publish_dispatch_index SET sends = 3, enqueued_at = now() - interval '70 s'"
    )
    why = ask(world, target)
    assert why.stopped_at == "claim"
    assert "sent 3 times" in why.because
    assert "publishing worker" in why.who
    assert ago(why) == pytest.approx(70, abs=10)


def test_in_flight_stops_at_the_platform(world: World):
    """Whether its request was sent, and until when its worker has."""
    target = world.post()
    claim = world.claim(target)
    why = ask(world, target)
    assert why.stopped_at == "platform"
    assert "nothing of it was sent" in why.because
    claim.mark()
    why = ask(world, target)
    assert "its request was sent" in why.because
    assert "worker test:1" in why.because
    assert "sweep" in why.who


def test_an_unknown_outcome_stops_at_the_platform(world: World):
    """When it is looked for."""
    target = world.post()
    world.lose_answer(target)
    world.relay().scan()
    why = ask(world, target)
    assert (why.stopped_at, why.status) == ("platform", "unknown_outcome")
    assert "looks for it at" in why.who


def test_an_overdue_look_stops_at_its_own_hop(world: World):
    """A look takes the same way: what is due and not sent stops at the queue."""
    target = world.post()
    world.lose_answer(target)
    world.relay().scan()
    world.time_passes(target, 600)
    assert ask(world, target).stopped_at == "queue"


def test_a_retry_to_come_stops_at_the_platform(world: World):
    """What was said, and when it is tried again."""
    from socialq.domain.outcomes import Evidence, Transient

    target = world.post()
    world.platform.answers.append(Transient(evidence=Evidence(code="x", message="over capacity")))
    world.publish(target)
    world.relay().scan()
    why = ask(world, target)
    assert (why.stopped_at, why.status) == ("platform", "retry_scheduled")
    assert "over capacity" in why.because
    assert "tries again at" in why.who


@pytest.mark.parametrize(
    ("status", "who"),
    [
        ("needs_attention", "mark-published"),
        ("needs_reconnect", "account connect"),
        ("failed", "target retry"),
    ],
)
def test_what_waits_for_a_person_says_for_whom(world: World, status: str, who: str):
    """At the platform where there was an attempt, at the claim where there was none."""
    target = world.post(
        status=status, columns={"next_kind": None, "next_at": None, "reason": "r", "detail": "the detail"}
    )
    why = ask(world, target)
    assert why.stopped_at == "claim"
    assert "the detail" in why.because
    assert who in why.who
    other = world.post(account=world.new_account())
    world.claim(other)
    world.arrange_target(
        other,
        status=status,
        lease_token=None,
        lease_until=None,
        holds_account=False,
        next_kind=None,
        next_at=None,
    )
    assert ask(world, other).stopped_at == "platform"


def test_a_cell_that_is_away_is_an_answer(world: World):
    """Asked with the agency's name: what the index knows, and that the database is to be brought back."""
    target = relayed(world)
    until = datetime.now(UTC) + timedelta(minutes=1)
    holds.set_hold(
        world.stores.central,
        scope="cell",
        key="away",
        until=until,
        reason="cell_down",
        set_by="relay",
        source="cell_down",
    )
    world.arrange(
        "INSERT INTO central.cells (name, database_url) VALUES ('away', 'postgresql://x@127.0.0.1:1/x')"
    )
    world.arrange("UPDATE central.tenants SET cell = 'away' WHERE id = %(t)s", t=world.tenant)
    stores = Stores(central_url=world.url, decrypt_cell_url=lambda _cell, value: value, pool_size=2)
    try:
        why = explain(stores, tenant=world.tenant, target_id=target)
    finally:
        stores.dispose()
        world.arrange("UPDATE central.tenants SET cell = 'default'")
        world.arrange("DELETE FROM central.cells WHERE name = 'away'")
    assert (why.stopped_at, why.status) == ("outbox", None)
    assert "cell away can't be reached" in why.because
    assert "operator" in why.who
    assert ago(why) < 60


def test_another_agencys_target_is_unknown(world: World):
    """Row security holds here as well."""
    target = relayed(world)
    other = factories.make_tenant(world.stores)
    with pytest.raises(InputRefused, match="no such target"):
        explain(world.stores, tenant=other, target_id=target)
    with pytest.raises(InputRefused, match="no such target"):
        explain(world.stores, tenant=world.tenant, target_id=uuid4())
