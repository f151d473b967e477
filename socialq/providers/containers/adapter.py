"""What adapters of platforms that publish from containers have in common.

A platform says how its containers are made (`ContainerApi`), where its API is, and what makes an entry of its
listing a part; preparing, publishing, looking and reading answers are the same.
"""

from __future__ import annotations

import functools
import time
from abc import abstractmethod
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote

from socialq.domain.clock import Clock, SystemClock
from socialq.domain.outcomes import Accepted, Transient, Unknown
from socialq.providers.base import Adapter, KeyDeduplication, Problem
from socialq.providers.containers.building import FRESH, Building
from socialq.providers.containers.finder import ContainerLook, Sought
from socialq.providers.containers.mentions import unchecked_mentions
from socialq.providers.containers.steps import container_of, made_containers, steps_left
from socialq.providers.containers.stored import lost
from socialq.providers.graph.answers import meaning_of, read_refusal, read_usage
from socialq.providers.graph.reading import read_post
from socialq.providers.graph.said import evidence, graph_id, json_object, web_address
from socialq.providers.http import Answer, Call
from socialq.providers.waiting import Waiting, http_date

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from socialq.domain.outcomes import LookResult, Ours, PublishOutcome, RateLimited, Reading
    from socialq.providers.base import AccountAccess, Part, PrepareStep
    from socialq.providers.containers.api import ContainerApi
    from socialq.providers.graph.listing import Listing
    from socialq.providers.http import Http


_LOST: Final = frozenset({"container_lost", "container_failed", "media_not_fetched", "media_unseen"})
"""Refusals of a publish step after which another container may fare better, once it is known not to be live."""


class ContainerAdapter(Adapter):
    """One such platform. Holds no state of accounts or targets."""

    containers: ClassVar[ContainerApi]
    publish_edge: ClassVar[str]
    """What is asked of an account to publish a container, such as `media_publish`."""
    posts_edge: ClassVar[str]
    """Under which an account's own posts are listed, such as `media`."""
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
        """Build the request that publishes the part's container.

        Its subject is the name under which the container's loss would be stored: none while it is so new that
        another of the platform's machines may not have seen it yet.
        """
        now = self._waiting.clock.now()
        ready = container_of(part, prepared, now=now)
        call = self.post_to(
            account, f"{account.remote_user_id}/{self.publish_edge}", ("creation_id", ready.remote_id)
        )
        return replace(call, subject=ready.next_ready_name) if now - ready.made_at > FRESH else call

    def read_publish(self, answer: Answer, part: Part) -> PublishOutcome:
        """Translate the answer by the platform's table. It tells no address: `permalink` asks for it.

        That a container is not found any more, or failed after all, may also be said of one that was published a
        moment ago, and another one would post it twice: it is looked for first. Proven absent, the next try asks for
        the container's state, and builds another one.
        """
        del part
        remote_id = graph_id(json_object(answer).get("id")) if 200 <= answer.status < 300 else None
        dialect = self.containers.dialect
        if remote_id is None:
            return self._refused(answer)
        return Accepted(
            remote_id=remote_id,
            accepted_at=http_date(answer.headers.get("date")) or datetime.now(UTC),
            evidence=evidence(answer, f"{dialect.platform}.accepted"),
        )

    def _refused(self, answer: Answer) -> PublishOutcome:
        dialect = self.containers.dialect
        outcome = read_refusal(answer, dialect)
        is_lost = meaning_of(answer, dialect).name in _LOST
        if not isinstance(outcome, Transient) or not is_lost or answer.subject is None:
            return outcome
        learned = {answer.subject: lost(at=self._waiting.clock.now())}
        return Unknown(evidence=outcome.evidence, learned=learned)

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
        """Say that the account has published all that it may in a day, and which mentions nobody could check."""
        label = self.containers.dialect.label
        return [*self._quota_advice(http, account, parts), *unchecked_mentions(parts, label=label)]

    def _quota_advice(self, http: Http, account: AccountAccess, parts: Sequence[Part]) -> list[Problem]:
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

    def read_post(self, http: Http, account: AccountAccess, *, remote_id: str) -> Reading:
        """Read the post with whose it is."""
        place = self.api_address(account.base_url)
        return read_post(
            http,
            account,
            address=f"{place}/{quote(remote_id, safe='')}",
            posts=f"{place}/{account.remote_user_id}/{self.posts_edge}",
            remote_id=remote_id,
            author_fields="owner,username",
            dialect=self.containers.dialect,
        )

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
