"""The adapter for Threads: text, pictures, videos, carousels, threads and replies, by its API 1.0.

Sources: developers.facebook.com/docs/threads. A post is made in two steps: a container, which takes a file from a
public address, and its publish. Tokens live for two months and are traded for themselves.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from socialq.providers.base import Connection, Finder, MediaRules
from socialq.providers.containers.adapter import ContainerAdapter
from socialq.providers.graph.gone import look_gone, read_deletion
from socialq.providers.http import Call
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

    from socialq.domain.outcomes import PrepareFailure, TakedownOutcome, Unknown
    from socialq.providers.base import AccountAccess, AppCredentials, Part, Problem, Refreshed
    from socialq.providers.consent import Consent
    from socialq.providers.containers.api import ContainerApi
    from socialq.providers.containers.finder import Sought
    from socialq.providers.graph.listing import Listing
    from socialq.providers.http import Answer, Http
    from socialq.providers.options import Option

# A post is listed within seconds; nothing is promised, so it gets half a minute.
_LAG: Final = timedelta(seconds=30)


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
    posts_edge: ClassVar[str] = "threads"

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

    def takedown_call(self, account: AccountAccess, *, remote_id: str) -> Call | None:
        """Build `DELETE /{post}`, which takes the permission to delete."""
        headers = {"Authorization": f"Bearer {account.token}"}
        return Call(method="DELETE", url=f"{api(account.base_url)}/{remote_id}", headers=headers)

    def read_takedown(self, answer: Answer) -> TakedownOutcome:
        """Translate the answer. A post that is not there may only not be seen: see `look_gone`."""
        return read_deletion(answer, THREADS)

    def look_gone(
        self, http: Http, account: AccountAccess, *, remote_id: str, doubt: Unknown
    ) -> TakedownOutcome:
        """Read the post, and the newest of the account's."""
        place = api(account.base_url)
        return look_gone(
            http,
            address=f"{place}/{remote_id}",
            posts=f"{place}/{account.remote_user_id}/threads",
            remote_id=remote_id,
            token=account.token,
            dialect=THREADS,
            doubt=doubt,
        )

    def refresh(
        self, http: Http, *, base_url: str, refresh_token: str, app: AppCredentials, now: datetime
    ) -> Refreshed | PrepareFailure:
        """Trade the access token itself, which is handed in as `refresh_token`, for a new one."""
        del app
        return LONG_LIVED.refreshed(http, root=root(base_url), token=refresh_token, now=now)
