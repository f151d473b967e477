"""Simulated platforms: what is accepted, what is answered, and what is listed are three different things.

`SimPlatform` is an adapter and its HTTP in one. A request may be accepted at once, later or never, and its answer
may come, come late or be lost, in any combination; what is accepted is listed only after a while, within the
finder's lag. The ledger is the oracle: it is written by nobody else and read by no hop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from socialq.domain.outcomes import (
    Absent,
    Accepted,
    AuthLost,
    CannotTell,
    Duplicate,
    Evidence,
    Found,
    Ours,
    PermissionLost,
    Prepared,
    RateLimited,
    Rejected,
    Transient,
    Unknown,
)
from socialq.providers.base import Adapter, Finder, PrepareStep
from socialq.providers.http import Call, NetworkFailure

if TYPE_CHECKING:
    from socialq.domain.outcomes import LookResult
    from tests.simulation.world import World

SCOPES = frozenset({"write"})
DEADLINE_SECONDS = 30.0
SAID = Evidence(http_status=400, code="sim", message="said so")
_SKEW = timedelta(minutes=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One line of the ledger."""

    id: str
    account_id: str
    text: str
    key: str
    at: datetime
    listed_at: datetime
    parent_id: str | None


@dataclass(slots=True, kw_only=True)
class Request:
    """One publish request that reached the platform."""

    body: dict[str, Any]
    account_id: str
    at: datetime
    person_decides: int = 0
    post: Post | None = None
    answered: bool = False
    """A worker got an answer that says for certain what became of it."""
    under_way: bool = True
    """Its worker waits for the answer, within its deadline."""


@dataclass(kw_only=True, eq=False)
class SimPlatform(Adapter):
    """One platform; `lag_seconds` None: it can't be asked."""

    platform: str
    world: World
    lag_seconds: float | None = 5.0
    refuses_duplicates: bool = False
    requests: list[Request] = field(default_factory=list)
    ledger: list[Post] = field(default_factory=list)
    later: list[tuple[datetime, Request]] = field(default_factory=list)
    """Requests that are accepted at a time, whoever still waits for them."""
    required_scopes = SCOPES
    deduplicates = None

    @property
    def finder(self) -> Finder | None:
        return None if self.lag_seconds is None else Finder(lag=timedelta(seconds=self.lag_seconds))

    def connect(self, http, *, base_url, token, remote_user_id=None):
        raise NotImplementedError

    def check(self, parts, limits):
        return []

    def prepare_steps(self, account, part, prepared):
        if not part.text.endswith("+image") or "upload" in prepared:
            return []
        return [PrepareStep(name="upload", run=lambda _http: self._upload())]

    def _upload(self) -> Any:
        self.world.takes_a_while("upload")
        if self.world.strikes(0.1):
            return self.world.rng.choice(
                [Transient(evidence=SAID), RateLimited(evidence=SAID, retry_after_seconds=40)]
            )
        return Prepared(result={"id": 1})

    def publish_call(self, account, part, prepared):
        body = {"key": part.key, "text": part.text, "number": part.number, "parent": part.parent_id}
        url = f"https://sim.example/{account.account_id}"
        return Call(method="POST", url=url, json=body)

    def read_publish(self, answer, part):
        return answer

    # What stands for `Http`: one of each platform's, since a call says by its address where it goes.

    def open(self, call: Call, *, deadline_seconds: float) -> Any:
        del deadline_seconds
        self.world.takes_a_while("connect")
        if self.world.strikes(0.04):
            return NetworkFailure(kind="refused", sent=False, detail="refused")
        return _Opened(platform=self, call=call)

    def receive(self, call: Call) -> Any:
        """One request: what becomes of it, and what its sender gets to see."""
        world = self.world
        request = Request(body=call.json, account_id=call.url.rpartition("/")[2], at=world.clock.now())
        world.oracle.sent(self, request)
        self.requests.append(request)
        try:
            answer = self._decide(request)
        finally:
            request.under_way = False
        if isinstance(answer, NetworkFailure | Unknown):
            world.tell(f"  answer lost: {request.body['text']}")
            return answer
        request.answered = True
        world.tell(f"  answer: {type(answer).__name__}")
        return answer

    def _decide(self, request: Request) -> Any:
        world, rng = self.world, self.world.rng
        again = self._posted(request.account_id, request.body["text"])
        if self.refuses_duplicates and again is not None and world.strikes(0.8):
            return Duplicate(evidence=SAID)
        if not world.strikes(0.6):
            self.accept(request)
            world.takes_a_while("answer")
            return self._yes(request)
        if rng.random() < self.world.mood.late:
            self.later.append((world.clock.now() + timedelta(seconds=rng.uniform(0, 25)), request))
            return self._lost()
        match rng.randrange(9):
            case 0 | 1:
                self.accept(request)
                return self._lost()
            case 2:
                return self._lost()
            case 3 | 4:
                # The answer hangs, and so does the worker, perhaps past its lease.
                self.accept(request)
                world.waits(rng.choice((8.0, 29.0, 60.0, 200.0)))
                return self._yes(request) if rng.random() < 0.7 else self._lost()
            case 5:
                return RateLimited(evidence=SAID, retry_after_seconds=rng.choice((5.0, 90.0, 1000.0)))
            case 6:
                return rng.choice([Rejected(evidence=SAID), PermissionLost(evidence=SAID)])
            case 7:
                return rng.choice([AuthLost(evidence=SAID), Ours(evidence=SAID, retry_after_seconds=60)])
            case _:
                return Transient(evidence=SAID)

    def _lost(self) -> Any:
        if self.world.rng.random() < 0.5:
            self.world.waits(DEADLINE_SECONDS)
            return NetworkFailure(kind="read_timeout", sent=True, detail="no answer")
        return Unknown(evidence=SAID)

    def _yes(self, request: Request) -> Accepted:
        assert request.post is not None
        return Accepted(remote_id=request.post.id)

    def accept(self, request: Request, at: datetime | None = None) -> None:
        """Make a request's content public, now or since `at`."""
        at = at or self.world.clock.now()
        lag = 0.0 if self.lag_seconds is None else self.lag_seconds
        post = Post(
            id=f"{self.platform}-{len(self.ledger) + 1}",
            account_id=request.account_id,
            text=request.body["text"],
            key=request.body["key"],
            at=at,
            listed_at=at + timedelta(seconds=self.world.rng.uniform(0, lag)),
            parent_id=request.body["parent"],
        )
        request.post = post
        self.ledger.append(post)
        self.world.tell(f"  LIVE {post.id}: {post.text}")
        self.world.oracle.accepted(self, request)

    def accept_what_is_due(self) -> None:
        """Accept what takes longer, by now."""
        now = self.world.clock.now()
        due = [(at, request) for at, request in self.later if at <= now]
        self.later = [(at, request) for at, request in self.later if at > now]
        for at, request in due:
            self.accept(request, at)

    def _posted(self, account_id: str, text: str) -> Post | None:
        return next((p for p in self.ledger if p.account_id == account_id and p.text == text), None)

    def look(self, http, account, part, *, sent_after, claimed_ids, prepared) -> LookResult:
        self.world.takes_a_while("look")
        result = self._listed(account.account_id, part.text, sent_after, claimed_ids)
        self.world.tell(f"  looked: {type(result).__name__}")
        self.world.oracle.looked(part.number, result)
        self.world.takes_a_while("look's answer")
        return result

    def _listed(
        self, account_id: str, text: str, sent_after: datetime, claimed_ids: frozenset[str]
    ) -> LookResult:
        if self.world.strikes(0.12):
            failure = self.world.rng.choice(
                [
                    Transient(evidence=SAID),
                    RateLimited(evidence=SAID, retry_after_seconds=30),
                    AuthLost(evidence=SAID),
                ]
            )
            return CannotTell(failure=failure)
        now = self.world.clock.now()
        for post in self.ledger:
            if (
                post.account_id == account_id
                and post.text == text
                and post.at >= sent_after - _SKEW
                and post.listed_at <= now
                and post.id not in claimed_ids
            ):
                return Found(remote_id=post.id, created_at=post.at)
        return Absent(examined=len(self.ledger))


@dataclass
class _Opened:
    platform: SimPlatform
    call: Call

    def send(self) -> Any:
        return self.platform.receive(self.call)

    def close(self) -> None:
        """Nothing is open."""


class SimHttp:
    """Finds the platform that an opened call is for."""

    def __init__(self, world: World) -> None:
        self._world = world

    def open(self, call: Call, *, deadline_seconds: float) -> Any:
        platform = self._world.platform_of(call.url.rpartition("/")[2])
        return platform.open(call, deadline_seconds=deadline_seconds)
