"""The adapter for Bluesky: text with links and mentions, images, video, threads, by the AT protocol.

Sources: atproto.com/specs, docs.bsky.app, the lexicons app.bsky.* and com.atproto.*. An account lives on a server
of its own (a PDS), at bsky.social or anywhere. Access tokens live two hours; a refresh token comes back as a new
one.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from socialq.domain.clock import Clock, SystemClock
from socialq.domain.rates import RateLimit
from socialq.providers.base import (
    Adapter,
    Finder,
    ImageRules,
    KeyDeduplication,
    MediaRules,
    Problem,
    VideoRules,
)
from socialq.providers.bluesky import finder, preparing, record, sessions
from socialq.providers.bluesky.answers import read_created, read_deleted
from socialq.providers.bluesky.calls import procedure
from socialq.providers.bluesky.facets import handles_in
from socialq.providers.bluesky.limits import DEFAULT_LIMITS, POST
from socialq.providers.bluesky.options import OPTIONS
from socialq.providers.bluesky.rate import used_up
from socialq.providers.bluesky.reading import read_post
from socialq.providers.bluesky.record_keys import key_of
from socialq.providers.bluesky.rules import check_parts
from socialq.providers.post_forms import PostForm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from socialq.domain.outcomes import (
        LookResult,
        Ours,
        PrepareFailure,
        PublishOutcome,
        RateLimited,
        Reading,
        TakedownOutcome,
    )
    from socialq.providers.base import AccountAccess, AppCredentials, Connection, Part, PrepareStep, Refreshed
    from socialq.providers.consent import Granted
    from socialq.providers.http import Answer, Call, Http
    from socialq.providers.options import Option


_KEY: Final = r"[A-Za-z0-9_.~:-]{1,512}"


class Bluesky(Adapter):
    """Bluesky and other servers of its protocol. Holds no state of accounts or targets."""

    platform: ClassVar[str] = "bluesky"
    options: ClassVar[tuple[Option, ...]] = OPTIONS
    # What an app password may do can't be narrowed: whoever has one may post.
    required_scopes: ClassVar[frozenset[str]] = frozenset()
    # Asked by its own key, a server answers from where it writes; a request that still runs gets a moment.
    finder: ClassVar[Finder | None] = Finder(lag=timedelta(seconds=5))
    # A record stays under its key until it is deleted.
    deduplicates: ClassVar[KeyDeduplication | None] = KeyDeduplication(life=timedelta(days=3650))
    # A file that no post uses is trusted for a quarter of an hour.
    prepare_ahead: ClassVar[timedelta | None] = timedelta(minutes=10)
    # Whom a text mentions must be asked for.
    checks_texts: ClassVar[bool] = True
    # 5,000 points an hour and 35,000 a day for each account; a new record costs three at most.
    rate_limits: ClassVar[tuple[RateLimit, ...]] = (
        RateLimit(amount=1_666, per_seconds=3_600),
        RateLimit(amount=11_666, per_seconds=86_400),
    )
    media_rules: ClassVar[MediaRules | None] = MediaRules(
        image=ImageRules(
            types=tuple(DEFAULT_LIMITS["image_types"]), max_bytes=DEFAULT_LIMITS["image_size_limit_bytes"]
        ),
        video=VideoRules(
            types=tuple(DEFAULT_LIMITS["video_types"]),
            max_bytes=DEFAULT_LIMITS["video_size_limit_bytes"],
            max_seconds=DEFAULT_LIMITS["video_seconds_limit"],
        ),
    )
    signs_in_with: ClassVar[str | None] = "app password"
    refresh_needs_app: ClassVar[bool] = False

    def __init__(self, *, clock: Clock | None = None) -> None:
        """Take how time passes; the machine's clock unless a test says otherwise."""
        self._clock = clock or SystemClock()

    def connect(
        self, http: Http, *, base_url: str, token: str, remote_user_id: str | None = None
    ) -> Connection | PrepareFailure:
        """Ask who a session's access token belongs to."""
        del remote_user_id
        return sessions.connect(http, base_url=base_url, token=token)

    def sign_in(
        self, http: Http, *, base_url: str, identifier: str, password: str, now: datetime
    ) -> Granted | PrepareFailure:
        """Open a session with an app password; see `sessions`."""
        return sessions.sign_in(http, base_url=base_url, identifier=identifier, password=password, now=now)

    def check(self, parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
        """Check length, files and options by Bluesky's rules and the account's limits."""
        return check_parts(parts, limits)

    def advice(self, http: Http, account: AccountAccess, parts: Sequence[Part]) -> list[Problem]:
        """Say which handles nobody has: they stay plain words. A server that can't say is not waited for."""
        handles = dict.fromkeys(handle for part in parts for handle in handles_in(part.text))
        return [
            Problem(
                field="text",
                code="mention_unknown",
                message=f"Nobody on Bluesky is called @{handle}: check the spelling, or it stays plain words.",
            )
            for handle in handles
            if preparing.resolve(http, account, handle) is None
        ]

    def prepare_steps(
        self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]
    ) -> list[PrepareStep]:
        """List uploads and questions that can run now; ask again with their results until none is left."""
        return preparing.steps_left(account, part, prepared, self._clock)

    def publish_call(self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]) -> Call:
        """Build the write of the part's record under the part's own key; see `record`."""
        ready = preparing.ready(part, prepared, now=self._clock.now())
        return record.publish_call(account, part, ready)

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
        """Ask for the record under the part's key; see `finder`."""
        del sent_after, prepared
        return finder.look(http, account, part, claimed_ids=claimed_ids)

    def usage(self, answer: Answer) -> RateLimited | Ours | None:
        """Read from the headers that nothing is left of a limit."""
        return used_up(answer)

    def read_post(self, http: Http, account: AccountAccess, *, remote_id: str) -> Reading:
        """Ask for the record."""
        return read_post(http, account, remote_id)

    # at://did:plc:…/app.bsky.feed.post/3k… and https://bsky.app/profile/quillmoss.example/post/3k…
    post_forms: ClassVar[tuple[PostForm, ...]] = tuple(
        PostForm(re.compile(form), f"at://{{account}}/{POST}/{{key}}")
        for form in (
            rf"at://(?P<by>[^/]+)/{re.escape(POST)}/(?P<key>{_KEY})",
            rf"https://bsky\.app/profile/(?P<by>[^/]+)/post/(?P<key>{_KEY})/?(?:\?.*)?",
        )
    )
    post_naming: ClassVar[str] = "give its link, https://bsky.app/profile/NAME/post/KEY, or its at:// address"

    def takedown_call(self, account: AccountAccess, *, remote_id: str) -> Call | None:
        """Build `deleteRecord`; None for an id that is no post's address."""
        rkey = key_of(remote_id)
        if rkey is None:
            return None
        body = {"repo": account.remote_user_id, "collection": POST, "rkey": rkey}
        return procedure(account.base_url, "com.atproto.repo.deleteRecord", token=account.token, json=body)

    def read_takedown(self, answer: Answer) -> TakedownOutcome:
        """Translate the answer to `deleteRecord`."""
        return read_deleted(answer)

    def promises_deduplication(self, account: AccountAccess) -> bool:
        """Say yes: a key holds one record, on every server of the protocol."""
        del account
        return True

    def refresh(
        self, http: Http, *, base_url: str, refresh_token: str, app: AppCredentials, now: datetime
    ) -> Refreshed | PrepareFailure:
        """Trade a refresh token for a new pair; see `sessions`. No application is involved."""
        del app
        return sessions.refresh(http, base_url=base_url, refresh_token=refresh_token, now=now)
