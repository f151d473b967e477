"""What the views return: plain, frozen records for the command line and the web. No token, no whole body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantLine:
    """A tenant in a list."""

    id: UUID
    name: str
    cell: str
    status: str
    suspended_at: datetime | None
    monthly_limit: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetLine:
    """A target in a list."""

    id: UUID
    post_id: UUID
    client: str
    time_zone: str
    """The client's: an IANA name."""
    account: str
    """`platform:handle`."""
    status: str
    reason: str | None
    detail: str | None
    text: str
    """The beginning of the text, on one line."""
    parts: int
    parts_live: int
    publish_at: datetime | None
    next_kind: str | None
    next_at: datetime | None
    published_at: datetime | None
    attempt_count: int
    cancel_requested: bool
    permalink: str | None
    """Of the first part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionView:
    """A version of a post."""

    id: UUID
    number: int
    content: Mapping[str, Any]
    content_hash: str
    created_by: str
    created_at: datetime
    approved_by: str | None
    approved_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartView:
    """A part of a target: what is known of its going out."""

    part_no: int
    role: str
    """`post`, or `comment` for the first comment under it."""
    marked_at: datetime | None
    mark_cleared: bool
    unknown_count: int
    remote_id: str | None
    permalink: str | None
    accepted_at: datetime | None
    first_seen_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One try."""

    attempt_no: int
    part_no: int
    state: str
    due_at: datetime
    claimed_at: datetime
    marked_at: datetime | None
    finished_at: datetime | None
    http_status: int | None
    code: str | None
    message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveView:
    """One move: who, when, from where to where, why."""

    at: datetime
    actor: str
    from_status: str | None
    to_status: str
    reason: str | None
    detail: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    """A time that was given, as it was written."""

    publish_at: datetime
    local_time: datetime
    time_zone: str
    scheduled_by: str
    scheduled_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TakedownView:
    """One try to take a live part down."""

    part_no: int
    remote_id: str
    state: str
    asked_by: str
    reason: str
    began_at: datetime
    finished_at: datetime | None
    http_status: int | None
    code: str | None
    message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantsView:
    """Four instants of a target, and the gaps between them in seconds; None: it has not come to that."""

    slot_at: datetime | None
    claimed_at: datetime | None
    """By its first attempt."""
    accepted_at: datetime | None
    """Of its last part."""
    first_seen_at: datetime | None
    slot_to_claim_seconds: float | None
    claim_to_acceptance_seconds: float | None
    acceptance_to_seen_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetView:
    """A target with all that is known of it."""

    line: TargetLine
    account_id: UUID
    version_id: UUID
    seq: int
    publish_by: datetime | None
    instants: InstantsView
    parts: tuple[PartView, ...]
    attempts: tuple[AttemptView, ...]
    takedowns: tuple[TakedownView, ...]
    history: tuple[MoveView, ...]
    schedules: tuple[ScheduleView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PostView:
    """A post with its versions and targets."""

    id: UUID
    client: str
    labels: tuple[str, ...]
    created_by: str
    created_at: datetime
    approved_version_id: UUID | None
    status: str
    """Derived from the targets, as data: `partially_failed`."""
    sentence: str
    """The same for people: "published on 8 of 10, 2 failed"."""
    versions: tuple[VersionView, ...]
    targets: tuple[TargetView, ...]
