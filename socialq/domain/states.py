"""The states of a target, each with its sentence, and every move between them.

This table stands once. The store turns it into the `WHERE status IN (…)` of each conditional update, a
migration copies it into the database, whose trigger refuses any other move, and `docs/states.md` is drawn
from it. Nothing else in socialq knows which move is legal.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable


class TargetStatus(StrEnum):
    """Where one target (one post on one account) stands."""

    DRAFT = "draft"
    """Composed, not yet valid or not yet approved."""
    INVALID = "invalid"
    """Refused by the platform's own rules; must be edited."""
    READY = "ready"
    """Valid and approved, without a time."""
    SCHEDULED = "scheduled"
    """Has a time; waits for it."""
    PUBLISHING = "publishing"
    """Claimed by a worker that holds the lease."""
    RETRY_SCHEDULED = "retry_scheduled"
    """Certainly not sent; waits for another try."""
    UNKNOWN_OUTCOME = "unknown_outcome"
    """A request that makes content public was sent and its answer was lost; being looked for."""
    NEEDS_ATTENTION = "needs_attention"
    """It can't be known whether it is live; a person decides."""
    NEEDS_RECONNECT = "needs_reconnect"
    """The account's authorisation ended; a person reconnects it."""
    FAILED = "failed"
    """Certainly not live, and not tried again unless a person says so."""
    PUBLISHED = "published"
    """Live on the platform."""
    CANCELLED = "cancelled"
    """Withdrawn by a person before it went out."""


S = TargetStatus

TRANSITIONS: Final[dict[TargetStatus, frozenset[TargetStatus]]] = {
    S.DRAFT: frozenset({S.INVALID, S.READY, S.CANCELLED, S.PUBLISHED}),
    S.INVALID: frozenset({S.DRAFT, S.PUBLISHED}),
    S.READY: frozenset({S.DRAFT, S.SCHEDULED, S.CANCELLED, S.PUBLISHED}),
    S.SCHEDULED: frozenset(
        {
            S.READY,
            S.DRAFT,
            S.CANCELLED,
            S.PUBLISHING,
            S.RETRY_SCHEDULED,
            S.NEEDS_RECONNECT,
            S.FAILED,
            S.UNKNOWN_OUTCOME,
            S.PUBLISHED,
        }
    ),
    S.RETRY_SCHEDULED: frozenset(
        # To itself too: a guard may say "wait" again; another reason is recorded like any other move.
        {
            S.DRAFT,
            S.CANCELLED,
            S.PUBLISHING,
            S.RETRY_SCHEDULED,
            S.NEEDS_RECONNECT,
            S.FAILED,
            S.UNKNOWN_OUTCOME,
            S.PUBLISHED,
        },
    ),
    S.PUBLISHING: frozenset(
        {
            S.PUBLISHED,
            S.RETRY_SCHEDULED,
            S.FAILED,
            S.NEEDS_RECONNECT,
            S.UNKNOWN_OUTCOME,
            S.NEEDS_ATTENTION,
            S.CANCELLED,
        }
    ),
    S.UNKNOWN_OUTCOME: frozenset(
        {S.PUBLISHED, S.RETRY_SCHEDULED, S.NEEDS_ATTENTION, S.FAILED, S.CANCELLED},
    ),
    S.NEEDS_ATTENTION: frozenset({S.SCHEDULED, S.UNKNOWN_OUTCOME, S.DRAFT, S.CANCELLED, S.PUBLISHED}),
    S.NEEDS_RECONNECT: frozenset({S.SCHEDULED, S.UNKNOWN_OUTCOME, S.DRAFT, S.CANCELLED, S.PUBLISHED}),
    S.FAILED: frozenset({S.SCHEDULED, S.UNKNOWN_OUTCOME, S.DRAFT, S.CANCELLED, S.PUBLISHED}),
    S.PUBLISHED: frozenset(),
    S.CANCELLED: frozenset({S.PUBLISHED}),
}

TERMINAL: Final = frozenset({S.PUBLISHED, S.CANCELLED})
"""Nothing is sent from here. A cancelled target can still turn out to be live (late evidence)."""

CLAIMABLE: Final = frozenset({S.SCHEDULED, S.RETRY_SCHEDULED})
"""The only states a worker may claim for publishing."""

CANCELLABLE: Final = frozenset(
    {S.DRAFT, S.READY, S.SCHEDULED, S.RETRY_SCHEDULED, S.FAILED, S.NEEDS_ATTENTION, S.NEEDS_RECONNECT},
)
"""A person may withdraw these at once; `publishing` and `unknown_outcome` only record the wish."""

RETRYABLE: Final = frozenset({S.FAILED, S.NEEDS_ATTENTION, S.NEEDS_RECONNECT})
"""A person may send these again; the retry budget starts anew."""


class NextKind(StrEnum):
    """What a target waits for next."""

    PUBLISH = "publish"
    LOOK = "look"
    PREPARE = "prepare"
    """Ahead of the publish, in its own lane of the index; never a target's next work itself."""


class PostStatus(StrEnum):
    """The status of a post, derived from its targets, never stored."""

    DRAFT = "draft"
    PENDING_APPROVAL = "pending_approval"
    SCHEDULED = "scheduled"
    PUBLISHING = "publishing"
    PUBLISHED = "published"
    PARTIALLY_FAILED = "partially_failed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    NEEDS_ATTENTION = "needs_attention"


class IllegalMoveError(Exception):
    """A move that `TRANSITIONS` does not have was asked for: a bug in the caller."""


def check_move(source: TargetStatus, to: TargetStatus) -> None:
    """Raise `IllegalMoveError` unless a target may go from `source` to `to`."""
    if to not in TRANSITIONS[source]:
        raise IllegalMoveError(f"a target can't go from {source} to {to}")


def sources_of(to: TargetStatus) -> frozenset[TargetStatus]:
    """Every state from which a target may move to `to`: the `status IN (…)` of the conditional update."""
    return frozenset(source for source, targets in TRANSITIONS.items() if to in targets)


def derive_post_status(targets: Iterable[tuple[TargetStatus, bool]], *, pending_approval: bool) -> PostStatus:
    """Derive a post's status from its targets.

    Each target is given as (status, whether any of its parts is live). Cancelled targets are left out unless
    there is no other. The database view `cell.post_statuses` says the same, and a test compares the two.
    """
    rows = list(targets)
    counted = [(status, live) for status, live in rows if status is not S.CANCELLED]
    if not counted:
        return PostStatus.CANCELLED if rows else PostStatus.DRAFT
    statuses = {status for status, _ in counted}
    any_live = any(live or status is S.PUBLISHED for status, live in counted)
    if statuses & {S.NEEDS_ATTENTION, S.NEEDS_RECONNECT}:
        return PostStatus.NEEDS_ATTENTION
    if statuses & {S.PUBLISHING, S.UNKNOWN_OUTCOME}:
        return PostStatus.PUBLISHING
    if statuses & {S.SCHEDULED, S.RETRY_SCHEDULED}:
        return PostStatus.PUBLISHING if any_live else PostStatus.SCHEDULED
    if statuses == {S.PUBLISHED}:
        return PostStatus.PUBLISHED
    if statuses & {S.DRAFT, S.INVALID, S.READY}:
        return PostStatus.PENDING_APPROVAL if pending_approval else PostStatus.DRAFT
    return PostStatus.PARTIALLY_FAILED if any_live else PostStatus.FAILED
