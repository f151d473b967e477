"""The adapter for Instagram: pictures, reels, carousels and first comments, by its content publishing API.

Sources: developers.facebook.com/docs/instagram-platform. A post is made in two steps: a container, which takes a
file from a public address, and its publish. A first comment is one request. Tokens of Instagram Login live for two
months and are traded for themselves; those given through a Facebook Page do not end. Posts can be deleted by the
API since December 2025, and only with a Page's token: Instagram Login has no such call.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from socialq.providers.base import Connection, Finder, MediaRules
from socialq.providers.containers.adapter import ContainerAdapter
from socialq.providers.graph.gone import look_gone, read_deletion
from socialq.providers.http import Call
from socialq.providers.instagram import finder
from socialq.providers.instagram.consent import LONG_LIVED, InstagramConsent
from socialq.providers.instagram.containers import InstagramContainers
from socialq.providers.instagram.dialect import INSTAGRAM
from socialq.providers.instagram.hosts import api, is_by_page, root
from socialq.providers.instagram.limits import DEFAULT_LIMITS, MEDIA_RULES
from socialq.providers.instagram.profile import Profile, read_profile
from socialq.providers.instagram.rules import OPTIONS, check_parts
from socialq.providers.post_forms import PostForm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from socialq.domain.outcomes import PrepareFailure, TakedownOutcome, Unknown
    from socialq.providers.base import AccountAccess, AppCredentials, Part, PrepareStep, Problem, Refreshed
    from socialq.providers.consent import Consent
    from socialq.providers.containers.api import ContainerApi
    from socialq.providers.containers.finder import Sought
    from socialq.providers.graph.listing import Listing
    from socialq.providers.http import Answer, Http
    from socialq.providers.options import Option

_LAG: Final = timedelta(seconds=30)


class Instagram(ContainerAdapter):
    """Instagram. Holds no state of accounts or targets."""

    platform: ClassVar[str] = "instagram"
    options: ClassVar[tuple[Option, ...]] = OPTIONS
    api_root: ClassVar[str] = "https://graph.instagram.com"
    required_scopes: ClassVar[frozenset[str]] = frozenset(
        {"instagram_business_basic", "instagram_business_content_publish"}
    )
    # A post is listed within seconds; nothing is promised, so it gets half a minute.
    finder: ClassVar[Finder | None] = Finder(lag=_LAG)
    # A container lives for a day and a long video takes minutes: nothing made then can be over at its slot.
    prepare_ahead: ClassVar[timedelta | None] = timedelta(minutes=30)
    media_rules: ClassVar[MediaRules | None] = MEDIA_RULES
    consent: ClassVar[Consent | None] = InstagramConsent()
    renews_itself: ClassVar[bool] = True
    # Tokens live for 60 days: refreshed with the first post of the last 20, there are weeks for another try.
    refresh_ahead: ClassVar[timedelta] = timedelta(days=20)
    least_token_age: ClassVar[timedelta] = timedelta(hours=24)
    # The letters of a post's link are not its id, and nothing but the API tells which id they stand for.
    post_forms: ClassVar[tuple[PostForm, ...]] = (PostForm(re.compile(r"(?P<id>\d{5,25})", re.ASCII)),)
    post_naming: ClassVar[str] = (
        "give its number: the API's /USER/media?fields=id,permalink lists it beside the link"
    )
    takedown_by_hand: ClassVar[str] = (
        "open it in Instagram's app or at instagram.com, tap the three dots on it and choose Delete; accounts that are "
        "connected through a Facebook Page can be taken down from here"
    )
    containers: ClassVar[ContainerApi] = InstagramContainers()
    publish_edge: ClassVar[str] = "media_publish"
    posts_edge: ClassVar[str] = "media"

    def connect(
        self, http: Http, *, base_url: str, token: str, remote_user_id: str | None = None
    ) -> Connection | PrepareFailure:
        """Ask who the token belongs to.

        Instagram says only in the answer that gives a token what the token may do. All that is asked for is assumed
        here: a missing scope shows as a refusal at the first post.
        """
        me = read_profile(http, base_url=base_url, token=token, remote_user_id=remote_user_id)
        if not isinstance(me, Profile):
            return me
        return Connection(
            handle=me.handle,
            remote_user_id=me.remote_user_id,
            display_name=me.display_name,
            scopes=frozenset(InstagramConsent.scopes),
            limits=dict(DEFAULT_LIMITS),
        )

    def check(self, parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
        """Check files, captions and options by Instagram's rules and the account's limits."""
        return check_parts(parts, limits)

    def prepare_steps(
        self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]
    ) -> list[PrepareStep]:
        """List what can be done now: a comment needs nothing."""
        return [] if part.role == "comment" else super().prepare_steps(account, part, prepared)

    def publish_call(self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]) -> Call:
        """Build `POST /{user}/media_publish`, or for a comment `POST /{post}/comments`."""
        if part.role == "comment":
            return self.post_to(account, f"{part.parent_id}/comments", ("message", part.text))
        return super().publish_call(account, part, prepared)

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
        """Open the listing: of the account's posts, or of the comments under a post."""
        del sent_after
        return finder.listing_of(http, account, part, now=now, deadline=deadline)

    def sought(self, account: AccountAccess, part: Part) -> Sought:
        """Say what makes an entry the part."""
        return finder.sought(account, part)

    def takedown_call(self, account: AccountAccess, *, remote_id: str) -> Call | None:
        """Build `DELETE /{id}`, for a post or a comment of an account that is connected through a Facebook Page."""
        if not is_by_page(account.base_url):
            return None
        headers = {"Authorization": f"Bearer {account.token}"}
        return Call(method="DELETE", url=f"{api(account.base_url)}/{remote_id}", headers=headers)

    def read_takedown(self, answer: Answer) -> TakedownOutcome:
        """Translate the answer. What is not there may only not be seen: see `look_gone`."""
        return read_deletion(answer, INSTAGRAM)

    def look_gone(
        self, http: Http, account: AccountAccess, *, remote_id: str, doubt: Unknown
    ) -> TakedownOutcome:
        """Read the post or comment, and the newest of the account's posts."""
        place = api(account.base_url)
        return look_gone(
            http,
            address=f"{place}/{remote_id}",
            posts=f"{place}/{account.remote_user_id}/media",
            remote_id=remote_id,
            token=account.token,
            dialect=INSTAGRAM,
            doubt=doubt,
        )

    def refresh(
        self, http: Http, *, base_url: str, refresh_token: str, app: AppCredentials, now: datetime
    ) -> Refreshed | PrepareFailure:
        """Trade the access token itself, which is handed in as `refresh_token`, for a new one."""
        del app
        return LONG_LIVED.refreshed(http, root=root(base_url), token=refresh_token, now=now)
