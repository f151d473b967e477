"""What was stuck or missed elsewhere: nobody works at the slot, what is due is not picked, what waits fills memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families
from psycopg.rows import dict_row

from socialq.desk import resolve, schedule
from socialq.domain.errors import InputRefused
from socialq.domain.local_time import resolve as read_time
from socialq.domain.outcomes import Evidence, Rejected
from socialq.store import views
from socialq.store.central import heartbeats, holds
from socialq.web import create_app
from tests.integration.lanes.world import ACTOR, Lanes
from tests.integration.pipeline.conftest import pipeline_stores, world
from tests.integration.pipeline.doubles import lost, refused
from tests.passing_time import let_pass

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.local import LocalServers
    from socialq.wiring import Wiring
    from tests.fixtures_sandbox import RunningSandbox
    from tests.integration.pipeline.world import World

__all__ = ["pipeline_stores", "world"]

MINUTE, HOUR, WEEK = 60.0, 3600.0, 7 * 86_400.0


def late(lanes: Lanes) -> list[str]:
    """What the watch says of slots that passed."""
    return [one.message for one in lanes.wiring.watch.look().findings if one.key.startswith("late:")]


def test_a_slot_that_nobody_worked_at_is_told_and_caught_up_with_until_its_last_moment(
    lanes: Lanes, owner: psycopg.Connection[dict[str, Any]]
):
    """Every worker is away from before the slot on: minutes later an alarm names the post; whoever comes back within
    its time sends it once, and after that it has failed as expired, unsent and with its reason.

    (gitroomhq/postiz-app#1259)
    """
    caught_up, too_late = lanes.account(), lanes.account()
    target = lanes.post(caught_up, "Caught up", seconds=5 * MINUTE)
    expired = lanes.post(too_late, "Too late", seconds=5 * MINUTE, publish_by_hours=1)
    assert late(lanes) == []
    let_pass(15 * MINUTE, owner=owner)
    assert sorted(str(one) in message for message in late(lanes) for one in (target, expired)) == [
        False,
        False,
        True,
        True,
    ]
    let_pass(HOUR, owner=owner)
    lanes.wiring.cell_sweep("default").sweep()
    assert lanes.work_off() == ["published"]
    assert late(lanes) == []
    assert lanes.row(target)["status"] == "published"
    row = lanes.row(expired)
    assert (row["status"], row["reason"]) == ("failed", "expired")
    assert (lanes.live(caught_up), lanes.live(too_late)) == (["Caught up"], [])


def answer_for(rng: Random) -> Any:
    """What a request comes to: lost, refused, rejected; None: accepted."""
    return rng.choice([None, None, lost(), refused(), Rejected(evidence=Evidence(code="test.no"))])


def act(world: World, rng: Random, target: UUID) -> None:
    """A person withdraws a target, moves it to the past or the future, or takes its time away."""
    stores, now = world.stores, datetime.now(UTC)
    named = {"tenant": world.tenant, "actor": ACTOR}
    when = now + timedelta(seconds=rng.choice([-5.0, 5.0]) * MINUTE)
    resolved = read_time(when.isoformat(), zone=None, default_zone="UTC", now=now)
    acts: list[Callable[[], Any]] = [
        lambda: resolve.cancel(stores, target_id=target, reason="no", **named),
        lambda: resolve.retry(stores, target_id=target, now=now, **named),
        lambda: schedule.unschedule(stores, target_ids=[target], **named),
        lambda: schedule.reschedule(stores, target_ids=[target], resolved=resolved, now=now, **named),
    ]
    try:
        rng.choice(acts)()
    except InputRefused:
        return


def is_due(row: dict[str, Any], held: set[UUID]) -> bool:
    """What the cell's row says, and a person would."""
    planned = row["status"] in {"scheduled", "retry_scheduled", "unknown_outcome", "published"}
    return (
        planned
        and row["next_at"] is not None
        and row["next_at"] <= datetime.now(UTC)
        and row["account_id"] not in held
    )


@pytest.mark.parametrize("seed", range(4))
def test_what_is_due_is_what_is_dispatched_whatever_happened_before(world: World, seed: int):
    """Published, lost, refused, rejected, moved, withdrawn, held, retried: exactly what is due in the cell has a
    message out, and no filter in between leaves one behind or adds one.

    (fossasia/eventyay-socialmedia#53)
    """
    rng, now = Random(seed), datetime.now(UTC)
    targets = [
        world.post(account=world.new_account(), publish_at=now + timedelta(seconds=rng.uniform(-HOUR, HOUR)))
        for _ in range(24)
    ]
    held = {world.row(target)["account_id"] for target in rng.sample(targets, 5)}
    for account in held:
        holds.set_hold(
            world.stores.central,
            scope="account",
            key=str(account),
            until=now + timedelta(hours=1),
            reason="t",
            set_by="t",
        )
    for _ in range(3):
        world.relay().scan()
        world.dispatcher().scan()
        for message in world.queue.take():
            # Some messages are lost on the way: their rows are out all the same, until they are sent again.
            if rng.random() < 0.8:
                answer = answer_for(rng)
                if answer is not None:
                    world.platform.answers.append(answer)
                world.handle(message)
                world.platform.answers.clear()
        for target in rng.sample(targets, 8):
            act(world, rng, target)
        for target in rng.sample(targets, 8):
            world.time_passes(target, rng.choice([MINUTE, 10 * MINUTE]))
    targets += [world.post(account=world.new_account()) for _ in range(3)]
    while world.relay().scan():
        pass
    world.dispatcher().scan()
    due = {target for target in targets if is_due(world.row(target), held)}
    rows = {target: world.index_row(target) for target in targets}
    out = {target for target, row in rows.items() if row and row["status"] == "enqueued"}
    assert out == due, {
        str(one): (world.row(one)["status"], rows[one]["status"] if rows[one] else None) for one in out ^ due
    }
    assert len({world.status(target) for target in targets}) > 3
    assert 3 <= len(due) < len(targets)


_FUTURE_ROWS = """
INSERT INTO central.publish_dispatch_index
    (target_id, tenant_id, cell, account_id, platform, seq, kind, due_at, ready_at, status)
SELECT id, lpad(to_hex(n %% 500), 32, '0')::uuid, 'default', id, 'mastodon', 1, 'publish', at, at, 'pending'
FROM (SELECT n, lpad(to_hex(n), 32, '0')::uuid AS id, now() + interval '7 days' + n * interval '1 s' AS at
      FROM generate_series(1, %(count)s) n) s
"""


def test_a_hundred_thousand_posts_of_next_week_are_rows_and_no_messages(
    database_url: str, make_wiring: Callable[..., Wiring], sandbox: RunningSandbox
):
    """Nothing of them is in a queue or a worker's memory, no row is touched, and what is due now leaves at once.

    (celery/celery#9849)
    """
    count = 100_000
    lanes = Lanes(make_wiring(database_url), sandbox)
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as owner:
        owner.execute(_FUTURE_ROWS, {"count": count})
        owner.execute("ANALYZE central.publish_dispatch_index")
        dispatcher = lanes.wiring.dispatcher(lanes.queues["main"])
        wait_seconds = dispatcher.scan()
        assert wait_seconds == pytest.approx(WEEK, abs=HOUR)
        assert lanes.queues["main"].length() == 0
        account = lanes.account()
        lanes.post(account, "Due now")
        assert lanes.work_off() == ["published"]
        assert lanes.live(account) == ["Due now"]
        lanes.wiring.queue_sweep(lanes.queues["main"]).sweep()
        assert lanes.queues["main"].length() == 0
        [row] = owner.execute(
            "SELECT count(*) AS n FROM central.publish_dispatch_index WHERE status = 'pending' AND sends = 0"
        ).fetchall()
        assert row["n"] == count


def numbers(wiring: Wiring) -> dict[str, Any]:
    """What the panel and the metrics say of targets and the index, and the lines that commands show."""
    browser = create_app(wiring).test_client()
    families = text_string_to_metric_families(browser.get("/metrics").text)
    wanted = ("socialq_targets", "socialq_index_rows", "socialq_due", "socialq_enqueued", "socialq_recent")
    with wiring.stores.central.transaction() as session:
        [tenant] = views.list_tenants(session)
    with wiring.stores.cell_of(tenant.id).app.transaction(tenant=tenant.id) as session:
        lines = views.list_targets(session, limit=100)
    return {
        "panel": browser.get("/").text,
        "lines": lines,
        **{
            f"{one.name}{sorted(one.labels.items())}": one.value
            for family in families
            for one in family.samples
            if one.name.startswith(wanted)
        },
    }


def test_every_number_is_the_same_after_workers_queue_and_events_are_gone(
    make_wiring: Callable[..., Wiring], empty_database: str, sandbox: RunningSandbox, valkey: LocalServers
):
    """Panel, metrics and commands read the database: Redis is flushed, no worker has a heartbeat, and a web that has
    just started says what the old one said.

    (mher/flower#613)
    """
    lanes = Lanes(make_wiring(empty_database, redis_url=valkey.redis_url), sandbox)
    done, failing = lanes.account(), lanes.account()
    for number in range(3):
        lanes.post(done, f"Done {number}")
    lanes.post(failing, "Refused")
    rule = {"platform": "x", "account": failing.name, "step": "publish", "kind": "validation"}
    sandbox.faults([rule])
    assert sorted(lanes.work_off()) == ["failed", *["published"] * 3]
    lanes.post(done, "Next week", seconds=WEEK)
    lanes.relay()
    lanes.wiring.stores.central.pipelined(heartbeats.beat("canary:publishing:here:1"))
    before = numbers(lanes.wiring)
    assert len(before["lines"]) == 5
    assert before["socialq_targets[('cell', 'default'), ('status', 'published')]"] == 3

    with redis.Redis.from_url(valkey.redis_url) as client:
        client.flushall()
    lanes.central("DELETE FROM central.heartbeats")
    assert numbers(make_wiring(empty_database, redis_url=valkey.redis_url)) == before
