"""The adapter for Threads: text, pictures, videos, carousels, threads and replies, by its API 1.0.

Sources: developers.facebook.com/docs/threads. A post is made in two steps: a container, which takes a file from a
public address, and its publish. Tokens live for two months and are traded for themselves.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from socialq.domain.outcomes import TakenDown, Unknown
from socialq.providers.base import Connection, Finder, MediaRules
from socialq.providers.containers.adapter import ContainerAdapter
from socialq.providers.graph.answers import meaning_of, read_failure
from socialq.providers.graph.said import evidence, json_object
from socialq.providers.http import Answer, Call
from socialq.providers.post_forms import PostForm
from socialq.providers.threads import finder
from socialq.providers.threads.consent import LONG_LIVED, ThreadsConsent
from socialq.providers.threads.containers import ThreadsContainers
from socialq.providers.threads.dialect import THREADS
from socialq.providers.threads.hosts import api, root
from socialq.providers.threads.limits import DEFAULT_LIMITS, MEDIA_RULES
from socialq.providers.threads.profile import read_profile
from socialq.providers.threads.rules import OPTIONS, check_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from socialq.domain.outcomes import PrepareFailure, TakedownOutcome
    from socialq.providers.base import AccountAccess, AppCredentials, Part, Problem, Refreshed
    from socialq.providers.consent import Consent
    from socialq.providers.containers.api import ContainerApi
    from socialq.providers.containers.finder import Sought
    from socialq.providers.graph.listing import Listing
    from socialq.providers.http import Http
    from socialq.providers.options import Option

_READ_REPLIES: Final = "threads_read_replies"
# A post is listed within seconds; nothing is promised, so it gets half a minute.
_LAG: Final = timedelta(seconds=30)
_GONE: Final = frozenset({"not_found", "media_unseen"})


class Threads(ContainerAdapter):
    """Threads. Holds no state of accounts or targets."""

    platform: ClassVar[str] = "threads"
    options: ClassVar[tuple[Option, ...]] = OPTIONS
    api_root: ClassVar[str] = "https://graph.threads.net"
    required_scopes: ClassVar[frozenset[str]] = frozenset({"threads_basic", "threads_content_publish"})
    finder: ClassVar[Finder | None] = Finder(lag=_LAG)
    # A container lives for a day and a long video takes minutes: nothing made then can be over at its slot.
    prepare_ahead: ClassVar[timedelta | None] = timedelta(minutes=20)
    prepares_texts: ClassVar[bool] = True
    media_rules: ClassVar[MediaRules | None] = MEDIA_RULES
    consent: ClassVar[Consent | None] = ThreadsConsent()
    renews_itself: ClassVar[bool] = True
    # Tokens live for 60 days: refreshed with the first post of the last 20, there are weeks for another try.
    refresh_ahead: ClassVar[timedelta] = timedelta(days=20)
    least_token_age: ClassVar[timedelta] = timedelta(hours=24)
    # The letters of a post's link are not its id, and nothing but the API tells which id they stand for.
    post_forms: ClassVar[tuple[PostForm, ...]] = (PostForm(re.compile(r"(?P<id>\d{5,25})", re.ASCII)),)
    post_naming: ClassVar[str] = (
        "give its number: the API's /USER/threads?fields=id,permalink lists it beside the link"
    )
    containers: ClassVar[ContainerApi] = ThreadsContainers()
    publish_edge: ClassVar[str] = "threads_publish"

    def connect(
        self, http: Http, *, base_url: str, token: str, remote_user_id: str | None = None
    ) -> Connection | PrepareFailure:
        """Ask who the token belongs to, and what it may do.

        Threads tells the latter to testers alone. Else all that is asked for is assumed: a missing scope shows as
        a refusal at the first post, while an empty set would stop an account that works.
        """
        del remote_user_id
        profile = read_profile(http, base_url=base_url, token=token)
        if not isinstance(profile, tuple):
            return profile
        me, scopes = profile
        return Connection(
            handle=me.handle,
            remote_user_id=me.remote_user_id,
            display_name=me.display_name,
            scopes=scopes or frozenset(ThreadsConsent.scopes),
            limits=dict(DEFAULT_LIMITS),
        )

    def check(self, parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
        """Check length, links, files and options by Threads' rules and the account's limits."""
        return check_parts(parts, limits)

    def api_address(self, base_url: str) -> str:
        """Return where the API is, with its version."""
        return api(base_url)

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
        """Open the listing: of the account's posts, or for what replies, of its replies."""
        return finder.listing_of(http, account, part, now=now, sent_after=sent_after, deadline=deadline)

    def sought(self, account: AccountAccess, part: Part) -> Sought:
        """Say what makes an entry the part."""
        del account
        return finder.sought(part)

    def finder_of(self, *, remote_user_id: str, scopes: frozenset[str]) -> Finder | None:
        """Say that replies can be looked through only with the permission to read them."""
        del remote_user_id
        return Finder(lag=_LAG, covers_threads=_READ_REPLIES in scopes)

    def takedown_call(self, account: AccountAccess, *, remote_id: str) -> Call | None:
        """Build `DELETE /{post}`, which takes the permission to delete."""
        headers = {"Authorization": f"Bearer {account.token}"}
        return Call(method="DELETE", url=f"{api(account.base_url)}/{remote_id}", headers=headers)

    def read_takedown(self, answer: Answer) -> TakedownOutcome:
        """Translate the answer; a post that is not there counts as taken down."""
        if 200 <= answer.status < 300 and json_object(answer).get("success") is True:
            return TakenDown(evidence=evidence(answer, "threads.taken_down"))
        meaning = meaning_of(answer, THREADS)
        if meaning.name in _GONE:
            return TakenDown(evidence=evidence(answer, "threads.gone_already"))
        if meaning.publish == "unknown":
            return Unknown(evidence=evidence(answer, f"threads.{meaning.name}"))
        return read_failure(answer, THREADS)

    def refresh(
        self, http: Http, *, base_url: str, refresh_token: str, app: AppCredentials, now: datetime
    ) -> Refreshed | PrepareFailure:
        """Trade the access token itself, which is handed in as `refresh_token`, for a new one."""
        del app
        return LONG_LIVED.refreshed(http, root=root(base_url), token=refresh_token, now=now)
