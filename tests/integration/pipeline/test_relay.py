"""The relay: what the cell says stands in the index, however often and in whatever order it is told."""

from __future__ import annotations

import contextlib
import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from socialq.domain.hops import RowsRefusedError
from socialq.domain.ids import new_token
from socialq.store.index_store import DISPATCH_CHANNEL
from tests import factories
from tests.integration.pipeline.racing import race
from tests.integration.pipeline.world import values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from tests.integration.pipeline.world import World

MIRRORED = ("seq", "kind", "status", "due_at", "publish_by", "account_id", "tenant_id", "cell", "platform")


def mirror(world: World, target: UUID) -> tuple[Any, ...]:
    row = world.index_row(target)
    assert row is not None
    return values(row, *MIRRORED)


def unrelayed(world: World) -> int:
    return world.arrange(
        "SELECT count(*) AS n FROM cell.outbox_events WHERE relayed_at IS NULL AND parked_at IS NULL"
    )[0]["n"]


def emit(world: World, target: UUID, *, seq: int) -> None:
    world.arrange(
        "INSERT INTO cell.outbox_events (tenant_id, target_id, seq, kind)"
        " VALUES (%(tenant)s, %(target)s, %(seq)s, 'test')",
        tenant=world.tenant,
        target=target,
        seq=seq,
    )


def bump(world: World, target: UUID, **columns: Any) -> None:
    """A change of the target with its event, as the desk makes it."""
    seq = world.row(target)["seq"] + 1
    world.arrange_target(target, seq=seq, **columns)
    emit(world, target, seq=seq)


def test_next_work_stands_in_the_index(world: World):
    """A scheduled target's row mirrors its account, platform, time and seq."""
    due = datetime.now(UTC) + timedelta(hours=1)
    target = world.post(publish_at=due)
    assert world.relay().scan() is False
    row = world.row(target)
    assert mirror(world, target) == (
        1,
        "publish",
        "pending",
        due,
        row["publish_by"],
        world.account,
        world.tenant,
        "default",
        "mastodon",
    )
    assert unrelayed(world) == 0


def test_relaying_twice_changes_nothing(world: World):
    """The same events again leave the same rows, also where a message is out."""
    target = world.post()
    world.relay().scan()
    world.dispatcher().scan()
    before = world.index_row(target)
    world.arrange("UPDATE cell.outbox_events SET relayed_at = NULL")
    world.relay().scan()
    after = world.index_row(target)
    assert after["status"] == "enqueued"
    assert {**after, "ready_in_seconds": 0} == {**before, "ready_in_seconds": 0}


def test_rows_are_read_as_they_stand_not_as_an_event_remembers(world: World):
    """Two events of one target in a batch, in any order, leave its newest state."""
    target = world.post()
    later = datetime.now(UTC) + timedelta(hours=2)
    bump(world, target, next_at=later)
    world.arrange("UPDATE cell.outbox_events SET id = DEFAULT WHERE seq = 1")
    ordered = world.arrange("SELECT seq FROM cell.outbox_events ORDER BY id")
    assert [row["seq"] for row in ordered] == [2, 1]
    assert world.relay().scan() is False
    assert values(world.index_row(target), "seq", "due_at") == (2, later)
    assert unrelayed(world) == 0


def test_an_older_row_never_replaces_a_newer_one(world: World):
    """A slow relay that read the old row writes after the fast one: the newer seq stays."""
    target = world.post()
    old = world.machine.rows_of([target])
    bump(world, target, next_at=datetime.now(UTC) + timedelta(hours=2))
    world.relay().scan()
    newest = mirror(world, target)
    assert world.central.upsert("default", old) == 0
    assert mirror(world, target) == newest


def test_two_relays_at_once_leave_what_one_leaves(world: World):
    """Any number may run: no error, no lost event, every row as it stands in the cell."""
    targets = [world.post(account=world.new_account()) for _ in range(12)]
    for target in targets[::2]:
        bump(world, target, next_at=datetime.now(UTC) + timedelta(hours=2))
    results = race(*[world.relay(batch=5).scan] * 4)
    assert not [result for result in results if isinstance(result, Exception)]
    while world.relay(batch=5).scan():
        pass
    for target in targets:
        row = world.row(target)
        assert mirror(world, target)[:4] == (row["seq"], row["next_kind"], "pending", row["next_at"])
    assert unrelayed(world) == 0


def test_a_crash_between_the_index_and_the_outbox_is_made_good(world: World):
    """The rows were written, the events were not marked: the next relay does both, with the same result."""
    target = world.post()

    class Crashing:
        name = "default"
        unrelayed = world.machine.unrelayed
        rows_of = world.machine.rows_of

        def mark_relayed(self, event_ids: object) -> None:
            raise ConnectionError

    with pytest.raises(ConnectionError):
        world.relay(outbox=Crashing()).scan()
    assert unrelayed(world) == 1
    before = mirror(world, target)
    world.relay().scan()
    assert mirror(world, target) == before
    assert unrelayed(world) == 0


def test_a_target_that_is_publishing_is_left_alone(world: World):
    """Its settle says what comes next: an event that is relayed meanwhile doesn't touch its row."""
    target = world.post()
    world.relay().scan()
    world.dispatcher().scan()
    claim = world.claim(target, mark=True)
    bump(world, target)
    before = world.index_row(target)
    world.relay().scan()
    assert unrelayed(world) == 0
    assert {**world.index_row(target), "ready_in_seconds": 0} == {**before, "ready_in_seconds": 0}
    settled = claim.accepted("r-1")
    world.index.finish(settled)
    assert world.index_row(target)["status"] == "done"


def test_a_target_without_next_work_is_done(world: World):
    """Cancelled, failed, published: the row is done and never dispatched."""
    target = world.post()
    world.relay().scan()
    bump(world, target, status="cancelled", next_kind=None, next_at=None)
    world.relay().scan()
    assert values(world.index_row(target), "status", "seq") == ("done", 2)
    world.dispatcher().scan()
    assert world.queue.take() == []


def test_a_batch_that_was_full_says_that_there_may_be_more(world: World):
    """The window goes on at once while events are waiting."""
    for _ in range(3):
        world.post(account=world.new_account())
    assert world.relay(batch=2).scan() is True
    assert world.relay(batch=2).scan() is False
    assert world.relay(batch=2).scan() is False


def test_relaying_wakes_the_dispatcher(world: World):
    """After the rows are written the dispatcher is told to look again."""
    world.post()
    connection = world.stores.central.connect()
    try:
        connection.execute(f'LISTEN "{DISPATCH_CHANNEL}"')
        world.relay().scan()
        assert len(list(connection.notifies(timeout=5, stop_after=1))) == 1
    finally:
        connection.close()


@pytest.fixture
def picky_index(world: World) -> Iterator[None]:
    """An index that refuses targets whose publish-by time lies in the year 2099."""
    world.arrange(
        "ALTER TABLE central.publish_dispatch_index ADD CONSTRAINT picky"
        " CHECK (publish_by IS NULL OR publish_by < '2099-01-01')"
    )
    yield
    world.arrange("ALTER TABLE central.publish_dispatch_index DROP CONSTRAINT picky")


@pytest.mark.usefixtures("picky_index")
def test_an_event_that_cannot_be_relayed_is_parked_and_blocks_no_other(world: World):
    """Two of nine targets can't be mirrored: they are parked with an alarm each, the seven others pass."""
    targets = [world.post(account=world.new_account()) for _ in range(9)]
    poison = {targets[2], targets[7]}
    for target in poison:
        world.arrange_target(target, publish_by=datetime(2099, 6, 1, tzinfo=UTC))
    world.relay().scan()
    assert {target for target in targets if world.index_row(target) is None} == poison
    assert unrelayed(world) == 0
    parked = world.arrange("SELECT target_id, failure FROM cell.outbox_events WHERE parked_at IS NOT NULL")
    assert {row["target_id"] for row in parked} == poison
    assert all("picky" in row["failure"] for row in parked)
    assert len(world.alarms()) == 2
    # Put right and let go again.
    for target in poison:
        world.arrange_target(target, publish_by=datetime(2031, 6, 1, tzinfo=UTC))
    assert set(world.machine.unpark()) == poison
    world.relay().scan()
    assert all(world.index_row(target) is not None for target in targets)


@pytest.mark.usefixtures("picky_index")
def test_a_refused_batch_writes_nothing_of_it(world: World):
    """An upsert is all or nothing, so that halving it is safe."""
    good, bad = world.post(), world.post()
    world.arrange_target(bad, publish_by=datetime(2099, 6, 1, tzinfo=UTC))
    with pytest.raises(RowsRefusedError):
        world.central.upsert("default", world.machine.rows_of([good, bad]))
    assert world.index_row(good) is None


@pytest.mark.parametrize("publish_by", ["infinity", "20000-01-01"])
def test_a_row_that_cannot_even_be_read_blocks_no_other(world: World, publish_by: str):
    """A time that no program can read is refused by the database, or parked: the others pass."""
    broken, fine = world.post(), world.post(account=world.new_account())
    # The database may refuse it in the first place.
    with contextlib.suppress(psycopg.errors.CheckViolation):
        world.arrange(
            "UPDATE cell.post_targets SET publish_by = %(by)s WHERE id = %(id)s", by=publish_by, id=broken
        )
    world.relay().scan()
    assert world.index_row(fine) is not None


MOVED_TO = [
    "scheduled",
    "retry_scheduled",
    "unknown_outcome",
    "published",
    "failed",
    "cancelled",
    "draft",
    "publishing",
]


def _random_moves(world: World, chance: random.Random, targets: list[UUID]) -> None:
    for target in targets:
        status = chance.choice(MOVED_TO)
        at = datetime.now(UTC) + timedelta(seconds=chance.uniform(-3600, 3600))
        columns: dict[str, Any] = {
            "next_kind": None,
            "next_at": None,
            "lease_token": None,
            "lease_until": None,
            "holds_account": False,
            "published_at": None,
            "lost_at": None,
        }
        match status:
            case "scheduled" | "retry_scheduled":
                columns |= {"next_kind": "publish", "next_at": at}
            case "unknown_outcome":
                columns |= {"next_kind": "look", "next_at": at, "lost_at": at}
            case "published":
                columns |= {"published_at": at}
                if chance.random() < 0.5:
                    columns |= {"next_kind": "look", "next_at": at}
            case "publishing":
                lease = {"lease_token": new_token(), "lease_until": at, "holds_account": True}
                columns |= {"next_kind": "publish", "next_at": at, **lease}
            case _:
                pass
        bump(world, target, status=status, **columns)


@pytest.mark.parametrize("seed", range(3))
def test_a_rebuilt_index_is_the_one_that_was_built_step_by_step(world: World, seed: int):
    """After random changes relayed in random batches, forgetting and rebuilding gives the same next work."""
    chance = random.Random(seed)
    targets = [world.post(account=world.new_account()) for _ in range(8)]
    for _ in range(4):
        _random_moves(world, chance, chance.sample(targets, 4))
        if chance.random() < 0.7:
            while world.relay(batch=chance.randint(1, 5)).scan():
                pass
    # What was in flight settles before the comparison, as it would.
    for target in targets:
        if world.status(target) == "publishing":
            bump(
                world,
                target,
                status="failed",
                next_kind=None,
                next_at=None,
                lease_token=None,
                lease_until=None,
                holds_account=False,
            )
    while world.relay().scan():
        pass
    step_by_step = {target: mirror(world, target) for target in targets}
    live = {target: row for target, row in step_by_step.items() if row[2] != "done"}
    due_in_cell = {
        row["id"]: (row["seq"], row["next_kind"], row["next_at"])
        for row in world.rows(
            "SELECT id, seq, next_kind, next_at FROM cell.post_targets WHERE next_kind IS NOT NULL"
        )
    }
    assert {target: (row[0], row[1], row[3]) for target, row in live.items()} == due_in_cell
    world.central.forget_cell("default")
    world.relay(batch=3).rebuild()
    rebuilt = {target: world.index_row(target) for target in targets}
    assert {
        target: values(row, *MIRRORED) for target, row in rebuilt.items() if row and row["status"] != "done"
    } == live


def test_a_rebuild_leaves_messages_that_are_out(world: World):
    """A row whose message is under way stays: it will be answered."""
    target = world.post()
    world.relay().scan()
    world.dispatcher().scan()
    world.relay().rebuild()
    assert values(world.index_row(target), "status", "sends") == ("enqueued", 1)


def test_every_tenants_events_are_relayed(world: World):
    """The machine sees the outbox of all tenants of its cell."""
    other = factories.make_tenant(world.stores)
    account = world.new_account(other)
    client = world.arrange("SELECT client_id FROM cell.accounts WHERE id = %(id)s", id=account)[0][
        "client_id"
    ]
    theirs = factories.make_post(world.stores, other, client, [account]).target_id
    ours = world.post()
    world.relay().scan()
    assert [world.index_row(target)["tenant_id"] for target in (theirs, ours)] == [other, world.tenant]
