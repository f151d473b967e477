"""Whatever lies in the queue, a worker lives on: Redis is a place that others may write to."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
from celery import Celery

from tests.integration.pipeline.world import wait_until
from tests.integration.upkeep.test_worker_canary import pid_of, stack, wiring

if TYPE_CHECKING:
    from socialq.local.stack import LocalStack
    from socialq.wiring import Wiring

__all__ = ["stack", "wiring"]

PROPERTIES = {
    "correlation_id": "x",
    "delivery_mode": 2,
    "delivery_info": {"exchange": "socialq", "routing_key": "publishing"},
    "priority": 0,
    "body_encoding": "base64",
    "delivery_tag": "7d1b3e5c-6a8f-4e0e-9a55-0c5d2f3f8a11",
}


def envelope(content: Any, **changes: Any) -> bytes:
    """A message as kombu writes it, but for what is changed."""
    message = {
        "body": base64.b64encode(json.dumps(content).encode()).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {
            "lang": "py",
            "task": "socialq.publish_target",
            "id": "x",
            "argsrepr": "",
            "kwargsrepr": "",
        },
        "properties": PROPERTIES,
    }
    return json.dumps({**message, **changes}).encode()


CONTROL_CHANNEL = "socialq:/0.socialq-control.pidbox"

ARGUMENTS = [["not-an-id", "nor-this", "many", "dance"], {}, {}]
HEADERS = {"lang": "py", "task": "socialq.publish_target", "id": "x", "argsrepr": "", "kwargsrepr": ""}

NEVER_BEGUN = [
    {"task": {}},
    {"task": ["socialq.publish_target"]},
    {"stamped_headers": 5, "stamps": {"a": 1}},
    {"id": {}},
    {"timelimit": ["a", "b"]},
    {"retries": "x", "eta": "2999-01-01T00:00:00"},
]
"""Headers that Celery trips over after it has taken the message."""

BOMB = base64.b64encode(zlib.compress(b"[" + b" " * 60_000_000 + b"]", 9)).decode()

JUNK = [
    b"",
    b"junk",
    b"\xff\xfe\x00",
    b"null",
    b"[]",
    b"{}",
    b'{"body": 1}',
    b"[" * 100_000,
    envelope(ARGUMENTS),
    envelope([[], {}, {}]),
    envelope([["a"] * 9, {}, {}]),
    envelope("neither a list nor a thing"),
    envelope(ARGUMENTS, body="%%%"),
    envelope(ARGUMENTS, body=base64.b64encode(b"[" * 100_000).decode()),
    envelope(ARGUMENTS, headers={}),
    envelope(ARGUMENTS, headers={"task": "os.system", "id": "x"}),
    envelope(ARGUMENTS, headers=None),
    envelope(ARGUMENTS, properties={}),
    envelope(ARGUMENTS, properties={**PROPERTIES, "body_encoding": "rot13"}),
    envelope(ARGUMENTS, properties={**PROPERTIES, "delivery_info": None}),
    envelope(ARGUMENTS, **{"content-type": "application/x-python-serialize"}),
    envelope(ARGUMENTS, **{"content-encoding": "klingon"}),
    envelope(ARGUMENTS, headers={"task": "socialq.publish_target", "id": "x", "eta": "yesterday"}),
    envelope(ARGUMENTS, headers={"task": "socialq.publish_target", "id": "x", "expires": "never"}),
    *(envelope(ARGUMENTS, headers={**HEADERS, **changes}) for changes in NEVER_BEGUN),
    envelope({"args": [], "kwargs": {}, "stamped_headers": 5}),
    envelope({"task": {}, "args": []}, headers={}),
    envelope([{}, 5]),
    envelope([{}, 6], properties={**PROPERTIES, "delivery_tag": "second"}),
    envelope([{}, 7], properties={**PROPERTIES, "delivery_tag": "third"}),
    envelope(ARGUMENTS, **{"content-type": {}}),
    envelope(ARGUMENTS, properties={**PROPERTIES, "delivery_tag": {"a": 1}}),
    envelope(ARGUMENTS, body=BOMB, headers={**HEADERS, "compression": "zlib"}),
]


def beat(wiring: Wiring) -> Any:
    """When the publishing worker last consumed a canary of its own."""
    rows = wiring.stores.central.autocommit(
        "SELECT max(beat_at) AS at FROM central.heartbeats WHERE name LIKE 'canary:publishing%'"
    )
    return rows[0]["at"]


def peak_memory_mb(pid: int) -> int:
    """The most that a process ever had in memory."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) // 1024


def test_no_message_ends_a_worker_or_keeps_it_from_the_next(stack: LocalStack, wiring: Wiring):
    """Each kind of junk, one after the other and all at once: taken away, and the same process goes on."""
    client = redis.Redis.from_url(stack.settings.redis_url.get_secret_value())
    key = "socialq:publishing"
    before = pid_of(stack, "publishing-1")
    wait_until(lambda: beat(wiring), seconds=20, what="the first canary")
    memory_mb = peak_memory_mb(before)
    for number, message in enumerate(JUNK):
        client.lpush(key, message)
        wait_until(lambda: client.llen(key) == 0, seconds=20, what=f"the end of junk {number}")
        if number % 5 == 4:
            seen = beat(wiring)
            wait_until(lambda seen=seen: beat(wiring) > seen, seconds=20, what="one more canary")
        assert pid_of(stack, "publishing-1") == before, f"junk up to {number} has ended the worker"
    assert peak_memory_mb(before) < memory_mb + 50
    client.lpush(key, *JUNK, *JUNK)
    wait_until(lambda: client.llen(key) == 0, seconds=20, what="the end of all junk")
    seen = beat(wiring)
    wait_until(lambda: beat(wiring) > seen, seconds=20, what="one more canary")
    assert pid_of(stack, "publishing-1") == before
    assert stack.supervisor.children["publishing-1"].restarts == 0
    client.close()


def test_no_worker_takes_orders_from_redis(stack: LocalStack):
    """Whoever reaches Redis may ask who is there; nobody can end a worker or read its settings that way."""
    before = pid_of(stack, "publishing-1")
    client = redis.Redis.from_url(stack.settings.redis_url.get_secret_value())
    for message in JUNK:
        # A worker that was told nonsense there takes a moment to listen again.
        wait_until(
            lambda message=message: client.publish(CONTROL_CHANNEL, message), seconds=10, what="a listener"
        )
    client.close()
    app = Celery("stranger", set_as_current=False)
    app.config_from_object("celeryconfig")
    app.conf.update(broker_url=stack.settings.redis_url.get_secret_value())
    try:
        for order in ("shutdown", "pool_shrink", "disable_events", "rate_limit"):
            app.control.broadcast(order)
        answers = app.control.inspect(timeout=1.0).conf() or {}
        assert {word for answer in answers.values() for word in answer} <= {"error"}
        # Orders are read in turn: who answers has been through them.
        wait_until(lambda: app.control.ping(timeout=1.0), seconds=10, what="an answer")
    finally:
        app.close()
    assert pid_of(stack, "publishing-1") == before
    assert stack.supervisor.children["publishing-1"].restarts == 0
