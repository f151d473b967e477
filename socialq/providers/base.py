"""What an adapter is: how socialq speaks to one platform.

An adapter holds no state of a target. It is handed an `AccountAccess` and a `Part`, says what must be
prepared, builds **one** request that makes the part public, reads that request's answer into an outcome, and
can look for a part whose answer was lost. Who may call it, when, and how often is the pipeline's business.

What must stay true: prepare steps publish nothing and may be repeated; the publish step is exactly one HTTP
request, built here and sent by `socialq.providers.http`; no method keeps or logs a token.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal

from socialq.domain.media_rules import DocumentRules, GifRules, ImageRules, MediaRules, VideoRules
from socialq.domain.outcomes import CannotTell, Evidence, Transient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from socialq.domain.outcomes import (
        LookResult,
        Ours,
        Prepared,
        PrepareFailure,
        PublishOutcome,
        RateLimited,
        Reading,
        TakedownOutcome,
        Unknown,
    )
    from socialq.domain.rates import RateLimit
    from socialq.providers.consent import Consent, Granted
    from socialq.providers.http import Answer, Call, Http
    from socialq.providers.options import Option
    from socialq.providers.post_forms import PostForm

__all__ = [
    "AccountAccess",
    "Adapter",
    "AppCredentials",
    "Connection",
    "DocumentRules",
    "Finder",
    "GifRules",
    "ImageRules",
    "KeyDeduplication",
    "MediaItem",
    "MediaRules",
    "Part",
    "PrepareStep",
    "Problem",
    "Refreshed",
    "VideoRules",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAccess:
    """One channel of a client, with the decrypted token, for the length of one piece of work."""

    account_id: str
    platform: str
    base_url: str
    """Where the platform's API is, without a trailing slash; `http` only where settings allow it."""
    handle: str
    remote_user_id: str
    token: str = field(repr=False)
    limits: Mapping[str, Any] = field(default_factory=dict)
    """What the platform said of this account's limits when it was connected (JSON)."""
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaItem:
    """One file of a part."""

    media_id: str
    mime_type: str
    byte_size: int
    alt_text: str
    open: Callable[[], BinaryIO] = field(repr=False)
    """Opens the file for reading, from its first byte."""
    width: int | None = None
    """Pixels; None where it is not a picture or a video."""
    height: int | None = None
    duration_seconds: float | None = None
    fps: float | None = None
    """Pictures a second of a video; None: not known."""
    video_codec: str | None = None
    """Such as `h264`; None: not known."""
    audio_codec: str | None = None
    """None: no sound, or not known."""
    link: Callable[[], str] | None = field(default=None, repr=False)
    """Makes the public address from which a platform that pulls by URL may fetch this file; None: none is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One public piece of a target: a whole post, one segment of a thread, or the first comment under a post."""

    number: int
    """1 for the first."""
    text: str
    key: str
    """The part key: natural, stable through retries; what the platform gets as idempotency or record key."""
    media: tuple[MediaItem, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """Per-platform choices of the version (visibility, language, …)."""
    parent_id: str | None = None
    """Remote id of the part before this one; None for the first."""
    root_id: str | None = None
    parent_ref: Mapping[str, str] = field(default_factory=dict)
    """`remote_ref` of the part before this one."""
    root_ref: Mapping[str, str] = field(default_factory=dict)
    role: Literal["post", "comment"] = "post"
    """`comment`: the first comment, under the part before it."""
    key_instant: datetime | None = None
    """The instant in the publication key (aware, UTC): what a time-based record key is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a text or file can't go out on a platform, told at compose, never found at the slot."""

    field: str
    code: str
    message: str
    """Names the platform, the count, the limit, and the way out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareStep:
    """A step that publishes nothing. Its result is stored under `name` the moment it exists."""

    name: str
    """Stable for a part, e.g. `media.1`; a step whose result is stored is not run again."""
    run: Callable[[Http], Prepared | PrepareFailure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finder:
    """How a platform can be asked whether a part is live."""

    lag: timedelta
    """After this long a live post is certain to be listed: only then is absence proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDeduplication:
    """The platform answers a repeat of the same key with the first result, for `life` after the first."""

    life: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What an account says of itself when it is added: stored with the account."""

    handle: str
    remote_user_id: str
    display_name: str
    scopes: frozenset[str]
    limits: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppCredentials:
    """The OAuth application an account was connected through."""

    client_id: str
    client_secret: str = field(repr=False)
    """Empty for a public client."""
    scopes: tuple[str, ...] | None = None
    """What the platform has approved it for; None: all that is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """A new pair of tokens. The platform may have ended the old pair the moment it gave this one."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    """None: the platform gave none, and the stored one stays."""
    expires_at: datetime | None
    """When the access token ends (aware, UTC); None: never."""
    scopes: frozenset[str] | None = None
    """What the new token may do, if the platform says."""


class Adapter(ABC):
    """One platform. Stateless and shared between threads."""

    platform: ClassVar[str]
    api_root: ClassVar[str] = ""
    """The `base_url` of the platform itself; empty where every server is its own."""
    required_scopes: ClassVar[frozenset[str]]
    """Without these no account can publish (guard 6); `required_scopes_of` says it of one account."""
    finder: ClassVar[Finder | None]
    """How the platform's accounts can be looked through at best; `finder_of` says it of one account."""
    renews_itself: ClassVar[bool] = False
    """There are no refresh tokens: the access token itself is traded for a new one, while it lives."""
    refresh_ahead: ClassVar[timedelta] = timedelta(minutes=5)
    """How long before its end an access token is refreshed."""
    least_token_age: ClassVar[timedelta] = timedelta(0)
    """How old a token must be before the platform refreshes it."""
    prepare_ahead: ClassVar[timedelta | None] = None
    """How long before its slot a post with media is prepared; None: nothing is done ahead."""
    prepares_texts: ClassVar[bool] = False
    """Posts without files have something to prepare too."""
    checks_texts: ClassVar[bool] = False
    """Posts without files may have something to ask ahead: not worth it on short notice."""
    rate_limits: ClassVar[tuple[RateLimit, ...]] = ()
    """How many publish requests the platform allows; our own buckets keep to it, so that none is wasted."""
    deduplicates: ClassVar[KeyDeduplication | None]
    """The platform's promise at best; `promises_deduplication` says whether this account's server keeps it."""

    post_forms: ClassVar[tuple[PostForm, ...]] = ()
    """How people name a post, where its id stands in no plain `…/123` of the account's own server."""
    post_naming: ClassVar[str] = ""
    """What to give for a post that no form names, as an imperative. Set: `post_forms` are all there is, and nothing
    else is believed. Empty: links to the account's own server are read too."""
    options: ClassVar[tuple[Option, ...]] = ()
    """What a person may choose for a post here; `check` judges the values."""
    media_rules: ClassVar[MediaRules | None] = None
    """What files it takes; a picture that breaks a rule is made to fit when the post is written. None: any."""
    consent: ClassVar[Consent | None] = None
    """How a person gives consent (OAuth); None: accounts are added with a token or a password."""
    signs_in_with: ClassVar[str | None] = None
    """What a person gives beside a name where there are no tokens to copy ("app password"); None: no such thing."""
    refresh_needs_app: ClassVar[bool] = True
    """Whether a refresh token is of use only together with the application that it was given to."""

    @abstractmethod
    def connect(
        self, http: Http, *, base_url: str, token: str, remote_user_id: str | None = None
    ) -> Connection | PrepareFailure:
        """Ask the platform who the token belongs to and what the limits are.

        `remote_user_id` says which one where a token serves several (an organisation of a member, the
        Instagram account of a page).
        """

    @abstractmethod
    def check(self, parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
        """Check a whole target against the platform's rules, counting as the platform counts. Pure."""

    @abstractmethod
    def prepare_steps(
        self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]
    ) -> list[PrepareStep]:
        """List what is still to be done before `part` can be published, given what is stored already."""

    @abstractmethod
    def publish_call(self, account: AccountAccess, part: Part, prepared: Mapping[str, Any]) -> Call:
        """Build the one request that makes `part` public."""

    @abstractmethod
    def read_publish(self, answer: Answer, part: Part) -> PublishOutcome:
        """Translate a complete answer to `publish_call`. A lost answer never gets here."""

    @abstractmethod
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
        """Look whether `part` is live. `claimed_ids` are remote ids that belong to other parts: never these.

        `prepared` is what its prepare steps stored, such as the container that knows whether it was published.

        `sent_after` (aware, UTC) is the mark of the earliest unresolved attempt; posts created more than two
        minutes before it are not considered.
        """

    def sign_in(
        self, http: Http, *, base_url: str, identifier: str, password: str, now: datetime
    ) -> Granted | PrepareFailure:
        """Trade a name and a password for tokens, once; only where `signs_in_with` says what password."""
        del http, base_url, identifier, password, now
        raise LookupError(f"nobody signs in to {self.platform} with a password")

    def required_scopes_of(self, remote_user_id: str) -> frozenset[str]:
        """Without which scopes this account can't publish, where that depends on whose it is."""
        del remote_user_id
        return self.required_scopes

    def finder_of(self, *, remote_user_id: str, scopes: frozenset[str]) -> Finder | None:
        """How this account can be looked through; None: nothing can be found there, and a person must look."""
        del remote_user_id, scopes
        return self.finder

    def media_rules_of(self, limits: Mapping[str, Any]) -> MediaRules | None:
        """What files this account takes, where its server has limits of its own."""
        del limits
        return self.media_rules

    def usage(self, answer: Answer) -> RateLimited | Ours | None:
        """Read from any answer, also a good one, that nothing more should be sent for a while."""
        del answer
        return None

    def advice(self, http: Http, account: AccountAccess, parts: Sequence[Part]) -> list[Problem]:
        """Ask the platform what a person should know at compose, such as a mention of nobody. Blocks nothing."""
        del http, account, parts
        return []

    def permalink(self, http: Http, account: AccountAccess, *, remote_id: str) -> str | None:
        """Ask for a live part's address, where the answer to its publish step does not tell it. Best effort."""
        del http, account, remote_id
        return None

    def read_post(self, http: Http, account: AccountAccess, *, remote_id: str) -> Reading:
        """Ask by one reading whether a post is there, and this account's; platforms without such can't tell."""
        del http, account, remote_id
        said = Evidence(code=f"{self.platform}.unread", message="its posts can't be read by their ids")
        return CannotTell(failure=Transient(evidence=said))

    takedown_by_hand: ClassVar[str] = "delete it on the platform"
    """What a person does where the API takes nothing down."""

    def takedown_call(self, account: AccountAccess, *, remote_id: str) -> Call | None:
        """Build the request that takes a live part down; None: the platform's API can't."""
        del account, remote_id
        return None

    def read_takedown(self, answer: Answer) -> TakedownOutcome:
        """Translate a complete answer to `takedown_call`. Gone already counts as taken down."""
        del answer
        raise LookupError(f"{self.platform} takes nothing down by its API")

    def look_gone(
        self, http: Http, account: AccountAccess, *, remote_id: str, doubt: Unknown
    ) -> TakedownOutcome:
        """Ask by reading whether a part is gone whose takedown came to `doubt`; without proof it stays one."""
        del http, account, remote_id
        return doubt

    def promises_deduplication(self, account: AccountAccess) -> bool:
        """Say whether a repeat with the same key is provably harmless on this account's server."""
        del account
        return False

    def refresh(
        self, http: Http, *, base_url: str, refresh_token: str, app: AppCredentials, now: datetime
    ) -> Refreshed | PrepareFailure:
        """Trade a refresh token for a new pair. `AuthLost`: this refresh token is spent, revoked or expired.

        Where tokens renew themselves, the access token stands for it, and `app` may be empty. Only called
        while the account's refresh lease is held. Platforms whose tokens never expire don't override this.
        """
        del http, base_url, refresh_token, app, now
        raise LookupError(f"{self.platform}'s tokens are never refreshed")
