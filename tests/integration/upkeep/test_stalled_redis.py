"""A Redis that stands still (it accepts connections and answers nothing) hangs nothing and loses nothing."""

from __future__ import annotations

import base64
import signal
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from celery import Celery

from socialq.domain.hops import Message, QueueUnreachableError
from socialq.domain.ids import new_id
from socialq.domain.rates import RateLimit
from socialq.domain.states import NextKind
from socialq.local import LocalServers
from socialq.store.queue_lengths import QueueLengths
from socialq.store.rate_buckets import RedisBuckets
from tests.integration.pipeline.racing import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.integration.pipeline.world import World

SEND_SECONDS = 6.5
"""One socket timeout of five seconds, and what a busy machine adds."""
BUCKET_SECONDS = 3.0


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServers]:
    started = LocalServers(tmp_path_factory.mktemp("valkey"), want_postgres=False).start()
    yield started
    started.valkey.kill(signal.SIGCONT)
    started.discard()


@pytest.fixture
def stall(servers: LocalServers) -> Iterator[Callable[[], None]]:
    """A function that stops Valkey; it goes on when the test ends at the latest."""
    yield lambda: servers.valkey.kill(signal.SIGSTOP)
    servers.valkey.kill(signal.SIGCONT)


@pytest.fixture
def app(servers: LocalServers) -> Iterator[Celery]:
    """A Celery app as workers have it, on the test's Valkey."""
    made = Celery("tests", set_as_current=False)
    made.config_from_object("celeryconfig")
    made.conf.update(broker_url=servers.redis_url)
    yield made
    made.close()


@pytest.fixture
def queue(app: Celery, servers: LocalServers, monkeypatch: pytest.MonkeyPatch) -> Any:
    # Importing the worker's package builds its app, which connects to nothing.
    monkeypatch.setenv("SOCIALQ_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("SOCIALQ_REDIS_URL", servers.redis_url)
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY", base64.b64encode(bytes(32)).decode())
    from socialq.worker.queue import CeleryQueue

    return CeleryQueue(app)


def message() -> Message:
    return Message(tenant_id=new_id(), target_id=new_id(), seq=1, kind=NextKind.PUBLISH)


def seconds_of(step: Callable[[], Any]) -> float:
    began = time.monotonic()
    step()
    return time.monotonic() - began


@pytest.mark.parametrize("warm", [True, False], ids=["open connection", "new connection"])
def test_sending_to_a_stalled_redis_fails_within_seconds(queue: Any, stall: Callable[[], None], warm: bool):
    """Whether the connection is there already or has to be made: one error, for which rows are put back."""
    if warm:
        queue.send([message()])
    stall()

    def send() -> None:
        with pytest.raises(QueueUnreachableError):
            queue.send([message(), message()])

    assert seconds_of(send) < SEND_SECONDS


def test_counting_a_stalled_queue_fails_within_seconds(queue: Any, stall: Callable[[], None]):
    """The sweep asks for the length before it sends anything again."""
    stall()

    def count() -> None:
        with pytest.raises(QueueUnreachableError):
            queue.length()

    assert seconds_of(count) < SEND_SECONDS


def test_rows_are_put_back_and_go_out_when_redis_goes_on(
    world: World, queue: Any, servers: LocalServers, stall: Callable[[], None]
):
    """The dispatcher is not hung by a stall; what it had picked is pending again, and is sent afterwards."""
    target = world.post()
    world.relay().scan()
    queue.send([message()])
    stall()
    dispatcher = world.dispatcher(queue=queue)
    assert seconds_of(dispatcher.scan) < SEND_SECONDS
    row = world.index_row(target)
    assert row is not None
    assert (row["status"], row["sends"]) == ("pending", 0)
    servers.valkey.kill(signal.SIGCONT)
    # Redis had the stalled message in its socket: it may come through now, and is only a hint.
    before = queue.length()

    def sent() -> bool:
        """Whether it is out: the dispatcher waits a moment after a failure before it asks again."""
        dispatcher.scan()
        row = world.index_row(target)
        return row is not None and (row["status"], row["sends"]) == ("enqueued", 1)

    wait_until(sent, what="the next try")
    assert queue.length() == before + 1


def test_rate_buckets_let_publishes_go_on_when_redis_is_stalled(
    servers: LocalServers, stall: Callable[[], None]
):
    """They are a courtesy: within a few seconds the answer is to go ahead, also for the first question ever."""
    work: Any = SimpleNamespace(account=SimpleNamespace(platform="x", id=new_id(), provider_app_id=None))
    limits = [RateLimit(scope="account", amount=1, per_seconds=60)]
    asked = RedisBuckets.at(servers.redis_url, limits_of=lambda _platform: limits)
    assert asked.wait_seconds(work) == 0.0
    assert asked.wait_seconds(work) > 0.0
    stall()
    answers: list[float] = []
    assert seconds_of(lambda: answers.append(asked.wait_seconds(work))) < BUCKET_SECONDS

    def ask_anew() -> None:
        fresh = RedisBuckets.at(servers.redis_url, limits_of=lambda _platform: limits)
        answers.append(fresh.wait_seconds(work))

    assert seconds_of(ask_anew) < BUCKET_SECONDS
    assert answers == [0.0, 0.0]
    servers.valkey.kill(signal.SIGCONT)
    assert asked.wait_seconds(work) > 0.0


def test_queue_lengths_are_counted_and_a_stalled_redis_is_an_error_within_seconds(
    queue: Any, servers: LocalServers, stall: Callable[[], None]
):
    """What the metrics show is what waits under the queue's own key."""
    lengths = QueueLengths(servers.redis_url, queues=("control", "publishing"))
    before = lengths.read()["publishing"]
    queue.send([message(), message()])
    assert lengths.read() == {"control": 0, "publishing": before + 2}
    stall()

    def read() -> None:
        with pytest.raises(ConnectionError):
            lengths.read()

    assert seconds_of(read) < BUCKET_SECONDS
    lengths.close()
