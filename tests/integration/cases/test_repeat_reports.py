"""What was posted twice elsewhere: hooks that fail, messages that repeat, workers that die, edits of what is out."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import redis
from celery import Celery

from socialq.desk import edit, resolve, schedule
from socialq.domain.errors import InputRefused
from socialq.domain.hops import Message
from socialq.domain.ids import new_id
from socialq.domain.local_time import resolve as read_time
from socialq.domain.states import NextKind
from socialq.upkeep.fanout.events import FanOut
from tests.hooked import Hooked
from tests.integration.lanes.world import ACTOR
from tests.integration.pipeline.racing import Background, race, wait_until
from tests.passing_time import PassingClock, let_pass
from tests.simulation.stage import Crashed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import psycopg

    from socialq.local import LocalServers
    from tests.integration.lanes.world import Account, Lanes

TICKS = 1000
BEATS = 3
ROUND_SECONDS = 400.0
"""More than a lease, a delay between looks, a retry's wait."""
VISIBILITY_SECONDS = 2


@dataclass
class StreakWorkflow:
    """A consumer of events that fails each time."""

    name: str = "streaks"
    asked: int = 0

    def take(self, session: Any, events: Sequence[Any]) -> None:
        del session, events
        self.asked += 1
        raise RuntimeError("the streak could not be counted")


def slow(account: Account, milliseconds: int) -> dict[str, Any]:
    return {
        "platform": "x",
        "account": account.name,
        "step": "publish",
        "kind": "slow",
        "delay_ms": milliseconds,
    }


def test_a_hook_that_fails_after_acceptance_never_runs_the_publish_again(
    lanes: Lanes, owner: psycopg.Connection[dict[str, Any]]
):
    """What follows publication fails again and again, and is tried again alone: the post stays published, one request
    was sent, and a repeated message finds nothing to do.

    (gitroomhq/postiz-app#1321, PR 1323)
    """
    account = lanes.account()
    target = lanes.post(account, "Once")
    message = lanes.message(target)
    assert lanes.work_off() == ["published"]
    owner.execute("DELETE FROM machine.event_cursors")
    hook = StreakWorkflow()
    after = FanOut(stores=lanes.wiring.stores, consumers=(hook,))
    for _ in range(3):
        asked = hook.asked
        owner.execute("UPDATE machine.event_cursors SET next_try_at = now()")
        # Events wait for the oldest transaction on the server, which may be another test's.
        wait_until(lambda asked=asked: after.run("default") is not None and hook.asked > asked, what="a try")
        assert lanes.work_off() == []
        assert lanes.handle(message) == "claimable"
    assert lanes.row(target)["status"] == "published"
    assert len(lanes.sandbox.requests("x", account.name)) == len(lanes.live(account)) == 1


def test_a_published_post_cannot_be_moved_edited_or_sent_again(lanes: Lanes):
    """Another date, the old date, an edit, a retry, a withdrawal: all are refused with a way out, nothing of the
    target changes, and nothing more is sent.

    (gitroomhq/postiz-app PR 1841)
    """
    account = lanes.account()
    target = lanes.post(account, "Out")
    assert lanes.work_off() == ["published"]
    row, now = lanes.row(target), datetime.now(UTC)
    common = {"tenant": lanes.agency.tenant.id, "actor": ACTOR}
    at = partial(read_time, zone=None, default_zone="UTC", now=now)
    moved = {**common, "target_ids": [target], "now": now}
    old_date, next_week = row["publish_at"], now + timedelta(days=7)
    stores = lanes.wiring.stores
    acts: list[Callable[[], Any]] = [
        lambda: schedule.reschedule(stores, resolved=at(old_date.isoformat()), **moved),
        lambda: schedule.reschedule(stores, resolved=at(next_week.isoformat()), **moved),
        lambda: schedule.schedule(stores, resolved=at("now"), **moved),
        lambda: schedule.unschedule(stores, target_ids=[target], **common),
        lambda: edit.edit_post(stores, post_id=row["post_id"], parts=[{"text": "New"}], **common),
        lambda: resolve.retry(stores, target_id=target, now=now, **common),
        lambda: resolve.cancel(stores, target_id=target, reason="no", **common),
    ]
    for act in acts:
        with pytest.raises(InputRefused) as refused:
            act()
        assert refused.value.problems[0].way_out
    assert lanes.work_off() == []
    assert lanes.row(target) == row
    assert lanes.live(account) == ["Out"]
    assert len(lanes.sandbox.requests("x", account.name)) == 1


def test_a_message_delivered_again_during_and_after_its_request_sends_nothing(lanes: Lanes):
    """Two workers have the same message while the request is under way, and a third gets it after that: one create.

    (celery/kombu#337; celery/celery#2599, #7009; celery/celery#3802)
    """
    account = lanes.account()
    target = lanes.post(account, "Once")
    lanes.sandbox.faults([slow(account, 1500)])
    lanes.relay()
    [message] = lanes.dispatch()
    first = Background(lambda: lanes.handle(message))
    wait_until(lambda: lanes.row(target)["status"] == "publishing", what="the claim")
    assert race(*[partial(lanes.handle, message)] * 2) == ["claimable", "claimable"]
    assert first.result is None, "the request was over before the message came again"
    assert first.join() == "published"
    assert lanes.handle(message) == "claimable"
    assert lanes.work_off() == []
    assert len(lanes.sandbox.requests("x", account.name)) == len(lanes.live(account)) == 1


@pytest.fixture
def celery(valkey: LocalServers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Celery]:
    """The workers' app on a real Valkey, with a visibility timeout that is soon over."""
    # Importing the worker's package builds its app, which connects to nothing.
    monkeypatch.setenv("SOCIALQ_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("SOCIALQ_REDIS_URL", valkey.redis_url)
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY", base64.b64encode(bytes(32)).decode())
    from socialq.worker import transport

    made = Celery("tests", set_as_current=False)
    made.config_from_object("celeryconfig")
    options = {**made.conf.broker_transport_options, "visibility_timeout": VISIBILITY_SECONDS}
    made.conf.update(broker_url=valkey.redis_url, broker_transport_options=options)
    transport.use(made, broker_url=valkey.redis_url)
    with redis.Redis.from_url(valkey.redis_url) as client:
        client.flushall()
    yield made
    made.close()


def test_no_message_is_for_later_and_none_comes_back_after_a_visibility_timeout(
    celery: Celery, valkey: LocalServers
):
    """A message has no ETA and no end, and one that a worker has in hand is kept nowhere in Redis: no timeout, however
    short, can deliver it a second time.

    (celery/kombu#337; celery/celery#2599, #7009)
    """
    from socialq.worker.queue import CeleryQueue

    queue = CeleryQueue(celery)
    queue.send([Message(tenant_id=new_id(), target_id=new_id(), seq=1, kind=NextKind.PUBLISH)])
    with redis.Redis.from_url(valkey.redis_url) as client:
        [waiting] = client.lrange("socialq:publishing", 0, -1)
        headers = json.loads(waiting)["headers"]
        assert (headers["eta"], headers["expires"], headers["retries"]) == (None, None, 0)
        with celery.connection_for_read() as connection:
            # In hand, and not acknowledged.
            assert connection.default_channel.basic_get("publishing") is not None
            assert client.llen("socialq:publishing") == 0
            assert list(client.scan_iter("*unacked*")) == []


@pytest.mark.parametrize(
    ("dies_at", "rests_as", "why", "requests"),
    [
        ("targets.store_prepared", "failed", "budget_used_up", 0),
        ("targets.settle", "needs_attention", "unknown_twice", 2),
    ],
    ids=["while a file is prepared", "after the request"],
)
def test_a_post_that_kills_its_worker_each_time_comes_to_an_end(
    lanes: Lanes,
    owner: psycopg.Connection[dict[str, Any]],
    dies_at: str,
    rests_as: str,
    why: str,
    requests: int,
):
    """Tries are counted in the database: five dead workers end it where nothing was sent; two requests of unknown
    outcome end it where something may have been.

    (celery/celery#9082)
    """
    account = lanes.account()
    target = lanes.post(account, "Deadly", images=[lanes.image()])
    rule = {"platform": "x", "account": account.name, "step": "publish", "kind": "reset_before"}
    lanes.sandbox.faults([{**rule, "times": None}])
    clock, deaths = PassingClock(), 0

    def around(point: str, step: Callable[[], Any]) -> Any:
        if point == dies_at:
            raise Crashed
        return step()

    wiring = lanes.wiring
    publisher = replace(wiring.publisher, clock=clock, targets=Hooked(wiring.targets, "targets", around))
    while lanes.row(target)["status"] not in {"failed", "needs_attention"}:
        assert deaths < 20
        lanes.relay()
        for message in lanes.dispatch():
            if message.kind is NextKind.LOOK:
                wiring.looker.look(message)
                continue
            with pytest.raises(Crashed):
                publisher.publish(message)
            deaths += 1
        let_pass(ROUND_SECONDS, owner=owner, clock=clock)
        wiring.cell_sweep("default").sweep()
    row = lanes.row(target)
    assert (row["status"], row["reason"]) == (rests_as, why)
    assert deaths == (requests or 5)
    assert len(lanes.sandbox.requests("x", account.name)) == requests
    assert lanes.live(account) == []


def test_a_thousand_ticks_of_three_beats_make_one_message_of_each_post(lanes: Lanes):
    """Every tick does what is left to do, and the others find nothing: three posts, three messages, three creates.

    (celery/celery#2856, #4041)
    """
    accounts = [lanes.account() for _ in range(3)]
    targets = [lanes.post(account, f"Once {number}") for number, account in enumerate(accounts)]
    queue = lanes.queues["main"]

    def beat() -> None:
        relay, dispatcher = lanes.wiring.relay("default"), lanes.wiring.dispatcher(queue)
        for tick in range(TICKS // BEATS + 1):
            dispatcher.scan()
            if tick % 20 == 0:
                relay.scan()

    assert race(*[beat] * BEATS) == [None] * BEATS
    messages = queue.take()
    assert sorted(message.target_id for message in messages) == sorted(targets)
    assert [lanes.handle(message) for message in messages] == ["published"] * 3
    assert [len(lanes.sandbox.requests("x", account.name)) for account in accounts] == [1, 1, 1]
