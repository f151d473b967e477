"""What a message's work looks like: a target with all that the guards and the adapter need."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.states import NextKind, TargetStatus
    from socialq.domain.targets import PartState, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRow:
    """One row of `accounts`, as far as publishing needs it."""

    id: UUID
    platform: str
    handle: str
    base_url: str
    remote_user_id: str
    status: str
    access_token: str = field(repr=False)
    """Encrypted by the vault."""
    refresh_token: str | None = field(default=None, repr=False)
    """Encrypted by the vault; None where the platform's tokens are not refreshed."""
    refreshed_at: datetime | None = None
    provider_app_id: UUID | None = None
    status_reason: str | None = None
    token_expires_at: datetime | None = None
    scopes: frozenset[str] = frozenset()
    limits: Mapping[str, Any] = field(default_factory=dict)
    hold_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantState:
    """One row of `tenant_state`."""

    status: str
    suspended_at: datetime | None = None
    stopped_at: datetime | None = None
    stop_reason: str | None = None
    monthly_limit: int | None = None
    published_this_month: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRow:
    """One file as it goes out on the target's account: a row of `media`, or of a variant made of it."""

    id: str
    """Of the row of `media`, also where a variant goes out."""
    storage_key: str
    mime_type: str
    byte_size: int
    alt_text: str
    status: str
    problem: str | None = None
    sha256: str = ""
    """Of the bytes that go out, which is what was approved."""
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None
    fps: float | None = None
    """Pictures a second of a video, as far as they are known; so for what it is coded as."""
    video_codec: str | None = None
    audio_codec: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A target, its parts and version, its account and its tenant, read at one moment."""

    target: Target
    parts: tuple[PartState, ...]
    content: Mapping[str, Any]
    approved_version_id: UUID | None
    account: AccountRow
    tenant: TenantState
    media: Mapping[str, MediaRow]
    media_ids: tuple[str, ...]
    read_at: datetime
    """The cell's clock when this was read."""

    @property
    def any_live(self) -> bool:
        """Whether any part is live."""
        return any(part.live for part in self.parts)

    @property
    def next_part(self) -> PartState | None:
        """Return the first part that is not live, or None."""
        return next((part for part in self.parts if not part.live), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """What a worker asks for when it claims."""

    tenant_id: UUID
    target_id: UUID
    version_id: UUID
    seq: int
    token: UUID
    lease_seconds: float
    worker: str
    part_no: int
    mark: bool
    """Nothing is left to prepare and the connection stands: the claim is the mark."""
    required_scopes: Sequence[str]
    media_ids: Sequence[str]
    limited: bool
    """The tenant has a monthly limit: claims of one tenant are counted one at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A claim that is ours until `lease_until`."""

    attempt_no: int
    lease_until: datetime
    key_instant: datetime | None
    """The publication key's instant, once a mark has frozen it."""
    marked: bool
    """The part is marked: its request may leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartKept:
    """A part is recorded as live, under a claim that is still ours."""

    alarm: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountBusy:
    """Another target holds the account."""

    free_at: datetime | None
    """The holder's lease end or its next look, whichever frees the account at the latest; None: just freed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a settle left behind: enough to finish the target's row in the dispatch index."""

    target_id: UUID
    account_id: UUID
    status: TargetStatus
    seq: int
    next_kind: NextKind | None = None
    next_at: datetime | None = None
    holds_account: bool = False
    """The account is still held: an unknown outcome, until its first finished look."""
    alarm: str | None = None
