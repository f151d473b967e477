"""What travels between the hops: events, index rows, messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.states import NextKind


Lane = Literal["main", "prepare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message to a worker: nothing in it is secret, and nothing in it is the truth."""

    tenant_id: UUID
    target_id: UUID
    seq: int
    kind: NextKind


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """A target's next work as the dispatch index mirrors it."""

    target_id: UUID
    tenant_id: UUID
    account_id: UUID
    platform: str
    provider_app_id: UUID | None
    seq: int
    kind: NextKind | None
    """None: no next work; the row is done."""
    due_at: datetime | None
    publish_by: datetime | None
    lane: Lane = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrored:
    """A row of the dispatch index as it was seen, to compare with its target."""

    target_id: UUID
    lane: Lane
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An outbox event: something about this target changed."""

    id: int
    target_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class LateEvidence:
    """An acceptance whose cell could not be reached."""

    tenant_id: UUID
    target_id: UUID
    part_no: int
    attempt_no: int
    publication_key: str
    remote_id: str
    permalink: str | None
    remote_ref: Mapping[str, str]
    id: int = 0
    """0 until it is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """What one pick of the dispatcher took."""

    rows: Sequence[Mapping[str, Any]]
    """target_id, lane, tenant_id, seq, kind and ready_at of each."""
    more: bool
    """More may be due right now."""
    full: bool
    """There was no room in the queue."""
    held_back: bool
    """A bound keeps something that is due from being picked, until messages return."""
    next_in_seconds: float | None
    """Until the next row is ready, by the database's clock; None where there is none."""


class RowsRefusedError(Exception):
    """The index refuses at least one of the rows it was given; nothing was written."""


class CellUnreachableError(Exception):
    """A cell's database can't be reached now; nothing was written, or nobody can say so."""


class QueueUnreachableError(Exception):
    """The queue can't be reached now; what was handed to it may or may not have been sent."""
