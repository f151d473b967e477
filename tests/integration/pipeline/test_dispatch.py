"""The dispatcher: what is due becomes a message once, in time, within bounds; held rows wait for free."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from socialq.domain.hops import QueueUnreachableError
from socialq.domain.ids import new_id
from socialq.pipeline.backing_off import BackOff
from socialq.store.central import dispatch_pick
from tests.integration.pipeline.racing import race
from tests.integration.pipeline.world import values

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.pipeline.world import World

INSERT = """
INSERT INTO central.publish_dispatch_index
    (target_id, tenant_id, cell, account_id, platform, seq, kind, due_at, ready_at, status, enqueued_at, resend_at)
SELECT %(target)s, %(tenant)s, 'default', %(account)s, %(platform)s, 1, 'publish', due, due, %(status)s,
       CASE WHEN %(status)s = 'enqueued' THEN now() END,
       CASE WHEN %(status)s = 'enqueued' THEN now() + interval '1 h' END
FROM (SELECT clock_timestamp() + %(in_seconds)s * interval '1 second' AS due) d
"""


def index_row(world: World, *, in_seconds: float = -1.0, **columns: Any) -> UUID:
    """A row of the index; its target need not exist for the dispatcher."""
    target = new_id()
    known = {
        "target": target,
        "tenant": world.tenant,
        "account": new_id(),
        "platform": "mastodon",
        "status": "pending",
        "in_seconds": in_seconds,
    }
    world.arrange(INSERT, **{**known, **columns})
    return target


@dataclass
class Clock:
    """A clock that a test sets."""

    now_is: float = 100.0

    def monotonic(self) -> float:
        return self.now_is


def taken(world: World) -> list[UUID]:
    return [message.target_id for message in world.queue.take()]


def test_what_is_due_is_enqueued_and_sent(world: World):
    """A due target's message has its tenant, target, seq and kind; its row is enqueued and counted."""
    target = world.post()
    world.relay().scan()
    world.dispatcher().scan()
    [message] = world.queue.take()
    assert message == world.message(target)
    row = world.index_row(target)
    assert values(row, "status", "sends") == ("enqueued", 1)
    assert row["enqueued_at"] is not None
    assert 14 < (row["resend_at"] - row["enqueued_at"]).total_seconds() <= 15


def test_nothing_of_the_future_is_sent(world: World):
    """A row a second ahead stays where it is."""
    target = index_row(world, in_seconds=1.0)
    world.dispatcher().scan()
    assert taken(world) == []
    assert world.index_row(target)["status"] == "pending"


def test_the_oldest_due_go_first(world: World):
    """Where a batch is too small for all, those that wait longest go first."""
    targets = [index_row(world, in_seconds=-10.0 + number) for number in (3, 1, 2, 0)]
    world.dispatcher(batch=2).scan()
    assert taken(world) == [targets[3], targets[1]]


def test_a_full_batch_is_followed_at_once(world: World):
    """0 seconds: there may be more; then the seconds to the next; then None."""
    for _ in range(3):
        index_row(world)
    assert world.dispatcher(batch=2).scan() == 0.0
    index_row(world, in_seconds=7.0)
    assert world.dispatcher(batch=2).scan() == pytest.approx(7.0, abs=1.0)
    assert len(world.queue.take()) == 3


def test_an_empty_index_has_no_next(world: World):
    """Nothing due, nothing planned: the window waits for a notification."""
    assert world.dispatcher().scan() is None


def test_two_dispatchers_at_once_never_send_a_row_twice(world: World):
    """Six dispatchers race for forty rows in small batches: each row is sent once."""
    targets = [index_row(world) for _ in range(40)]

    def run() -> None:
        dispatcher = world.dispatcher(batch=7)
        for _ in range(8):
            dispatcher.scan()

    results = race(*[run] * 6)
    assert not [result for result in results if isinstance(result, Exception)]
    sent = taken(world)
    assert sorted(sent) == sorted(targets)
    assert all(world.index_row(target)["sends"] == 1 for target in targets)


def test_a_pick_passes_over_rows_that_another_pick_has(world: World):
    """A dispatcher that is in the middle of its pick makes nobody wait."""
    targets = sorted(index_row(world) for _ in range(2))
    with world.owner() as connection:
        connection.execute(
            "SELECT 1 FROM central.publish_dispatch_index WHERE target_id = %s FOR UPDATE", [targets[0]]
        )
        started = time.monotonic()
        world.dispatcher().scan()
        assert time.monotonic() - started < 2.0
        assert taken(world) == [targets[1]]


def test_one_row_of_an_account_goes_out_at_a_time(world: World):
    """Of three due rows of one account the oldest goes; the others wait until it is answered."""
    account = new_id()
    rows = [index_row(world, account=account, in_seconds=-10.0 + number) for number in range(3)]
    for _ in range(3):
        world.dispatcher().scan()
    assert taken(world) == [rows[0]]
    world.arrange(
        "UPDATE central.publish_dispatch_index SET status = 'done', enqueued_at = NULL, resend_at = NULL"
        " WHERE target_id = %(id)s",
        id=rows[0],
    )
    world.dispatcher().scan()
    assert taken(world) == [rows[1]]


def test_two_racing_dispatchers_send_one_row_of_an_account(world: World):
    """One account's backlog is not taken apart by dispatchers that don't see each other's pick."""
    for _ in range(5):
        account = new_id()
        for number in range(4):
            index_row(world, account=account, in_seconds=-10.0 + number)
        race(*[world.dispatcher().scan] * 4)
        assert len(taken(world)) == 1


def test_rows_go_back_when_the_queue_cannot_be_reached(world: World):
    """Nothing was sent: rows are pending again, not counted, and go with the next scan."""
    target = index_row(world)
    world.queue.failing = QueueUnreachableError("gone")
    assert 0 < world.dispatcher().scan() < 1
    row = world.index_row(target)
    assert values(row, "status", "sends", "enqueued_at", "resend_at") == ("pending", 0, None, None)
    world.queue.failing = None
    world.dispatcher().scan()
    assert taken(world) == [target]


def test_while_the_queue_is_away_no_row_is_touched_and_people_are_told(world: World):
    """Minutes without Redis: a question every few seconds, no write, one alarm, and its all-clear."""
    target, clock, told = index_row(world), Clock(), []
    back_off = BackOff(clock=clock, tell=told.append)
    dispatcher = world.dispatcher(back_off=back_off, clock=clock)
    world.queue.failing = QueueUnreachableError("gone")
    dispatcher.scan()
    version = "SELECT xmin::text AS xmin FROM central.publish_dispatch_index"
    before, waits = world.arrange(version), []
    for _ in range(40):
        waits.append(dispatcher.scan())
        # Somebody notifies the dispatcher all the while: that alone makes it ask nobody.
        assert dispatcher.scan() == pytest.approx(waits[-1])
        clock.now_is += waits[-1]
    assert waits[:4] == [0.5, 1.0, 2.0, 4.0]
    assert max(waits) == 8.0
    assert world.arrange(version) == before
    assert [problem is not None for problem in told] == [True]
    world.queue.failing = None
    dispatcher.scan()
    assert taken(world) == [target]
    assert told[1:] == [None]


def test_a_row_that_was_answered_meanwhile_does_not_go_back(world: World):
    """Some messages got through before the queue was lost: an answered row stays as the answer left it."""
    target = index_row(world)

    def answered() -> None:
        world.arrange(
            "UPDATE central.publish_dispatch_index SET seq = 2, status = 'done', enqueued_at = NULL, resend_at = NULL"
        )

    world.queue.while_sending = answered
    world.queue.failing = QueueUnreachableError("gone")
    world.dispatcher().scan()
    assert values(world.index_row(target), "status", "seq") == ("done", 2)


def test_rows_are_enqueued_before_their_message_is_sent(world: World):
    """A message never overtakes its row: when it is sent, others see the row enqueued."""
    target = index_row(world)
    seen: list[str] = []
    world.queue.while_sending = lambda: seen.append(world.index_row(target)["status"])
    world.dispatcher().scan()
    assert seen == ["enqueued"]


def test_the_queue_stays_bounded(world: World):
    """No more than `max_enqueued` messages are out, however much is due; answered ones make room."""
    for _ in range(8):
        index_row(world)
    due = world.central_index(max_enqueued=5)
    dispatcher = world.dispatcher(due=due, batch=3)
    for _ in range(4):
        dispatcher.scan()
    assert len(world.queue.take()) == 5
    assert due.enqueued() == 5
    assert dispatcher.scan() != 0.0
    assert world.queue.take() == []
    world.arrange(
        "UPDATE central.publish_dispatch_index SET status = 'done', enqueued_at = NULL, resend_at = NULL"
        " WHERE status = 'enqueued'"
    )
    dispatcher.scan()
    assert len(world.queue.take()) == 3


def test_one_tenant_cannot_use_up_the_queue(world: World):
    """A tenant's share is bounded, and another tenant's post goes before its second one."""
    for number in range(10):
        index_row(world, in_seconds=-100.0 + number)
    other = index_row(world, tenant=new_id(), in_seconds=-1.0)
    due = world.central_index(tenant_cap=4)
    world.dispatcher(due=due, batch=2).scan()
    assert other in taken(world)
    for _ in range(5):
        world.dispatcher(due=due).scan()
    assert due.enqueued() == 5


def test_another_tenants_post_is_not_behind_a_backlog_that_fills_the_scan(world: World):
    """A thousand due rows of one tenant, all older: the other tenant's row goes out with the first pick."""
    world.arrange(
        "INSERT INTO central.publish_dispatch_index (target_id, tenant_id, cell, account_id, platform, seq, kind,"
        " due_at, ready_at, status) SELECT gen_random_uuid(), %(tenant)s, 'default', gen_random_uuid(), 'mastodon',"
        " 1, 'publish', now() - interval '1 h', now() - interval '1 h', 'pending' FROM generate_series(1, 300)",
        tenant=world.tenant,
    )
    other = index_row(world, tenant=new_id())
    world.dispatcher(batch=10).scan()
    assert other in taken(world)


def test_another_accounts_post_is_not_behind_one_accounts_backlog(world: World):
    """One account's backlog fills the whole scan: a post of another account is not left for the next rescan."""
    account = new_id()
    for number in range(60):
        index_row(world, account=account, in_seconds=-100.0 + number)
    other = index_row(world)
    dispatcher = world.dispatcher(batch=4)
    while dispatcher.scan() == 0.0:
        pass
    assert other in taken(world)


def test_a_platform_that_hangs_takes_only_its_share(world: World):
    """When as many of a platform's messages as allowed hang for over a second, only other platforms go on."""
    for _ in range(3):
        index_row(world, platform="slow", status="enqueued")
    world.arrange("UPDATE central.publish_dispatch_index SET enqueued_at = now() - interval '2 seconds'")
    waiting, other = index_row(world, platform="slow"), index_row(world, platform="quick")
    world.dispatcher(due=world.central_index(slow_cap=3)).scan()
    assert taken(world) == [other]
    world.dispatcher(due=world.central_index(slow_cap=4)).scan()
    assert taken(world) == [waiting]


def test_what_gets_due_while_messages_are_sent_is_not_forgotten(world: World):
    """A row becomes due between the pick and the end of sending: the next scan follows at once, not in seconds."""
    index_row(world)
    index_row(world, in_seconds=0.15)
    world.queue.while_sending = lambda: time.sleep(0.3)
    next_in = world.dispatcher().scan()
    assert next_in is not None
    assert next_in <= 0.02


def test_a_due_time_is_met_to_the_hundredth(world: World):
    """Waiting exactly as long as the scan said finds the row due: not earlier, hardly later."""
    target = index_row(world, in_seconds=0.4)
    dispatcher = world.dispatcher()
    deadline = time.monotonic() + 5
    while not world.queue.messages:
        next_in = dispatcher.scan()
        assert time.monotonic() < deadline
        threading.Event().wait(max(0.0, next_in or 0.0))
    row = world.index_row(target)
    assert 0.0 <= (row["enqueued_at"] - row["due_at"]).total_seconds() < 0.25


@pytest.fixture
def many_future_rows(world: World) -> None:
    world.arrange(
        "INSERT INTO central.publish_dispatch_index (target_id, tenant_id, cell, account_id, platform, seq, kind,"
        " due_at, ready_at, status) SELECT gen_random_uuid(), gen_random_uuid(), 'default', gen_random_uuid(),"
        " 'mastodon', 1, 'publish', at, at, 'pending' FROM (SELECT now() + n * interval '1 s' AS at"
        " FROM generate_series(60, 50059) n) s"
    )
    for _ in range(20):
        index_row(world)
    with psycopg.connect(world.url, autocommit=True) as owner:
        owner.execute("VACUUM ANALYZE central.publish_dispatch_index")


def _buffers(plan: dict[str, Any]) -> int:
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


@pytest.mark.usefixtures("many_future_rows")
def test_a_pick_touches_what_is_due_and_not_what_waits(world: World):
    """With fifty thousand rows of the future, picking twenty and asking for the next reads a few pages."""
    pick = dispatch_pick.pick(
        lane="main",
        limit=200,
        scan=1000,
        max_enqueued=2000,
        tenant_cap=1000,
        slow_cap=24,
        resend_seconds=15.0,
    )
    with world.stores.central.transaction() as session:
        for (sql, params), most in ((pick, 900), (dispatch_pick.next_ready(lane="main"), 12)):
            row = session.one(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
            assert row is not None
            said = row["QUERY PLAN"]
            [plan] = json.loads(said) if isinstance(said, str) else said
            assert _buffers(plan["Plan"]) < most, json.dumps(plan["Plan"])[:3000]
            assert "Seq Scan on publish_dispatch_index" not in json.dumps(plan)


def test_asking_for_the_next_time_counts_only_what_waits(world: World):
    """Rows that are out or done are nobody's next."""
    index_row(world, in_seconds=3.0, status="enqueued")
    index_row(world, in_seconds=4.0, status="done")
    index_row(world, in_seconds=90.0)
    assert world.dispatcher().scan() == pytest.approx(90, abs=1)
