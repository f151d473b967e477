"""The adapter for X: text, images, GIFs, videos and threads, by its API v2.

Sources: docs.x.com, and X's OpenAPI document 2.167. Access tokens live two hours; a refresh token is good for
one use and comes back as a new one.
"""

from __future__ import annotations

import re
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from socialq.domain.clock import Clock, SystemClock
from socialq.domain.outcomes import Evidence, RateLimited, Rejected
from socialq.providers.base import Adapter, Connection, Finder, KeyDeduplication, MediaRules
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.post_forms import PostForm
from socialq.providers.waiting import Waiting
from socialq.providers.x import tokens
from socialq.providers.x.answers import read_created, read_deleted, read_failure
from socialq.providers.x.consent import API_ROOT, XConsent
from socialq.providers.x.finder import Look
from socialq.providers.x.limits import DEFAULT_LIMITS, MEDIA_RULES
from socialq.providers.x.media import media_ids, steps_left
from socialq.providers.x.mentions import unknown_mentions
from socialq.providers.x.problems import data_of, digits_id, evidence
from socialq.providers.x.rate import used_up
from socialq.providers.x.reading import read_post
from socialq.providers.x.rules import OPTIONS, check_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from socialq.domain.outcomes import LookResult, PrepareFailure, PublishOutcome, Reading, TakedownOutcome
    from socialq.providers.base import (
        AccountAccess,
        AppCredentials,
        Part,
        PrepareStep,
        Problem,
        Refreshed,
    )
    from socialq.providers.consent import Consent
    from socialq.providers.http import Answer, Http
    from socialq.providers.options import Option


class X(Adapter):
    """X. Holds no state of accounts or targets."""

    platform: ClassVar[str] = "x"
    options: ClassVar[tuple[Option, ...]] = OPTIONS
    api_root: ClassVar[str] = API_ROOT
    consent: ClassVar[Consent | None] = XConsent()
    required_scopes: ClassVar[frozenset[str]] = frozenset(
        {"tweet.read", "tweet.write", "users.read", "media.write"}
    )
    # A post is listed within seconds; X promises nothing, so it gets half a minute.
    finder: ClassVar[Finder | None] = Finder(lag=timedelta(seconds=30))
    deduplicates: ClassVar[KeyDeduplication | None] = None
    media_rules: ClassVar[MediaRules | None] = MEDIA_RULES
    # What is uploaded can be posted for a day (`expires_after_secs` of the upload's answer).
    prepare_ahead: ClassVar[timedelta | None] = timedelta(minutes=15)

    def __init__(self, *, clock: Clock | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        """Take how time passes; the machine's clock and a real sleep unless a test says otherwise."""
        self._waiting = Waiting(clock=clock or SystemClock(), sleep=sleep)

    def connect(
        self, http: Http, *, base_url: str, token: str, remote_user_id: str | None = None
    ) -> Connection | PrepareFailure:
        """Ask who the token belongs to.

        X says only in the answer that gives a token what the token may do. What is required is assumed here:
        a missing scope shows as a refusal at the first post, and with the first refresh it is known.
        """
        del remote_user_id
        headers = {"Authorization": f"Bearer {token}"}
        answer = http.send(Call(method="GET", url=f"{base_url}/2/users/me", headers=headers))
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform="X")
        me = data_of(answer)
        remote_user_id, username = digits_id(me.get("id")), me.get("username")
        if answer.status != 200 or not me:
            return read_failure(answer)
        if remote_user_id is None or not isinstance(username, str) or not username:
            return Rejected(evidence=evidence(answer, "unreadable"))
        return Connection(
            handle=username,
            remote_user_id=remote_user_id,
            display_name=str(me.get("name") or username),
            scopes=self.required_scopes,
            limits=dict(DEFAULT_LIMITS),
        )

    def check(self, parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
        """Check length, files and options by X's rules and the account's limits."""
        return check_parts(parts, limits)

    def prepare_steps(
        self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]
    ) -> list[PrepareStep]:
        """List the uploads and waits that can run now; ask again with their results until none is left."""
        return steps_left(account, part, prepared, self._waiting)

    def publish_call(self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]) -> Call:
        """Build `POST /2/tweets`. Who may reply is chosen with the first post of a thread and holds for it all."""
        post: dict[str, Any] = {"text": part.text} if part.text else {}
        if part.media:
            post["media"] = {"media_ids": media_ids(part, prepared, now=self._waiting.clock.now())}
        if part.parent_id is not None:
            post["reply"] = {"in_reply_to_tweet_id": part.parent_id}
        elif who := part.options.get("reply_settings"):
            post["reply_settings"] = who
        headers = {"Authorization": f"Bearer {account.token}"}
        return Call(method="POST", url=f"{account.base_url}/2/tweets", headers=headers, json=post)

    def read_publish(self, answer: Answer, part: Part) -> PublishOutcome:
        """Translate the answer; see the table in `answers`."""
        return read_created(answer, part)

    def usage(self, answer: Answer) -> RateLimited | None:
        """Read from the headers of any answer that it was the last of its window."""
        asked = used_up(answer.headers, now=self._waiting.clock.now())
        if asked is None:
            return None
        said = Evidence(
            http_status=answer.status, code="x.used_up", message="X says that nothing is left in its window"
        )
        return RateLimited(evidence=said, retry_after_seconds=asked.seconds, scope=asked.scope)

    def advice(self, http: Http, account: AccountAccess, parts: Sequence[Part]) -> list[Problem]:
        """Name mentions that lead to nobody."""
        return unknown_mentions(http, account, parts)

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
        """Look through the account's own posts; see `finder`."""
        del prepared
        look = Look(http, account, part, now=self._waiting.clock.now())
        return look.run(sent_after=sent_after, claimed_ids=claimed_ids)

    def read_post(self, http: Http, account: AccountAccess, *, remote_id: str) -> Reading:
        """Ask for the post and its author."""
        return read_post(http, account, remote_id)

    # https://x.com/i/web/status/1 and https://x.com/quillmoss/status/1
    post_forms: ClassVar[tuple[PostForm, ...]] = (
        PostForm(
            re.compile(
                r"https://(?:www\.)?(?:x|twitter)\.com/(?:i/web|(?P<by>\w{1,15}))/status/(?P<id>\d{1,19})(?:[/?].*)?"
            )
        ),
        PostForm(re.compile(r"(?P<id>\d{1,19})", re.ASCII)),
    )
    post_naming: ClassVar[str] = "give its link, https://x.com/NAME/status/NUMBER, or the number"

    def takedown_call(self, account: AccountAccess, *, remote_id: str) -> Call | None:
        """Build `DELETE /2/tweets/:id`."""
        headers = {"Authorization": f"Bearer {account.token}"}
        return Call(method="DELETE", url=f"{account.base_url}/2/tweets/{remote_id}", headers=headers)

    def read_takedown(self, answer: Answer) -> TakedownOutcome:
        """Translate the answer to a deletion; see `answers`."""
        return read_deleted(answer)

    def refresh(
        self, http: Http, *, base_url: str, refresh_token: str, app: AppCredentials, now: datetime
    ) -> Refreshed | PrepareFailure:
        """Trade a refresh token for a new pair; see `tokens`."""
        return tokens.refresh(http, base_url=base_url, refresh_token=refresh_token, app=app, now=now)
