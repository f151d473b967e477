"""Whatever lies in the queue, a worker lives on: Redis is a place that others may write to."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import redis

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


ARGUMENTS = [["not-an-id", "nor-this", "many", "dance"], {}, {}]

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
]


def beat(wiring: Wiring) -> Any:
    """When the publishing worker last consumed a canary of its own."""
    rows = wiring.stores.central.autocommit(
        "SELECT max(beat_at) AS at FROM central.heartbeats WHERE name LIKE 'canary:publishing%'"
    )
    return rows[0]["at"]


def test_no_message_ends_a_worker_or_keeps_it_from_the_next(stack: LocalStack, wiring: Wiring):
    """Each kind of junk, one after the other and all at once: taken away, and the same process goes on."""
    client = redis.Redis.from_url(stack.settings.redis_url.get_secret_value())
    key = "socialq:publishing"
    before = pid_of(stack, "publishing-1")
    wait_until(lambda: beat(wiring), seconds=20, what="the first canary")
    died = []
    for number, message in enumerate(JUNK):
        pid, seen = pid_of(stack, "publishing-1"), beat(wiring)
        client.lpush(key, message)
        wait_until(lambda: client.llen(key) == 0, seconds=20, what=f"the end of junk {number}")
        wait_until(lambda seen=seen: beat(wiring) > seen, seconds=20, what="one more canary")
        if pid_of(stack, "publishing-1") != pid:
            died.append(message[:300])
    assert died == []
    client.lpush(key, *JUNK, *JUNK)
    wait_until(lambda: client.llen(key) == 0, seconds=20, what="the end of all junk")
    seen = beat(wiring)
    wait_until(lambda: beat(wiring) > seen, seconds=20, what="one more canary")
    assert pid_of(stack, "publishing-1") == before
    assert stack.supervisor.children["publishing-1"].restarts == 0
    client.close()
