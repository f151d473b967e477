"""The adapter for Facebook Pages: text, links, photos, videos, reels and the first comment, by the Graph API.

Sources: developers.facebook.com/docs/pages-api and /docs/video-api. A page's token that was made from a long-lived
login never ends: it is revoked, by a password, a lost role or the person, so nothing is ever refreshed. Facebook
promises no deduplication: it refuses only the very text of a page's last post, and names no id.
"""

from __future__ import annotations

import json
import re
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from socialq.domain.clock import Clock, SystemClock
from socialq.providers.base import Adapter, Finder, KeyDeduplication
from socialq.providers.facebook.advice import plain_mentions
from socialq.providers.facebook.answers import read_created
from socialq.providers.facebook.consent import FacebookConsent
from socialq.providers.facebook.dialect import FACEBOOK
from socialq.providers.facebook.finder import Look
from socialq.providers.facebook.forms import form_of, link_of
from socialq.providers.facebook.hosts import api
from socialq.providers.facebook.limits import MEDIA_RULES
from socialq.providers.facebook.pages import read_page
from socialq.providers.facebook.photos import photo_ids, photo_steps
from socialq.providers.facebook.rules import OPTIONS, check_parts
from socialq.providers.facebook.videos import finish_call, video_steps
from socialq.providers.graph.answers import read_usage
from socialq.providers.graph.gone import look_gone, read_deletion
from socialq.providers.graph.reading import read_post
from socialq.providers.http import Call
from socialq.providers.post_forms import PostForm
from socialq.providers.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from socialq.domain.outcomes import (
        LookResult,
        Ours,
        PrepareFailure,
        PublishOutcome,
        RateLimited,
        Reading,
        TakedownOutcome,
        Unknown,
    )
    from socialq.providers.base import AccountAccess, Connection, MediaRules, Part, PrepareStep, Problem
    from socialq.providers.consent import Consent
    from socialq.providers.http import Answer, Http
    from socialq.providers.options import Option


_SITE: Final = r"https://(?:(?:www|m|web)\.)?facebook\.com/"
_REST: Final = r"/?(?:[?&].*)?"


class Facebook(Adapter):
    """Facebook Pages. Holds no state of accounts or targets."""

    platform: ClassVar[str] = "facebook"
    options: ClassVar[tuple[Option, ...]] = OPTIONS
    api_root: ClassVar[str] = "https://graph.facebook.com"
    required_scopes: ClassVar[frozenset[str]] = frozenset({"pages_manage_posts", "pages_read_engagement"})
    # A post is listed within seconds; nothing is promised, so it gets a minute.
    finder: ClassVar[Finder | None] = Finder(lag=timedelta(seconds=60))
    deduplicates: ClassVar[KeyDeduplication | None] = None
    # A photo waits unpublished for as long as it must, an upload of a video for a day.
    prepare_ahead: ClassVar[timedelta | None] = timedelta(minutes=30)
    media_rules: ClassVar[MediaRules | None] = MEDIA_RULES
    consent: ClassVar[Consent | None] = FacebookConsent()

    def __init__(self, *, clock: Clock | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        """Take how time passes; the machine's clock and a real sleep unless a test says otherwise."""
        self._waiting = Waiting(clock=clock or SystemClock(), sleep=sleep)

    def connect(
        self, http: Http, *, base_url: str, token: str, remote_user_id: str | None = None
    ) -> Connection | PrepareFailure:
        """Ask which page the token speaks for; a person's token is refused.

        What a page's token may do is told to the person who grants it, not to the token. What is asked for is
        assumed here: a missing permission shows as a refusal at the first post.
        """
        scopes = frozenset(FacebookConsent.scopes)
        return read_page(http, base_url=base_url, token=token, wanted_id=remote_user_id, scopes=scopes)

    def check(self, parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
        """Check length, files, options and the first comment by Facebook's rules and the account's limits."""
        return check_parts(parts, limits)

    def prepare_steps(
        self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]
    ) -> list[PrepareStep]:
        """List the uploads and waits that can run now; ask again with their results until none is left."""
        match form_of(part):
            case "photos":
                return photo_steps(account, part, prepared, clock=self._waiting.clock)
            case "video" | "reel":
                return video_steps(account, part, prepared, self._waiting)
            case _:
                return []

    def publish_call(self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]) -> Call:
        """Build the request: a post on the page, the end of a video's upload, or a comment."""
        match form_of(part):
            case "video" | "reel":
                return finish_call(account, part, prepared, now=self._waiting.clock.now())
            case "comment":
                return self._call(account, f"{part.parent_id}/comments", [("message", part.text)])
            case _:
                return self._call(account, f"{account.remote_user_id}/feed", self._post(part, prepared))

    def read_publish(self, answer: Answer, part: Part) -> PublishOutcome:
        """Translate the answer; see the tables in `dialect` and `socialq.providers.graph.answers`."""
        return read_created(answer, part)

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
        """Look among the page's posts, under the post, or at the video; see `finder`."""
        look = Look(http, account, part, prepared=prepared, now=self._waiting.clock.now())
        return look.run(sent_after=sent_after, claimed_ids=claimed_ids)

    def usage(self, answer: Answer) -> RateLimited | Ours | None:
        """Read what is used up from the usage headers, and from refusals that are not of this post alone."""
        return read_usage(answer, FACEBOOK)

    def advice(self, http: Http, account: AccountAccess, parts: Sequence[Part]) -> list[Problem]:
        """Say of each `@name` that it will stand there as plain text."""
        del http, account
        return plain_mentions(parts)

    def read_post(self, http: Http, account: AccountAccess, *, remote_id: str) -> Reading:
        """Read the post, video or photo with whom it is from."""
        place = api(account.base_url)
        return read_post(
            http,
            account,
            address=f"{place}/{remote_id}",
            posts=f"{place}/{account.remote_user_id}/published_posts",
            remote_id=remote_id,
            author_fields="from",
            dialect=FACEBOOK,
        )

    # A post's id is PAGE_NUMBER; a film's is its own number.
    post_forms: ClassVar[tuple[PostForm, ...]] = tuple(
        PostForm(re.compile(form, re.ASCII), remote_id)
        for form, remote_id in (
            (rf"(?:{_SITE})?(?P<by>\d{{1,25}})_(?P<number>\d{{1,25}}){_REST}", "{account}_{number}"),
            (
                rf"{_SITE}(?P<by>[\w.]+)/posts/(?:[\w.%-]+/)?(?P<number>\d{{1,25}}){_REST}",
                "{account}_{number}",
            ),
            (
                rf"{_SITE}permalink\.php\?story_fbid=(?P<number>\d{{1,25}})&id=(?P<by>\d{{1,25}})(?:&.*)?",
                "{account}_{number}",
            ),
            (rf"{_SITE}(?P<by>[\w.]+)/videos/(?:[\w.%-]+/)?(?P<number>\d{{1,25}}){_REST}", "{number}"),
            (rf"{_SITE}(?:reel/|watch/?\?v=)?(?P<number>\d{{1,25}}){_REST}", "{number}"),
            (r"(?P<number>\d{5,25})", "{number}"),
        )
    )
    post_naming: ClassVar[str] = (
        "give its id (PAGE_NUMBER, or a film's number), as Meta Business Suite's content list or"
        " the Graph API's /PAGE/feed shows it"
    )

    def takedown_call(self, account: AccountAccess, *, remote_id: str) -> Call | None:
        """Build `DELETE /{id}`, for a post, a video or a comment. Only what this application made can be deleted."""
        headers = {"Authorization": f"Bearer {account.token}"}
        return Call(method="DELETE", url=f"{api(account.base_url)}/{remote_id}", headers=headers)

    def read_takedown(self, answer: Answer) -> TakedownOutcome:
        """Translate the answer to a deletion. What is not found may only not be seen: see `look_gone`."""
        return read_deletion(answer, FACEBOOK)

    def look_gone(
        self, http: Http, account: AccountAccess, *, remote_id: str, doubt: Unknown
    ) -> TakedownOutcome:
        """Read the post, video or comment, and what the page has published."""
        place = api(account.base_url)
        return look_gone(
            http,
            address=f"{place}/{remote_id}",
            posts=f"{place}/{account.remote_user_id}/published_posts",
            remote_id=remote_id,
            token=account.token,
            dialect=FACEBOOK,
            doubt=doubt,
        )

    def _post(self, part: Part, prepared: Mapping[str, Any]) -> list[tuple[str, str]]:
        fields = [("message", part.text)] if part.text else []
        if part.media:
            ids = photo_ids(part, prepared, now=self._waiting.clock.now())
            attached = [{"media_fbid": photo_id} for photo_id in ids]
            return [*fields, ("attached_media", json.dumps(attached))]
        link = link_of(part)
        return [*fields, ("link", link)] if link else fields

    def _call(self, account: AccountAccess, path: str, fields: list[tuple[str, str]]) -> Call:
        headers = {"Authorization": f"Bearer {account.token}"}
        return Call(method="POST", url=f"{api(account.base_url)}/{path}", headers=headers, form=fields)
