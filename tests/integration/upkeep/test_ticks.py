"""Ticks that nobody takes do not pile up, and no machine's clock says whether one is heard."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import pytest
import redis

from socialq.store.queue_lengths import QueueLengths
from tests.integration.upkeep.test_stalled_redis import app, servers

if TYPE_CHECKING:
    from pathlib import Path

    from celery import Celery

    from socialq.local import LocalServers

__all__ = ["app", "servers"]

QUEUE = "socialq:control"


@pytest.fixture(autouse=True)
def _empty(servers: LocalServers) -> None:
    with redis.Redis.from_url(servers.redis_url) as client:
        client.delete(QUEUE)


@pytest.fixture
def beat(app: Celery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    # Importing the worker's package builds its app, which connects to nothing.
    monkeypatch.setenv("SOCIALQ_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("SOCIALQ_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
    from socialq.worker.steady_beat import SteadyScheduler

    scheduler = SteadyScheduler(app=app, schedule_filename=str(tmp_path / "beat"))
    yield scheduler
    scheduler.close()


def lies(servers: LocalServers) -> list[dict[str, Any]]:
    """The headers of what lies in the queue of ticks, the oldest first."""
    with redis.Redis.from_url(servers.redis_url) as client:
        return [json.loads(message)["headers"] for message in reversed(client.lrange(QUEUE, 0, -1))]


def taken(servers: LocalServers) -> str:
    with redis.Redis.from_url(servers.redis_url) as client:
        return str(json.loads(client.rpop(QUEUE))["headers"]["task"])


def ticks(beat: Any) -> None:
    for entry in beat.schedule.values():
        beat.apply_entry(entry, producer=beat.producer)


def test_a_control_worker_that_was_down_finds_one_tick_of_each_name(beat: Any, servers: LocalServers):
    """However long it was down, and however many beats there are."""
    for _ in range(20):
        ticks(beat)
    names = [headers["task"] for headers in lies(servers)]
    assert sorted(names) == sorted({entry.task for entry in beat.schedule.values()})


def test_a_tick_that_was_taken_is_followed_by_the_next(beat: Any, servers: LocalServers):
    """Only one that waits stands for those that would come after it."""
    ticks(beat)
    first = taken(servers)
    before = len(lies(servers))
    ticks(beat)
    assert len(lies(servers)) == before + 1
    assert lies(servers)[-1]["task"] == first


def test_no_clock_of_another_machine_drops_a_tick(beat: Any, servers: LocalServers):
    """A message that expires is compared with the clock of whoever takes it: none does."""
    ticks(beat)
    assert {headers["expires"] for headers in lies(servers)} == {None}


def test_junk_in_the_queue_silences_nothing(beat: Any, servers: LocalServers):
    """Redis is a place that others may write to."""
    junk = (b"", b"\xff", b"[]", b'"x"', b'{"headers": []}', b'{"headers": {"task": {}}}', b"[" * 99_999)
    with redis.Redis.from_url(servers.redis_url) as client:
        client.lpush(QUEUE, *junk)
        ticks(beat)
        assert client.llen(QUEUE) == len(junk) + len(beat.schedule)


def test_where_the_queue_cannot_be_read_ticks_are_sent(beat: Any, servers: LocalServers):
    """A tick too many harms nothing; one too few would."""
    away = socket.create_server(("127.0.0.1", 0))
    port = away.getsockname()[1]
    away.close()
    beat._queues = QueueLengths(f"redis://127.0.0.1:{port}/0", queues=("control",))
    for _ in range(2):
        ticks(beat)
    assert len(lies(servers)) == 2 * len(beat.schedule)


def test_windows_of_relays_do_not_pile_up_either(app: Celery, servers: LocalServers, beat: Any):
    """One that waits for a cell is as good as two; another cell's is another."""
    assert beat is not None, "importing it makes the worker's package importable"
    from socialq.worker.tasks import send_relay_windows

    lengths = QueueLengths(servers.redis_url, queues=("control",))
    for _ in range(3):
        send_relay_windows(app, lengths, ["default", "north"])
    assert [headers["argsrepr"] for headers in lies(servers)] == ["('default',)", "('north',)"]
    taken(servers)
    send_relay_windows(app, lengths, ["default", "north"])
    assert [headers["argsrepr"] for headers in lies(servers)] == ["('north',)", "('default',)"]
