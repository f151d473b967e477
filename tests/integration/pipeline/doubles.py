"""What stands for the world outside in the tests of the hops: a scripted platform, a queue, no secrets."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from socialq.domain.outcomes import Absent, Accepted, Found
from socialq.pipeline.ports import AccountReady
from socialq.providers.base import Adapter, Finder
from socialq.providers.http import Call, NetworkFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from socialq.domain.hops import Message
    from socialq.domain.work import Work

SCOPES = ("read", "write")


class Platform(Adapter):
    """A platform that answers as its script says, and its HTTP: no network at all.

    `answers` holds what each request comes to, in order: an outcome, a `NetworkFailure`, or a function that
    is called with the request's part key while it is under way and returns one of these. An empty script
    accepts. `looks` is the same for looks, with the ids that must not be adopted; empty finds nothing.
    """

    platform = "mastodon"
    required_scopes = frozenset(SCOPES)
    finder: Finder | None = Finder(lag=timedelta(seconds=5))
    deduplicates = None

    def __init__(self) -> None:
        self.answers: deque[Any] = deque()
        self.looks: deque[Any] = deque()
        self.connects: deque[Any] = deque()
        self.steps: list[Any] = []
        self.sent: list[dict[str, Any]] = []
        self.looked: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def connect(self, http, *, base_url, token, remote_user_id=None):
        raise NotImplementedError

    def check(self, parts, limits):
        return []

    def prepare_steps(self, account, part, prepared):
        return [step for step in self.steps if step.name not in prepared]

    def publish_call(self, account, part, prepared):
        body = {"key": part.key, "text": part.text, "parent": part.parent_id, "number": part.number}
        body["role"] = part.role
        return Call(method="POST", url="https://social.example/post", json=body)

    def read_publish(self, answer, part):
        return answer

    def look(self, http, account, part, *, sent_after, claimed_ids, prepared):
        with self._lock:
            self.looked.append({"part": part.number, "sent_after": sent_after, "claimed": claimed_ids})
            result = self.looks.popleft() if self.looks else Absent(examined=0)
        return result(claimed_ids) if callable(result) else result

    # What stands in for `Http`.

    def open(self, call, *, deadline_seconds):
        with self._lock:
            failure = self.connects.popleft() if self.connects else None
        if callable(failure):
            failure = failure()
        return failure if isinstance(failure, NetworkFailure) else _Opened(self, call)

    def sends(self, call) -> Any:
        with self._lock:
            self.sent.append(call.json)
            answer = self.answers.popleft() if self.answers else Accepted(remote_id=f"r-{len(self.sent)}")
        return answer(call.json) if callable(answer) else answer

    @property
    def texts(self) -> list[str]:
        return [sent["text"] for sent in self.sent]


@dataclass
class _Opened:
    platform: Platform
    call: Call

    def send(self) -> Any:
        return self.platform.sends(self.call)

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class Queue:
    """Keeps messages in a list; `failing` makes sending fail."""

    messages: list[Message] = field(default_factory=list)
    failing: Exception | None = None
    while_sending: Callable[[], None] | None = None
    said_length: int | None = None

    def send(self, messages: Sequence[Message]) -> None:
        if self.while_sending is not None:
            self.while_sending()
        if self.failing is not None:
            raise self.failing
        self.messages += messages

    def length(self) -> int:
        if self.failing is not None:
            raise self.failing
        return len(self.messages) if self.said_length is None else self.said_length

    def take(self) -> list[Message]:
        taken, self.messages = self.messages, []
        return taken


class NoSecrets:
    """Stands for the vault: tokens of test accounts are not encrypted."""

    def token_of(self, tenant_id: UUID, account: Any) -> str:
        return account.access_token


class NeverEnding:
    """Tokens that never need a refresh."""

    def ensure(self, work: Work, *, until: object = None) -> AccountReady:
        return AccountReady(account=work.account)


@dataclass
class Buckets:
    """Our own count of what a platform allows: `wait` seconds for everybody."""

    wait: float = 0.0

    def wait_seconds(self, work: Work) -> float:
        return self.wait


class NoFiles:
    def open(self, key: str) -> Any:
        raise AssertionError(f"no file {key} in these tests")


def lost(kind: str = "read_timeout") -> NetworkFailure:
    """The request was sent and its answer never came."""
    return NetworkFailure(kind=kind, sent=True, detail="no answer")


def refused() -> NetworkFailure:
    """The connection was refused: certainly nothing was sent."""
    return NetworkFailure(kind="refused", sent=False, detail="refused")


def found(remote_id: str) -> Found:
    return Found(remote_id=remote_id, permalink=f"https://social.example/{remote_id}")
