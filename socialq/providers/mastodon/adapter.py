"""The adapter for Mastodon: text, files and threads, by the API that its compatible servers speak too.

Sources: docs.joinmastodon.org/methods/{statuses,media,accounts,instance,apps}. Tokens never expire there;
they are revoked.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from socialq.domain.clock import Clock, SystemClock
from socialq.domain.outcomes import Evidence, Rejected
from socialq.domain.rates import RateLimit
from socialq.providers.base import Adapter, Connection, Finder, KeyDeduplication, MediaRules
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.mastodon.answers import (
    json_object,
    read_deleted,
    read_failure,
    read_status,
    read_used_up,
    text_id,
)
from socialq.providers.mastodon.consent import MastodonConsent
from socialq.providers.mastodon.finder import Look
from socialq.providers.mastodon.limits import DEFAULT_LIMITS, deduplicates_by_key, media_rules, read_limits
from socialq.providers.mastodon.media import media_ids, steps_left
from socialq.providers.mastodon.mentions import unknown_mentions
from socialq.providers.mastodon.reading import read_post
from socialq.providers.mastodon.rules import OPTIONS, check_parts
from socialq.providers.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from socialq.domain.outcomes import (
        LookResult,
        PrepareFailure,
        PublishOutcome,
        RateLimited,
        Reading,
        TakedownOutcome,
    )
    from socialq.providers.base import AccountAccess, Part, PrepareStep, Problem
    from socialq.providers.consent import Consent
    from socialq.providers.http import Answer, Http
    from socialq.providers.options import Option

_COVERED_BY: Final = {
    "read": ("read:accounts", "read:statuses"),
    "write": ("write:statuses", "write:media"),
}
"""Scopes that stand for several, and those of them that matter here."""

_NOT_MASTODON: Final = Evidence(
    code="mastodon.unreadable", message="the server does not say who the token belongs to: is it Mastodon?"
)


class Mastodon(Adapter):
    """Mastodon and compatible servers. Holds no state of accounts or targets."""

    platform: ClassVar[str] = "mastodon"
    options: ClassVar[tuple[Option, ...]] = OPTIONS
    consent: ClassVar[Consent | None] = MastodonConsent()
    required_scopes: ClassVar[frozenset[str]] = frozenset({"write:statuses", "write:media", "read:statuses"})
    # The listing reads the database that the create wrote to; a lagging replica is given a moment.
    # https://docs.joinmastodon.org/api/rate-limits/: 300 requests in five minutes for each token.
    rate_limits: ClassVar[tuple[RateLimit, ...]] = (RateLimit(amount=300, per_seconds=300),)
    # A file that no post uses is deleted after a day; ten minutes are enough for any upload.
    prepare_ahead: ClassVar[timedelta | None] = timedelta(minutes=10)
    finder: ClassVar[Finder | None] = Finder(lag=timedelta(seconds=5))
    deduplicates: ClassVar[KeyDeduplication | None] = KeyDeduplication(life=timedelta(hours=1))
    media_rules: ClassVar[MediaRules | None] = media_rules(DEFAULT_LIMITS)

    def __init__(self, *, clock: Clock | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        """Take how time passes; the machine's clock and a real sleep unless a test says otherwise."""
        self._waiting = Waiting(clock=clock or SystemClock(), sleep=sleep)

    def connect(
        self, http: Http, *, base_url: str, token: str, remote_user_id: str | None = None
    ) -> Connection | PrepareFailure:
        """Ask who the token belongs to, what the server allows, and what the token's application may do."""
        del remote_user_id
        me = _get(http, base_url, "/api/v1/accounts/verify_credentials", token)
        if not isinstance(me, dict):
            return me
        remote_user_id = text_id(me.get("id"))
        if remote_user_id is None:
            return Rejected(evidence=_NOT_MASTODON)
        instance = _get(http, base_url, "/api/v2/instance", token)
        if not isinstance(instance, dict):
            instance = _get(http, base_url, "/api/v1/instance", token)
        if not isinstance(instance, dict):
            return instance
        application = _get(http, base_url, "/api/v1/apps/verify_credentials", token)
        user = str(me.get("username") or me.get("acct") or "")
        return Connection(
            handle=f"{user}@{_domain(instance, base_url)}",
            remote_user_id=remote_user_id,
            display_name=str(me.get("display_name") or user),
            scopes=self._scopes(application),
            limits=read_limits(instance),
        )

    def check(self, parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
        """Check length, files and options by the account's limits."""
        return check_parts(parts, limits)

    def media_rules_of(self, limits: Mapping[str, Any]) -> MediaRules | None:
        """What files the account's server takes, by its own word."""
        return media_rules(limits)

    def prepare_steps(
        self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]
    ) -> list[PrepareStep]:
        """List the uploads and waits that can run now; ask again with their results until none is left."""
        return steps_left(account, part, prepared, self._waiting)

    def publish_call(self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]) -> Call:
        """Build `POST /api/v1/statuses` with the part key as `Idempotency-Key`."""
        status: dict[str, Any] = {"status": part.text}
        if part.media:
            status["media_ids"] = media_ids(part, prepared, now=self._waiting.clock.now())
        if part.parent_id is not None:
            status["in_reply_to_id"] = part.parent_id
        for option in ("visibility", "language", "spoiler_text", "sensitive"):
            if (value := part.options.get(option)) not in (None, ""):
                status[option] = value
        return Call(
            method="POST",
            url=f"{account.base_url}/api/v1/statuses",
            headers={"Authorization": f"Bearer {account.token}", "Idempotency-Key": part.key},
            json=status,
        )

    def read_publish(self, answer: Answer, part: Part) -> PublishOutcome:
        """Translate the answer; see the table in `answers`."""
        del part
        return read_status(answer)

    def usage(self, answer: Answer) -> RateLimited | None:
        """Read from the headers of any answer that it was the last of its window."""
        return read_used_up(answer, now=self._waiting.clock.now())

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
        """Ask for the status."""
        return read_post(http, account, remote_id)

    def takedown_call(self, account: AccountAccess, *, remote_id: str) -> Call | None:
        """Build `DELETE /api/v1/statuses/:id`."""
        headers = {"Authorization": f"Bearer {account.token}"}
        return Call(method="DELETE", url=f"{account.base_url}/api/v1/statuses/{remote_id}", headers=headers)

    def read_takedown(self, answer: Answer) -> TakedownOutcome:
        """Translate the answer to a deletion; see `answers`."""
        return read_deleted(answer)

    def promises_deduplication(self, account: AccountAccess) -> bool:
        """Say yes for Mastodon itself only, by what its instance document said when it was connected."""
        return deduplicates_by_key(account.limits)

    def _scopes(self, application: dict[str, Any] | PrepareFailure) -> frozenset[str]:
        """Read the scopes, the broad ones spelled out.

        They are the application's, of which a token has all or fewer. Servers before 4.3 don't tell. What
        is required is assumed then: a missing one shows as a refusal at the first post, while an empty set
        would stop an account that works.
        """
        told = application.get("scopes") if isinstance(application, dict) else None
        if not isinstance(told, list) or not told:
            return self.required_scopes
        names = {str(scope) for scope in told}
        return frozenset(names.union(*(_COVERED_BY.get(name, ()) for name in names)))


def _get(http: Http, base_url: str, path: str, token: str) -> dict[str, Any] | PrepareFailure:
    call = Call(method="GET", url=f"{base_url}{path}", headers={"Authorization": f"Bearer {token}"})
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform="Mastodon")
    body = json_object(answer)
    return body if answer.status == 200 and body else read_failure(answer)


def _domain(instance: Mapping[str, Any], base_url: str) -> str:
    """Return the domain of handles: the instance's own word, since it may differ from the API's host."""
    said = instance.get("domain") or instance.get("uri")
    if isinstance(said, str) and said:
        return said.removeprefix("https://").removeprefix("http://").rstrip("/")
    return urlsplit(base_url).netloc
