"""A platform with a ledger, for hops on a real database: it does at each request what it was told to do next."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from socialq.domain.outcomes import (
    Absent,
    Accepted,
    CannotTell,
    Evidence,
    Found,
    Prepared,
    RateLimited,
    Rejected,
    Transient,
)
from socialq.providers.base import PrepareStep
from tests.integration.pipeline.doubles import Platform, lost, refused

if TYPE_CHECKING:
    from collections.abc import Callable

SAID = Evidence(http_status=400, code="test", message="said so")
IMAGE = "+image"
OUTCOMES = ("accept", "accept_and_lose", "lose", "accept_later_and_lose", "reject", "fail", "limit", "refuse")


@dataclass(frozen=True)
class Post:
    id: str
    account: str
    text: str
    parent: str | None


class LedgerPlatform(Platform):
    """Accepts and answers as `plan` says, one word a request, then accepts. Looks read the ledger."""

    def __init__(self) -> None:
        super().__init__()
        self.plan: list[str] = []
        self.blind_looks = 0
        """So many looks can't be finished."""
        self.ledger: list[Post] = []
        self.later: list[dict[str, Any]] = []
        self.under_way: Counter[str] = Counter()
        self.requests: list[dict[str, Any]] = []
        self.before_send: Callable[[dict[str, Any]], None] = lambda _body: None
        self.pause: Callable[[], None] = lambda: None
        self.connecting: Callable[[], None] = lambda: None

    def prepare_steps(self, account, part, prepared):
        """A picture is uploaded first: then the claim is not the mark yet."""
        if not part.text.endswith(IMAGE) or "upload" in prepared:
            return []
        return [PrepareStep(name="upload", run=lambda _http: Prepared(result={"id": 1}))]

    def publish_call(self, account, part, prepared):
        call = super().publish_call(account, part, prepared)
        call.json["account"] = account.account_id
        return call

    def open(self, call, *, deadline_seconds):
        self.connecting()
        if self.plan and self.plan[0] == "refuse":
            self.plan.pop(0)
            return refused()
        return super().open(call, deadline_seconds=deadline_seconds)

    def sends(self, call) -> Any:
        body = call.json
        self.before_send(body)
        assert not self.under_way[body["account"]], "two requests of an account are under way"
        self.requests.append(body)
        self.under_way[body["account"]] += 1
        try:
            answer = self._answer(body)
            self.pause()
        finally:
            self.under_way[body["account"]] -= 1
        return answer

    def _answer(self, body: dict[str, Any]) -> Any:
        match self.plan.pop(0) if self.plan else "accept":
            case "accept":
                return self.accept(body)
            case "accept_and_lose":
                self.accept(body)
                return lost()
            case "lose":
                return lost()
            case "accept_later_and_lose":
                self.later.append(body)
                return lost()
            case "reject":
                return Rejected(evidence=SAID)
            case "fail":
                return Transient(evidence=SAID)
            case "limit":
                return RateLimited(evidence=SAID, retry_after_seconds=30)
            case other:
                raise AssertionError(other)

    def accept(self, body: dict[str, Any]) -> Accepted:
        """Make it public."""
        post = Post(str(1000 + len(self.ledger)), body["account"], body["text"], body["parent"])
        self.ledger.append(post)
        return Accepted(remote_id=post.id, permalink=f"https://social.example/@a/{post.id}")

    def accept_what_is_left(self) -> None:
        """Accept what takes longer than its answer."""
        while self.later:
            self.accept(self.later.pop(0))

    def look(self, http, account, part, *, sent_after, claimed_ids, prepared):
        if self.blind_looks:
            self.blind_looks -= 1
            return CannotTell(failure=Transient(evidence=SAID))
        for post in self.ledger:
            if (post.account, post.text) == (account.account_id, part.text) and post.id not in claimed_ids:
                return Found(remote_id=post.id, permalink=f"https://social.example/@a/{post.id}")
        return Absent(examined=len(self.ledger))
