"""After a message: the index row is set from the cell, whatever the claim said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from socialq.domain.hops import Message
from socialq.domain.ids import new_id
from socialq.domain.outcomes import Absent
from socialq.domain.states import NextKind
from socialq.store.index_store import DISPATCH_CHANNEL
from tests.integration.pipeline.test_relay import bump
from tests.integration.pipeline.world import LEASE_SECONDS, values

if TYPE_CHECKING:
    from tests.integration.pipeline.world import World


@pytest.fixture
def sent(world: World) -> Message:
    """A scheduled target whose message is out."""
    world.post()
    world.relay().scan()
    world.dispatcher().scan()
    [message] = world.queue.take()
    return message


def row_of(world: World, message: Message) -> dict[str, Any]:
    row = world.index_row(message.target_id)
    assert row is not None
    return row


def test_a_message_for_gone_work_makes_its_row_done(world: World, sent: Message):
    """Cancelled while the message was under way: the row is done, also before the relay comes."""
    world.arrange_target(sent.target_id, status="cancelled", next_kind=None, next_at=None, seq=2)
    assert world.publisher().publish(sent) == "claimable"
    assert values(row_of(world, sent), "status", "seq", "enqueued_at", "resend_at") == ("done", 2, None, None)


def test_an_old_message_makes_its_row_pending_at_the_new_time(world: World, sent: Message):
    """Rescheduled while the message was under way: the row waits for the new time."""
    later = datetime.now(UTC) + timedelta(hours=2)
    world.arrange_target(sent.target_id, next_at=later, publish_at=later, seq=2)
    assert world.publisher().publish(sent) == "claimable"
    row = row_of(world, sent)
    assert values(row, "status", "seq", "due_at", "ready_at") == ("pending", 2, later, later)


def test_a_second_message_for_work_in_flight_is_asked_again_at_the_leases_end(world: World, sent: Message):
    """A repeated message finds the target claimed: the row comes back a little after the lease's end."""
    claim = world.claim(sent.target_id, mark=True)
    assert world.publisher().publish(sent) == "claimable"
    row = row_of(world, sent)
    assert values(row, "status", "ready_at") == (
        "pending",
        claim.claimed.lease_until + timedelta(seconds=2),
    )
    assert row["ready_in_seconds"] == pytest.approx(LEASE_SECONDS, abs=5)
    # The holder's settle finishes the row all the same.
    world.index.finish(claim.accepted("r-1"))
    assert values(row_of(world, sent), "status", "seq") == ("done", 2)


def test_an_old_message_leaves_a_row_whose_newer_message_is_out(world: World, sent: Message):
    """The newer message will be answered: the older one's refusal must not make a third."""
    bump(world, sent.target_id)
    world.relay().scan()
    world.dispatcher().scan()
    [newer] = world.queue.take()
    assert newer.seq == 2
    assert world.publisher().publish(sent) == "claimable"
    assert values(row_of(world, sent), "status", "seq", "sends") == ("enqueued", 2, 1)
    assert world.publisher().publish(newer) == "published"


def test_a_busy_account_is_waited_for_and_freed_by_its_holders_settle(world: World, sent: Message):
    """Another target has the account: the row waits to the lease's end at most, and the settle frees it at once."""
    holder = world.post()
    claim = world.claim(holder, mark=True)
    assert world.publisher().publish(sent) == "account_busy"
    row = row_of(world, sent)
    assert values(row, "status", "waits_for_account", "ready_at") == (
        "pending",
        True,
        claim.claimed.lease_until + timedelta(seconds=1),
    )
    assert world.dispatcher().scan() == pytest.approx(LEASE_SECONDS, abs=5)
    world.index.finish(claim.accepted("r-1"))
    row = row_of(world, sent)
    assert values(row, "waits_for_account", "ready_at") == (False, row["due_at"])
    world.dispatcher().scan()
    [again] = world.queue.take()
    assert world.publisher().publish(again) == "published"


def test_a_finished_look_frees_whoever_waits_for_the_account(world: World, sent: Message):
    """The holder of unknown outcome has been looked for once: the others of the account go at once."""
    holder = world.post()
    world.lose_answer(holder)
    assert world.publisher().publish(sent) == "account_busy"
    assert row_of(world, sent)["waits_for_account"] is True
    world.time_passes(holder, 11.0)
    world.platform.looks.append(Absent(examined=0))
    world.look(holder)
    row = row_of(world, sent)
    assert values(row, "waits_for_account", "ready_at") == (False, row["due_at"])


def test_a_holder_that_settles_while_the_row_is_set_to_wait_leaves_nobody_waiting(
    world: World, sent: Message
):
    """The settle comes between the refused claim and the row's repair: the row doesn't wait out the lease."""
    holder = world.post()
    claim = world.claim(holder, mark=True)
    repair = world.index.repair

    def settles_first(**asked: Any) -> None:
        if asked.get("waits_for_account") and not world.publications(holder):
            world.index.finish(claim.accepted("r-1"))
        repair(**asked)

    world.index.repair = settles_first  # type: ignore[method-assign]
    assert world.publisher().publish(sent) == "account_busy"
    assert row_of(world, sent)["ready_in_seconds"] < 5


def test_freeing_an_account_respects_its_holds(world: World, sent: Message):
    """Freed by the settle, held by the platform: the row waits for the hold's end."""
    holder = world.post()
    claim = world.claim(holder, mark=True)
    world.publisher().publish(sent)
    until = datetime.now(UTC) + timedelta(minutes=9)
    world.index.hold(scope="account", key=str(world.account), until=until, reason="test")
    world.index.finish(claim.accepted("r-1"))
    assert row_of(world, sent)["ready_at"] == until


def test_a_settle_wakes_the_dispatcher_when_somebody_waits(world: World, sent: Message):
    """The next post of the account goes out at once, not at the next scan."""
    claim = world.claim(sent.target_id, mark=True)
    world.post()
    world.relay().scan()
    connection = world.stores.central.connect()
    try:
        connection.execute(f'LISTEN "{DISPATCH_CHANNEL}"')
        world.index.finish(claim.accepted("r-1"))
        assert len(list(connection.notifies(timeout=5, stop_after=1))) == 1
    finally:
        connection.close()


def test_finishing_an_older_settle_changes_nothing(world: World, sent: Message):
    """Compare-and-set on seq: a finish that comes late leaves the newer row."""
    settled = world.claim(sent.target_id, mark=True).accepted("r-1")
    world.arrange("UPDATE central.publish_dispatch_index SET seq = 9")
    world.index.finish(settled)
    assert values(row_of(world, sent), "seq", "status") == (9, "enqueued")


def test_a_message_for_a_target_that_is_not_there_does_nothing(world: World):
    """A message may outlive its target: nothing is sent, nobody stumbles."""
    message = Message(tenant_id=world.tenant, target_id=new_id(), seq=1, kind=NextKind.PUBLISH)
    assert world.publisher().publish(message) == "unknown_target"
    assert world.looker().look(message) == "unknown_target"
    assert world.platform.sent == []


def _guard(sql: str) -> Any:
    return lambda world: world.arrange(sql, tenant=world.tenant, account=world.account)


GUARDED: dict[str, tuple[Any, str, str]] = {
    "tenant stopped": (
        _guard(
            "UPDATE cell.tenant_state SET stopped_at = now(), stopped_by = '{person}' WHERE tenant_id = %(tenant)s"
        ),
        "tenant_active",
        "retry_scheduled",
    ),
    "tenant suspended": (
        _guard(
            "UPDATE cell.tenant_state SET status = 'suspended', suspended_at = now() WHERE tenant_id = %(tenant)s"
        ),
        "tenant_active",
        "retry_scheduled",
    ),
    "suspended beyond the grace": (
        _guard(
            "UPDATE cell.tenant_state SET status = 'suspended', suspended_at = now() - interval '25 h'"
            " WHERE tenant_id = %(tenant)s"
        ),
        "tenant_active",
        "failed",
    ),
    "limit used up": (
        _guard("UPDATE cell.tenant_state SET monthly_limit = 0 WHERE tenant_id = %(tenant)s"),
        "within_entitlement",
        "retry_scheduled",
    ),
    "not approved": (
        _guard("UPDATE cell.posts SET approved_version_id = NULL"),
        "version_approved",
        "retry_scheduled",
    ),
    "account needs reconnect": (
        _guard("UPDATE cell.accounts SET status = 'needs_reconnect' WHERE id = %(account)s"),
        "account_active",
        "needs_reconnect",
    ),
    "account disabled": (
        _guard("UPDATE cell.accounts SET status = 'disabled' WHERE id = %(account)s"),
        "account_active",
        "retry_scheduled",
    ),
    "scope missing": (
        _guard("UPDATE cell.accounts SET scopes = '{read}' WHERE id = %(account)s"),
        "capable",
        "failed",
    ),
    "held": (
        _guard("UPDATE cell.accounts SET hold_until = now() + interval '1 h' WHERE id = %(account)s"),
        "rate_allows",
        "retry_scheduled",
    ),
    "withdrawn": (_guard("UPDATE cell.post_targets SET cancel_requested = true"), "claimable", "cancelled"),
    "too late": (_guard("UPDATE cell.post_targets SET publish_by = now()"), "claimable", "failed"),
    "bucket empty": (lambda world: setattr(world.buckets, "wait", 30.0), "rate_allows", "retry_scheduled"),
}


@pytest.mark.parametrize("why", GUARDED)
def test_a_guard_that_refuses_moves_the_target_and_its_row(world: World, sent: Message, why: str):
    """Nothing is sent, nothing is spent, no attempt is made; the row follows the target."""
    arrange, guard, status = GUARDED[why]
    arrange(world)
    assert world.publisher().publish(sent) == guard
    target = world.row(sent.target_id)
    assert (target["status"], target["tries_spent"], target["seq"]) == (status, 0, 2)
    assert target["reason"]
    assert target["detail"]
    row = row_of(world, sent)
    assert values(row, "seq", "status") == (2, "pending" if target["next_kind"] else "done")
    if target["next_at"] is not None:
        assert row["due_at"] == target["next_at"]
        assert row["ready_in_seconds"] > 20
    assert world.attempts(sent.target_id) == []
    assert world.platform.sent == []
    # Relaying the move's event changes nothing more.
    before = row_of(world, sent)
    world.relay().scan()
    assert {**row_of(world, sent), "ready_in_seconds": 0} == {**before, "ready_in_seconds": 0}


def test_a_guard_that_loses_its_race_repairs_the_row(world: World, sent: Message):
    """The target changed between the guard's look and its move: the row is set from a fresh read in the end."""
    world.arrange("UPDATE cell.accounts SET status = 'disabled' WHERE id = %(id)s", id=world.account)
    move = world.targets.move

    def changed_first(target: Any, *asked: Any, **more: Any) -> Any:
        bump(world, sent.target_id)
        return move(target, *asked, **more)

    world.targets.move = changed_first  # type: ignore[method-assign]
    assert world.publisher().publish(sent) == "account_active"
    assert world.status(sent.target_id) == "scheduled"
    world.relay().scan()
    assert values(row_of(world, sent), "seq", "status") == (2, "pending")


def test_a_claim_that_is_refused_for_nothing_to_be_seen_is_not_repeated_at_once(world: World, sent: Message):
    """Another target's claim has the last place of the month: the row waits a moment before it asks again."""
    world.arrange("UPDATE cell.tenant_state SET monthly_limit = 1 WHERE tenant_id = %(t)s", t=world.tenant)
    world.claim(world.post(account=world.new_account()), mark=True, limited=True)
    world.publisher().publish(sent)
    assert world.row(sent.target_id)["status"] in {"scheduled", "retry_scheduled"}
    row = row_of(world, sent)
    assert row["status"] == "pending"
    assert row["ready_in_seconds"] > 0.5


def test_a_move_of_a_guard_is_recorded_with_the_guard_as_actor(world: World, sent: Message):
    """Who, from where, to where, why."""
    world.arrange("UPDATE cell.accounts SET status = 'disabled' WHERE id = %(id)s", id=world.account)
    world.publisher().publish(sent)
    last = world.rows("SELECT * FROM cell.target_history ORDER BY id DESC LIMIT 1")[0]
    assert values(last, "actor", "from_status", "to_status", "reason") == (
        "guard:account_active",
        "scheduled",
        "retry_scheduled",
        "account_disabled",
    )
