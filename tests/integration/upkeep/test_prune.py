"""Prune takes out what is over, and nothing that anybody may still need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg

from socialq.store.central import heartbeats
from socialq.upkeep.prune import Prune

if TYPE_CHECKING:
    from uuid import UUID

    import pytest

    from tests.integration.pipeline.world import World

DAYS = 7.0


def prune(world: World, **changes: Any) -> dict[str, int]:
    days = {"done_days": DAYS, "outbox_days": DAYS, "deliveries_days": DAYS}
    return Prune(**{"stores": world.stores, **days, **changes}).prune()


def age(world: World, *, days: float, target: UUID | None = None) -> None:
    """Let index rows and events (of one target, or all) have happened `days` earlier."""
    given = {"days": days, "target": target}
    world.arrange(
        "UPDATE central.publish_dispatch_index SET updated_at = updated_at - %(days)s * interval '1 day'"
        " WHERE %(target)s::uuid IS NULL OR target_id = %(target)s",
        **given,
    )
    world.arrange(
        "UPDATE cell.outbox_events SET created_at = created_at - %(days)s * interval '1 day',"
        " relayed_at = relayed_at - %(days)s * interval '1 day',"
        " parked_at = parked_at - %(days)s * interval '1 day'"
        " WHERE %(target)s::uuid IS NULL OR target_id = %(target)s",
        **given,
    )


def events(world: World) -> list[UUID]:
    return [row["target_id"] for row in world.rows("SELECT target_id FROM cell.outbox_events ORDER BY id")]


def test_done_rows_and_relayed_events_go_after_their_days(world: World):
    """A published target's index row and event are there until they are old enough, and gone then."""
    target = world.post()
    world.work_off()
    assert world.status(target) == "published"
    age(world, days=DAYS - 0.1)
    assert prune(world) == {
        "index_rows": 0,
        "outbox_events": 0,
        "deliveries": 0,
        "heartbeats": 0,
        "consents": 0,
        "troubles": 0,
    }
    age(world, days=0.2)
    assert prune(world) == {
        "index_rows": 1,
        "outbox_events": 1,
        "deliveries": 0,
        "heartbeats": 0,
        "consents": 0,
        "troubles": 0,
    }
    assert world.index_row(target) is None
    assert events(world) == []
    assert world.status(target) == "published"


def test_work_to_come_stays_whatever_its_age(world: World):
    """Pending and enqueued rows, unrelayed and parked events: however old, they are still needed."""
    pending = world.post(publish_at=world.rows("SELECT now() + interval '1 day' AS at")[0]["at"])
    world.relay().scan()
    enqueued = world.post(account=world.new_account())
    world.relay().scan()
    world.dispatcher().scan()
    unrelayed = world.post(account=world.new_account())
    parked = world.post(account=world.new_account())
    world.machine.park(parked, failure="made for the test")
    age(world, days=DAYS * 10)
    assert prune(world)["index_rows"] == 0
    assert world.index_row(pending)["status"] == "pending"
    assert world.index_row(enqueued)["status"] == "enqueued"
    assert events(world) == [unrelayed, parked]
    assert len(world.machine.unpark()) == 1


def test_the_database_itself_keeps_unrelayed_events_from_being_pruned(world: World):
    """Even a delete of everything by the machine role leaves what nobody has relayed."""
    waiting = world.post()
    relayed = world.post(account=world.new_account())
    with world.stores.cell("default").machine.transaction() as session:
        session.run(
            "UPDATE cell.outbox_events SET relayed_at = now() WHERE target_id = %(id)s", {"id": relayed}
        )
        assert session.run("DELETE FROM cell.outbox_events") == 1
    assert events(world) == [waiting]


def test_parked_events_at_the_head_do_not_stop_the_walk(world: World):
    """A page that holds nothing to prune but is old is passed by."""
    for _ in range(3):
        world.machine.park(world.post(account=world.new_account()), failure="made for the test")
    last = world.post(account=world.new_account())
    world.relay().scan()
    age(world, days=DAYS + 1)
    assert prune(world, batch=1)["outbox_events"] == 1
    assert last not in events(world)
    assert len(events(world)) == 3


def test_the_walk_ends_at_the_first_page_that_is_young(world: World):
    """What came later is younger, so pruning a large outbox with nothing old in it reads one page."""
    for _ in range(4):
        world.post(account=world.new_account())
    world.relay().scan()
    newest = events(world)[-1]
    age(world, days=DAYS + 1, target=newest)
    assert prune(world, batch=2)["outbox_events"] == 0
    assert len(events(world)) == 4


def test_both_lanes_of_a_target_go_together(world: World):
    """A lane that is done stays as long as the other one of its target is not."""
    target = world.post()
    world.work_off()
    with world.owner() as connection:
        connection.execute(
            "INSERT INTO central.publish_dispatch_index (target_id, lane, tenant_id, cell, account_id, platform, seq,"
            " kind, due_at, ready_at, status) SELECT target_id, 'prepare', tenant_id, cell, account_id, platform,"
            " seq, kind, now() + interval '1 day', now() + interval '1 day', 'pending'"
            " FROM central.publish_dispatch_index WHERE target_id = %s",
            [target],
        )
    age(world, days=DAYS + 1)
    assert prune(world)["index_rows"] == 0
    world.arrange("UPDATE central.publish_dispatch_index SET status = 'done' WHERE lane = 'prepare'")
    assert prune(world)["index_rows"] == 2


def test_a_pruned_target_that_moves_again_comes_back_as_the_cell_has_it(world: World):
    """Its event brings the row back; before that neither audit nor rebuild brings back what is over."""
    failed, over = world.post(), world.post(account=world.new_account())
    world.work_off()
    age(world, days=DAYS + 1)
    assert prune(world)["index_rows"] == 2
    assert world.sweep().audit() == 0
    world.relay().rebuild()
    assert world.index_row(failed) is None
    assert world.index_row(over) is None
    world.arrange_target(
        failed,
        status="scheduled",
        next_kind="publish",
        next_at="now",
        published_at=None,
        seq=world.row(failed)["seq"] + 1,
    )
    assert world.sweep().audit() == 0, "not overdue yet"
    assert world.relay().rebuild() == 1
    assert world.index_row(failed)["status"] == "pending"
    assert world.index_row(over) is None


def test_a_late_event_of_a_pruned_target_does_not_wake_it(world: World):
    """Relayed again after its row has gone, a target without work comes back as done, not as due."""
    target = world.post()
    world.work_off()
    age(world, days=DAYS + 1)
    prune(world)
    with world.stores.cell("default").app.transaction(tenant=world.tenant) as session:
        session.run(
            "INSERT INTO cell.outbox_events (tenant_id, target_id, seq, kind) VALUES (%(t)s, %(id)s, 1, 'again')",
            {"t": world.tenant, "id": target},
        )
    assert world.work_off() == []
    assert world.index_row(target)["status"] == "done"
    assert len(world.platform.sent) == 1


def test_many_rows_go_in_batches_and_a_run_ends_in_time(world: World):
    """Each batch is its own transaction; a run that is out of time leaves the rest to the next."""
    for _ in range(5):
        world.post(account=world.new_account())
    world.work_off()
    age(world, days=DAYS + 1)
    assert prune(world, batch=2, run_seconds=0.0)["index_rows"] == 0
    assert prune(world, batch=2) == {
        "index_rows": 5,
        "outbox_events": 5,
        "deliveries": 0,
        "heartbeats": 0,
        "consents": 0,
        "troubles": 0,
    }


def test_heartbeats_of_workers_that_are_gone_go_and_those_of_windows_stay(world: World):
    """A window's age is what alarms, so it is never forgotten; a worker's process just has another name next time."""
    central = world.stores.central
    for name in ("canary:publishing:gone:1", "canary:publishing:here:2", "relay:default", "dispatch"):
        central.pipelined(heartbeats.beat(name))
    world.arrange(
        "UPDATE central.heartbeats SET beat_at = beat_at - interval '2 hours' WHERE name <> 'canary:publishing:here:2'"
    )
    assert prune(world)["heartbeats"] == 1
    with central.transaction() as session:
        names = [row["name"] for row in heartbeats.read_all(session)]
    assert names == ["canary:publishing:here:2", "dispatch", "relay:default"]


def test_a_cell_that_is_down_keeps_no_other_from_being_pruned(
    world: World, logs: Any, monkeypatch: pytest.MonkeyPatch
):
    """It is logged and left to a later run."""
    world.post()
    world.work_off()
    age(world, days=DAYS + 1)
    real = world.stores.cell

    def cell(name: str) -> Any:
        if name == "away":
            raise psycopg.OperationalError("no route")
        return real(name)

    monkeypatch.setattr(world.stores, "cell_names", lambda: ["away", "default"])
    monkeypatch.setattr(world.stores, "cell", cell)
    assert prune(world)["outbox_events"] == 1
    assert [entry["cell"] for entry in logs.entries if entry["event"] == "prune_missed"] == ["away"]


def test_pruning_finds_its_rows_by_index(world: World):
    """The rows that are done long ago are read from an index, not searched for among those to come."""
    with world.owner() as connection:
        connection.execute("SET enable_seqscan = off")
        plan = "\n".join(
            row["QUERY PLAN"]
            for row in connection.execute(
                "EXPLAIN SELECT 1 FROM central.publish_dispatch_index"
                " WHERE status = 'done' AND updated_at < now() - interval '7 days' ORDER BY updated_at LIMIT 10"
            ).fetchall()
        )
    assert "dispatch_index_done" in plan


def told(world: World, event: str, *, days_ago: float, state: str = "delivered") -> None:
    """A delivery that ended some days ago, or waits since then."""
    target = world.post(account=world.new_account())
    world.arrange(
        "WITH w AS (INSERT INTO cell.webhooks (tenant_id, id, url, secret, host, created_by)"
        "  SELECT %(tenant)s, gen_random_uuid(), 'u', 's', 'h', 't'"
        "  WHERE NOT EXISTS (SELECT FROM cell.webhooks) RETURNING id)"
        " INSERT INTO cell.webhook_deliveries (tenant_id, webhook_id, event, event_key, history_id, target_id, post_id,"
        "  happened_at, state, finished_at, next_try_at)"
        " SELECT t.tenant_id, u.id, %(event)s, %(event)s || t.id, 1, t.id, t.post_id, at.at, %(state)s,"
        "        CASE WHEN %(state)s <> 'waiting' THEN at.at END, at.at"
        " FROM cell.post_targets t, (SELECT now() - %(days)s * interval '1 day' AS at) at,"
        "      (SELECT id FROM w UNION ALL SELECT id FROM cell.webhooks) u"
        " WHERE t.id = %(target)s",
        tenant=world.tenant,
        target=target,
        event=event,
        state=state,
        days=days_ago,
    )


def test_deliveries_that_ended_go_after_their_days(world: World):
    """Not what still waits, however old; nor that a whole post was told of, which happens once for all time."""
    for event, days_ago, state in (
        ("post_target.published", DAYS + 1, "delivered"),
        ("post_target.failed", DAYS + 1, "given_up"),
        ("post_target.failed", DAYS - 1, "delivered"),
        ("post_target.published", DAYS + 1, "waiting"),
        ("post.published", DAYS + 1, "delivered"),
    ):
        told(world, event, days_ago=days_ago, state=state)
    assert prune(world, batch=1)["deliveries"] == 2
    left = world.arrange("SELECT event, state FROM cell.webhook_deliveries ORDER BY event, state")
    assert [(row["event"], row["state"]) for row in left] == [
        ("post.published", "delivered"),
        ("post_target.failed", "delivered"),
        ("post_target.published", "waiting"),
    ]


def test_the_database_itself_keeps_deliveries_that_wait_from_being_pruned(world: World):
    """Even a delete of everything by the machine role leaves them."""
    told(world, "post_target.published", days_ago=1, state="waiting")
    told(world, "post_target.published", days_ago=1)
    with world.stores.cell("default").machine.transaction() as session:
        assert session.run("DELETE FROM cell.webhook_deliveries") == 1
