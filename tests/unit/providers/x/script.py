"""Stand-ins of the tests of X: scripted answers in the place of `Http`, an account, and X's problems."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast

from socialq.providers.base import AccountAccess
from socialq.providers.http import Answer, Call, Headers, Http, NetworkFailure

NOW = datetime(2026, 11, 30, 18, 0, tzinfo=UTC)
NOW_HEADER = "Mon, 30 Nov 2026 18:00:00 GMT"
ACCOUNT = AccountAccess(
    account_id="a",
    platform="x",
    base_url="https://api.x.example",
    handle="acme",
    remote_user_id="7",
    token="tok",
)


def answer(status: int, body: object = None, **headers: str) -> Answer:
    """An answer with a JSON body, or with these bytes; `x_rate_limit_reset` becomes `x-rate-limit-reset`."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Answer(status=status, body=raw, headers=Headers(pairs))


def problem(
    status: int, detail: str, *, kind: str = "about:blank", title: str = "Forbidden"
) -> dict[str, Any]:
    return {"title": title, "detail": detail, "type": kind, "status": status}


def id_at(moment: datetime, number: int = 1) -> str:
    """An id that X would give out at `moment`: milliseconds since 2010-11-04T01:42:54.657Z, then 22 bits."""
    milliseconds = round(
        (moment - datetime(2010, 11, 4, 1, 42, 54, 657_000, tzinfo=UTC)).total_seconds() * 1000
    )
    return str((milliseconds << 22) + number)


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

    def asked(self) -> list[str]:
        """The calls so far, as method and path."""
        return [f"{call.method} {call.url.removeprefix(ACCOUNT.base_url)}" for call in self.calls]
