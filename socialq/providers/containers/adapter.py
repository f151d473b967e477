"""What adapters of platforms that publish from containers have in common.

A platform says how its containers are made (`ContainerApi`), where its API is, and what makes an entry of its
listing a part; preparing, publishing, looking and reading answers are the same.
"""

from __future__ import annotations

import functools
import time
from abc import abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from socialq.domain.clock import Clock, SystemClock
from socialq.domain.outcomes import Accepted
from socialq.providers.base import Adapter, KeyDeduplication, Problem
from socialq.providers.containers.building import Building, Waiting
from socialq.providers.containers.finder import ContainerLook, Sought
from socialq.providers.containers.steps import container_id, made_containers, steps_left
from socialq.providers.graph.answers import read_refusal, read_usage
from socialq.providers.graph.said import evidence, graph_id, json_object, web_address
from socialq.providers.http import Answer, Call
from socialq.providers.waiting import http_date

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from socialq.domain.outcomes import LookResult, Ours, PublishOutcome, RateLimited
    from socialq.providers.base import AccountAccess, Part, PrepareStep
    from socialq.providers.containers.api import ContainerApi
    from socialq.providers.graph.listing import Listing
    from socialq.providers.http import Http


class ContainerAdapter(Adapter):
    """One such platform. Holds no state of accounts or targets."""

    containers: ClassVar[ContainerApi]
    publish_edge: ClassVar[str]
    """What is asked of an account to publish a container, such as `media_publish`."""
    deduplicates: ClassVar[KeyDeduplication | None] = None
    """A container is good for one post, but a second publish does not tell which: nothing is promised."""

    def __init__(self, *, clock: Clock | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        """Take how time passes; the machine's clock and a real sleep unless a test says otherwise."""
        self._waiting = Waiting(clock=clock or SystemClock(), sleep=sleep)

    @abstractmethod
    def api_address(self, base_url: str) -> str:
        """Return where the API is, with its version."""

    @abstractmethod
    def listing_of(
        self,
        http: Http,
        account: AccountAccess,
        part: Part,
        *,
        now: datetime,
        sent_after: datetime,
        deadline: float,
    ) -> Listing:
        """Open the listing in which a part would stand."""

    @abstractmethod
    def sought(self, account: AccountAccess, part: Part) -> Sought:
        """Say what makes an entry of that listing the part."""

    def prepare_steps(
        self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]
    ) -> list[PrepareStep]:
        """List what can be done now: nothing of a reply's container before its parent is live."""
        building = Building(api=self.containers, account=account, part=part, waiting=self._waiting)
        return steps_left(building, prepared)

    def publish_call(self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]) -> Call:
        """Build the request that publishes the part's container."""
        ready = container_id(part, prepared, now=self._waiting.clock.now())
        return self.post_to(account, f"{account.remote_user_id}/{self.publish_edge}", ("creation_id", ready))

    def read_publish(self, answer: Answer, part: Part) -> PublishOutcome:
        """Translate the answer by the platform's table. It tells no address: `permalink` asks for it."""
        del part
        remote_id = graph_id(json_object(answer).get("id")) if 200 <= answer.status < 300 else None
        dialect = self.containers.dialect
        if remote_id is None:
            return read_refusal(answer, dialect)
        return Accepted(
            remote_id=remote_id,
            accepted_at=http_date(answer.headers.get("date")) or datetime.now(UTC),
            evidence=evidence(answer, f"{dialect.platform}.accepted"),
        )

    def look(
        self,
        http: Http,
        account: AccountAccess,
        part: Part,
        *,
        sent_after: datetime,
        claimed_ids: frozenset[str],
        prepared: Mapping[str, Any],
    ) -> LookResult:
        """Ask the part's containers whether one was published, then a listing for its id; see `finder`."""
        now = self._waiting.clock.now()
        edge = functools.partial(self.listing_of, http, account, part, now=now, sent_after=sent_after)
        look = ContainerLook(
            http=http,
            account=account,
            api=self.containers,
            containers=made_containers(prepared),
            edge=edge,
            sought=self.sought(account, part),
        )
        return look.run(sent_after=sent_after, claimed_ids=claimed_ids)

    def usage(self, answer: Answer) -> RateLimited | Ours | None:
        """Read the usage headers, and what an error says of the account or the application."""
        return read_usage(answer, self.containers.dialect)

    def advice(self, http: Http, account: AccountAccess, parts: Sequence[Part]) -> list[Problem]:
        """Say that the account has published all that it may in a day; who is mentioned can't be asked for."""
        answer = http.send(self.containers.quota_call(account))
        if not isinstance(answer, Answer) or answer.status != 200 or not parts:
            return []
        quota = self.containers.read_quota(answer, parts[0])
        if quota is None or not quota.is_used_up:
            return []
        message = (
            f"{self.containers.dialect.label} takes {quota.total} posts in {quota.per_seconds / 3600:.0f} hours and "
            "this account has used them up: a post that is due before some of them are older waits for that."
        )
        return [Problem(field="account", code="quota_used_up", message=message)]

    def permalink(self, http: Http, account: AccountAccess, *, remote_id: str) -> str | None:
        """Ask for the address of a live post."""
        answer = http.send(self.get_from(account, remote_id, "permalink"))
        found = json_object(answer) if isinstance(answer, Answer) and answer.status == 200 else {}
        return web_address(found.get("permalink"))

    def get_from(self, account: AccountAccess, path: str, fields: str) -> Call:
        """Build a request for an object's fields."""
        return Call(
            method="GET",
            url=f"{self.api_address(account.base_url)}/{path}",
            headers={"Authorization": f"Bearer {account.token}"},
            params=[("fields", fields)],
        )

    def post_to(self, account: AccountAccess, path: str, *form: tuple[str, str]) -> Call:
        """Build a request that makes something under an object."""
        return Call(
            method="POST",
            url=f"{self.api_address(account.base_url)}/{path}",
            headers={"Authorization": f"Bearer {account.token}"},
            form=form,
        )
