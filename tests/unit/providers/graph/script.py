"""Stand-ins of the tests of Graph APIs: scripted answers in the place of `Http`, and Meta's errors."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast

from socialq.providers.graph.answers import Dialect, Meaning
from socialq.providers.http import Answer, Call, Headers, Http, NetworkFailure

NOW = datetime(2026, 11, 30, 18, 0, tzinfo=UTC)
NOW_HEADER = "Mon, 30 Nov 2026 18:00:00 GMT"
PLAIN = Dialect(platform="plain", label="Plain", meanings=())
"""A platform that refuses as all do."""
OWN = Dialect(
    platform="own",
    label="Own",
    meanings=(
        Meaning(name="repeat", publish="duplicate", otherwise="rejected", codes=frozenset({506})),
        Meaning(
            name="spam",
            publish="rejected",
            otherwise="rejected",
            codes=frozenset({4}),
            subcodes=frozenset({2207051}),
            is_policy=True,
            pauses_account_seconds=100.0,
        ),
    ),
)


def answer(status: int, body: object = None, **headers: str) -> Answer:
    """An answer with a JSON body, or with these bytes; `x_app_usage` becomes `x-app-usage`."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Answer(status=status, body=raw, headers=Headers(pairs))


def error(code: Any, subcode: Any = None, **more: Any) -> dict[str, Any]:
    """A Graph API's error body."""
    told = {"message": "what is wrong", "type": "OAuthException", "code": code, "fbtrace_id": "Abc-1_2"}
    return {"error": told | ({} if subcode is None else {"error_subcode": subcode}) | more}


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
