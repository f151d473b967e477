"""What one request to a platform came to, named for what to do next.

Adapters translate every answer once into one of these; `pipeline` decides with one `match`. An exception is
never an outcome: exceptions are left for bugs and for lost claims.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the platform said, kept with the attempt: never a token, a header or a whole body."""

    http_status: int | None = None
    code: str = ""
    """A normalised error code, e.g. `mastodon.validation`, `network.read_timeout`."""
    message: str = ""
    """A redacted excerpt that a person can read, 500 characters at most."""
    request_id: str | None = None
    """The platform's own id of the request, where it gives one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The content is live under `remote_id`."""

    remote_id: str
    permalink: str | None = None
    accepted_at: datetime | None = None
    """When the platform says it was created (aware, UTC), if it says."""
    remote_ref: dict[str, str] = field(default_factory=dict)
    """What the next part needs to refer to this one (e.g. Bluesky's cid); strings only."""
    evidence: Evidence = field(default_factory=Evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transient:
    """Certainly not sent or certainly not accepted; worth another try, one of the budget spent."""

    evidence: Evidence
    retry_after_seconds: float | None = None
    spends_budget: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimited:
    """The platform asks to wait; spends nothing of the budget."""

    evidence: Evidence
    retry_after_seconds: float
    scope: Literal["account", "app", "platform"] = "account"
    reads_go_on: bool = False
    """Only publishing must wait: what may be live can be looked for meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthLost:
    """The account's authorisation ended: a person must reconnect it."""

    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionLost:
    """The account may not do this (missing scope, removed role): failed, and the account is flagged."""

    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The platform refuses this content: failed until edited."""

    evidence: Evidence
    reason: Literal["validation", "policy"] = "validation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """The platform says the content is there already. Evidence only after an own earlier mark."""

    evidence: Evidence
    existing_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A request that makes content public was sent and nobody can say what became of it."""

    evidence: Evidence
    learned: dict[str, dict[str, object]] = field(default_factory=dict)
    """What a publish step's refusal says of what was prepared, by the name of a step's result: stored like one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """Our application is at fault (credentials, quota, sunset version): never the customer's account."""

    evidence: Evidence
    scope: Literal["app", "platform"] = "app"
    retry_after_seconds: float = 3600.0


PublishOutcome = (
    Accepted | Transient | RateLimited | AuthLost | PermissionLost | Rejected | Duplicate | Unknown | Ours
)
"""What a publish step can come to."""

PrepareFailure = Transient | RateLimited | AuthLost | PermissionLost | Rejected | Ours
"""What a step that publishes nothing can come to when it fails: never unknown, since repeating it is safe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A prepare step succeeded; `result` is stored and handed to the steps after it (JSON values only)."""

    result: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenDown:
    """The platform confirms that the part is not live any more."""

    evidence: Evidence = field(default_factory=Evidence)


TakedownOutcome = TakenDown | PrepareFailure | Unknown
"""What a takedown can come to; unknown where its answer was lost: it may be repeated, since it publishes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A look found the content live."""

    remote_id: str
    permalink: str | None = None
    created_at: datetime | None = None
    remote_ref: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A look read everything the account posted in the window, and the content is not there."""

    examined: int
    """How many posts were compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CannotTell:
    """A look could not be finished (network, limits, lost authorisation): says nothing either way."""

    failure: PrepareFailure


LookResult = Found | Absent | CannotTell


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One post was read: it is there, and the account's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStanding:
    """The platform says that there is no such post, or that it is another's."""

    problem: str
    """Goes on from the id: `names no post that is on X`."""


Reading = Standing | NotStanding | CannotTell
"""What reading one post by its id can come to."""
