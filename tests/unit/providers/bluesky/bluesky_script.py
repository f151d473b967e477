"""Stand-ins of the tests of Bluesky: scripted answers in the place of `Http`, an account, and a clock."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any, cast

from socialq.providers.base import AccountAccess, Part
from socialq.providers.http import Answer, Call, Headers, Http, NetworkFailure

NOW = datetime(2026, 11, 30, 18, 0, tzinfo=UTC)
NOW_HEADER = "Mon, 30 Nov 2026 18:00:00 GMT"
INSTANT = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
DID = "did:plc:poymuk6d2rzrlmb5w6xjk4jc"
CID = "bafyreiffe2wohhvw6fwyng2kclxstjpo6l3paeomajwczehgnpgetvr5wu"
BLOB = {
    "$type": "blob",
    "ref": {"$link": "bafkreie7udzk4k3flsdxnegg5vletwwz6jebi736ehipqaiwg3ba2ytrmi"},
    "mimeType": "image/png",
    "size": 75,
}
ACCOUNT = AccountAccess(
    account_id="a",
    platform="bluesky",
    base_url="https://pds.example",
    handle="acme.example",
    remote_user_id=DID,
    token="tok",
)


def part(text: str = "hello", **more: Any) -> Part:
    return Part(**{"number": 1, "text": text, "key": "k", "key_instant": INSTANT, **more})


def answer(status: int, body: object = None, **headers: str) -> Answer:
    """An answer with a JSON body, or with these bytes; `retry_after` becomes `retry-after`."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Answer(status=status, body=raw, headers=Headers(pairs))


def error(name: str, message: str = "said so") -> dict[str, str]:
    return {"error": name, "message": message}


def jwt(**claims: Any) -> str:
    """A token as a PDS makes it; nobody here checks the signature."""
    encoded = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{encoded}.c2ln"


class Script:
    """Stands in for `Http`: answers in turn, the last one for ever, and keeps the calls."""

    deadline_seconds = 10.0

    def __init__(self, *answers: Answer | NetworkFailure) -> None:
        self.answers = list(answers)
        self.calls: list[Call] = []

    def send(self, call: Call, *, deadline_seconds: float | None = None) -> Answer | NetworkFailure:
        del deadline_seconds
        self.calls.append(call)
        return self.answers[min(len(self.calls), len(self.answers)) - 1]

    @property
    def http(self) -> Http:
        return cast("Http", self)


class Clock:
    """A clock that stands where a test puts it."""

    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> datetime:
        return self.at
