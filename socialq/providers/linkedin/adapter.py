"""The adapter for LinkedIn: posts and first comments of people and organisations, by its versioned API.

Sources: learn.microsoft.com/linkedin/marketing/community-management. Access tokens live 60 days. An
organisation's posts can be looked through; a person's can be read by nobody, so that a lost answer there is for a
person to settle. A post that repeats another of the last ten minutes is refused with the other's URN.
"""

from __future__ import annotations

import re
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from socialq.domain.clock import Clock, SystemClock
from socialq.domain.outcomes import Evidence, PermissionLost, Rejected
from socialq.providers.base import Adapter, Connection, Finder, KeyDeduplication, Refreshed
from socialq.providers.linkedin import people, tokens
from socialq.providers.linkedin.advice import advice_on
from socialq.providers.linkedin.answers import read_created, read_deleted
from socialq.providers.linkedin.calls import REAL_API, rest_call
from socialq.providers.linkedin.consent import MEMBER_SCOPES, LinkedInConsent
from socialq.providers.linkedin.content import comment_body, is_comment, post_body
from socialq.providers.linkedin.finder import Look
from socialq.providers.linkedin.limits import DEFAULT_LIMITS, MEDIA_RULES
from socialq.providers.linkedin.media import asset_urns, steps_left
from socialq.providers.linkedin.reading import read_post
from socialq.providers.linkedin.rules import OPTIONS, check_parts
from socialq.providers.linkedin.urns import AuthorKind, author_kind, comment_name, in_path, post_urn
from socialq.providers.post_forms import PostForm
from socialq.providers.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from socialq.domain.media_rules import MediaRules
    from socialq.domain.outcomes import LookResult, PrepareFailure, PublishOutcome, Reading, TakedownOutcome
    from socialq.providers.base import AccountAccess, AppCredentials, Part, PrepareStep, Problem
    from socialq.providers.consent import Consent
    from socialq.providers.http import Answer, Call, Http
    from socialq.providers.options import Option

_READS_POSTS: Final = "r_organization_social"
_POSTS_AS: Final[Mapping[AuthorKind, frozenset[str]]] = {
    "person": frozenset({"w_member_social"}),
    "organization": frozenset({"w_organization_social"}),
}
_NOT_AN_AUTHOR: Final = Evidence(
    code="linkedin.not_an_author",
    message="LinkedIn's authors are urn:li:person:… and urn:li:organization:…, and this is neither",
)


class LinkedIn(Adapter):
    """LinkedIn. Holds no state of accounts or targets."""

    platform: ClassVar[str] = "linkedin"
    options: ClassVar[tuple[Option, ...]] = OPTIONS
    api_root: ClassVar[str] = REAL_API
    # A token lives for sixty days: a week leaves time for a refresh that fails.
    refresh_ahead: ClassVar[timedelta] = timedelta(days=7)
    # A person and an organisation need different ones: see `required_scopes_of`.
    required_scopes: ClassVar[frozenset[str]] = frozenset()
    # LinkedIn promises nothing about how soon a post is listed; an organisation's gets a minute.
    finder: ClassVar[Finder | None] = Finder(lag=timedelta(minutes=1))
    deduplicates: ClassVar[KeyDeduplication | None] = None
    # Upload addresses live for hours, and a file that is there for a day and more.
    prepare_ahead: ClassVar[timedelta | None] = timedelta(minutes=15)
    media_rules: ClassVar[MediaRules | None] = MEDIA_RULES
    consent: ClassVar[Consent | None] = LinkedInConsent()

    def __init__(self, *, clock: Clock | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        """Take how time passes; the machine's clock and a real sleep unless a test says otherwise."""
        self._waiting = Waiting(clock=clock or SystemClock(), sleep=sleep)

    def connect(
        self, http: Http, *, base_url: str, token: str, remote_user_id: str | None = None
    ) -> Connection | PrepareFailure:
        """Ask who the author is: the member behind the token, or the organisation of that URN.

        LinkedIn tells the scopes of a token only with the token. For a member the least is assumed, and a
        missing one shows as a refusal at the first post. For an organisation the role is asked for, and whether
        its posts may be read is tried.
        """
        if remote_user_id is not None and author_kind(remote_user_id) == "organization":
            return self._connect_organization(http, base_url=base_url, token=token, urn=remote_user_id)
        member = people.member(http, base_url=base_url, token=token)
        if not isinstance(member, people.Who):
            return member
        if remote_user_id not in {None, member.urn}:
            return Rejected(evidence=_NOT_AN_AUTHOR)
        return _connection(member, frozenset(MEMBER_SCOPES), author="person")

    def check(self, parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
        """Check length, files and options by LinkedIn's rules."""
        return check_parts(parts, limits)

    def advice(self, http: Http, account: AccountAccess, parts: Sequence[Part]) -> list[Problem]:
        """Say which mentions will not be links."""
        return advice_on(http, account, parts)

    def prepare_steps(
        self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]
    ) -> list[PrepareStep]:
        """List the uploads and waits that can run now; ask again with their results until none is left."""
        return steps_left(account, part, prepared, self._waiting)

    def publish_call(self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]) -> Call:
        """Build `POST /rest/posts`, or the comment below the part before."""
        author, json = account.remote_user_id, None
        if is_comment(part):
            path = f"/socialActions/{in_path(part.parent_id or '')}/comments"
            json = comment_body(author, part)
        else:
            path = "/posts"
            urns = asset_urns(account, part, prepared, now=self._waiting.clock.now())
            json = post_body(author, part, urns)
        return rest_call(account.base_url, account.token, "POST", path, json=json)

    def read_publish(self, answer: Answer, part: Part) -> PublishOutcome:
        """Translate the answer; see the table in `answers`."""
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
        """Look through an organisation's own posts, or the comments below one; see `finder`."""
        del prepared
        look = Look(http, account, part, now=self._waiting.clock.now())
        return look.run(sent_after=sent_after, claimed_ids=claimed_ids)

    def required_scopes_of(self, remote_user_id: str) -> frozenset[str]:
        """A person posts with the member's permission, an organisation with its own."""
        kind = author_kind(remote_user_id)
        return frozenset() if kind is None else _POSTS_AS[kind]

    def finder_of(self, *, remote_user_id: str, scopes: frozenset[str]) -> Finder | None:
        """An organisation's posts can be read with the permission for it; a person's by nobody."""
        is_organization = author_kind(remote_user_id) == "organization"
        return self.finder if is_organization and _READS_POSTS in scopes else None

    def read_post(self, http: Http, account: AccountAccess, *, remote_id: str) -> Reading:
        """Ask for an organisation's post, with the permission to read such; a person's can be read by nobody."""
        finder = self.finder_of(remote_user_id=account.remote_user_id, scopes=account.scopes)
        return read_post(http, account, remote_id, may_read=finder is not None)

    # urn:li:share:1 and https://www.linkedin.com/feed/update/urn:li:share:1/: neither says whose post it is.
    post_forms: ClassVar[tuple[PostForm, ...]] = (
        PostForm(
            re.compile(
                r"(?:https://(?:www\.)?linkedin\.com/(?:embed/)?feed/update/)?"
                r"(?P<id>urn:li:(?:share|ugcPost):\d{1,25})(?:[/?].*)?",
                re.ASCII,
            )
        ),
        PostForm(
            re.compile(
                r"https://(?:www\.)?linkedin\.com/posts/[^/?#]*-(?P<kind>share|ugcPost)-(?P<number>\d{1,25})"
                r"-[\w-]{4}/?(?:\?.*)?",
                re.ASCII,
            ),
            "urn:li:{kind}:{number}",
        ),
    )
    # A link with `activity` in it names the post's place in feeds: that number is not the post's own.
    post_naming: ClassVar[str] = (
        "choose “Embed this post” in its menu, and give the urn:li:share:… or urn:li:ugcPost:… that stands there"
    )

    def takedown_call(self, account: AccountAccess, *, remote_id: str) -> Call | None:
        """Build the deletion of a post or a comment; both may be repeated."""
        if name := comment_name(remote_id):
            path = f"/socialActions/{in_path(name.parent)}/comments/{name.number}"
            params = (("actor", account.remote_user_id),)
            return rest_call(account.base_url, account.token, "DELETE", path, params=params)
        if post_urn(remote_id) is None:
            return None
        return rest_call(account.base_url, account.token, "DELETE", f"/posts/{in_path(remote_id)}")

    def read_takedown(self, answer: Answer) -> TakedownOutcome:
        """Translate the answer to a deletion; see `answers`."""
        return read_deleted(answer)

    def refresh(
        self, http: Http, *, base_url: str, refresh_token: str, app: AppCredentials, now: datetime
    ) -> Refreshed | PrepareFailure:
        """Trade the refresh token for a new access token, and wait until LinkedIn knows it everywhere."""
        given = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)]
        pair = tokens.trade(http, base_url=base_url, app=app, given=given, now=now)
        if not isinstance(pair, tokens.Pair):
            return pair
        tokens.await_activation(http, base_url=base_url, token=pair.access_token, sleep=self._waiting.sleep)
        return Refreshed(
            access_token=pair.access_token,
            refresh_token=pair.refresh_token,
            expires_at=pair.expires_at,
            scopes=pair.scopes,
        )

    def _connect_organization(
        self, http: Http, *, base_url: str, token: str, urn: str
    ) -> Connection | PrepareFailure:
        roles = people.roles(http, base_url=base_url, token=token)
        if not isinstance(roles, list):
            return roles
        if not any(role.organization == urn and role.may_post for role in roles):
            message = "the member behind this token has no role on this page that may post"
            return PermissionLost(evidence=Evidence(code="linkedin.no_role", message=message))
        page = people.organization(http, base_url=base_url, token=token, urn=urn)
        if not isinstance(page, people.Who):
            return page
        reads = people.may_read_posts(http, base_url=base_url, token=token, urn=urn)
        if not isinstance(reads, bool):
            return reads
        scopes = frozenset({"w_organization_social", "rw_organization_admin"})
        return _connection(page, scopes | {_READS_POSTS} if reads else scopes, author="organization")


def _connection(who: people.Who, scopes: frozenset[str], *, author: str) -> Connection:
    return Connection(
        handle=who.handle,
        remote_user_id=who.urn,
        display_name=who.name,
        scopes=scopes,
        limits={**DEFAULT_LIMITS, "author": author},
    )
