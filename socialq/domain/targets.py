"""A target as rules see it: a snapshot of its row, of its parts, and the change that a decision asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.states import NextKind, TargetStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One row of `post_targets`; instants are aware UTC."""

    tenant_id: UUID
    id: UUID
    post_id: UUID
    account_id: UUID
    platform: str
    version_id: UUID
    status: TargetStatus
    seq: int
    reason: str | None = None
    detail: str | None = None
    next_kind: NextKind | None = None
    next_at: datetime | None = None
    publish_at: datetime | None = None
    publish_by: datetime | None = None
    key_instant: datetime | None = None
    attempt_count: int = 0
    tries_spent: int = 0
    lease_token: UUID | None = None
    lease_until: datetime | None = None
    holds_account: bool = False
    cancel_requested: bool = False
    lost_at: datetime | None = None
    looks_done: int = 0
    looks_failed: int = 0
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """One row of `target_parts`."""

    part_no: int
    prepared: Mapping[str, Any] = field(default_factory=dict)
    marked_at: datetime | None = None
    marked_attempt: int | None = None
    mark_cleared: bool = False
    first_marked_at: datetime | None = None
    unknown_count: int = 0
    remote_id: str | None = None
    remote_ref: Mapping[str, str] = field(default_factory=dict)
    permalink: str | None = None
    accepted_at: datetime | None = None

    @property
    def live(self) -> bool:
        """Whether this part is on the platform."""
        return self.remote_id is not None

    @property
    def unresolved(self) -> bool:
        """Whether a marked request of this part may still have made it live without our knowing."""
        return self.marked_at is not None and not self.mark_cleared and self.remote_id is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What a decision makes of a target: its new state, its next work, and what else changes in its row.

    The store applies it as one conditional update, bumps `seq` and leaves an outbox event.
    """

    to: TargetStatus
    reason: str | None = None
    detail: str | None = None
    next_kind: NextKind | None = None
    next_at: datetime | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Further columns of `post_targets`, by name."""
    event: str = "target.settled"
    """The kind of the outbox event."""
