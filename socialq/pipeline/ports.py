"""What the hops need of the world, as protocols. `wiring` hands in the real things, a simulation others.

Each method that writes is one transaction of its own, and each says what no row means. None of them waits for
a platform.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from socialq.domain.settlement import Decision
from socialq.domain.targets import Move, PartState, Target

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.domain.breaking import BreakerLimits, TroubleKind, Troubles
    from socialq.domain.hops import Event, IndexRow, LateEvidence, Message, Mirrored, Picked
    from socialq.domain.outcomes import Accepted, Evidence, Found, Ours, PrepareFailure, RateLimited
    from socialq.domain.work import (
        AccountBusy,
        AccountRow,
        Claimed,
        ClaimRequest,
        MediaRow,
        PartKept,
        Settled,
        Work,
    )
    from socialq.providers.base import AppCredentials, Refreshed

Decide = Callable[[Target, Sequence[PartState], datetime], Decision]
"""Decides on a target as it stands locked: target, parts, the cell's clock."""


class Targets(Protocol):
    """The targets of every tenant, each in its own cell."""

    def load(self, tenant_id: UUID, target_id: UUID) -> Work | None:
        """Read a target's work, or None where the tenant has no such target."""

    def claim(self, request: ClaimRequest) -> Claimed | AccountBusy | None:
        """Claim; None where any check inside the claim refuses."""

    def account_is_free(self, target: Target) -> bool:
        """Say whether no target holds this target's account."""

    def mark(
        self, *, tenant_id: UUID, target_id: UUID, token: UUID, part_no: int, lease_seconds: float
    ) -> Claimed | None:
        """Mark a part; None where the request may not be sent."""

    def store_prepared(
        self,
        *,
        tenant_id: UUID,
        target_id: UUID,
        token: UUID,
        part_no: int,
        result: Mapping[str, Any],
        lease_seconds: float,
    ) -> bool:
        """Keep a prepare step's result and renew the lease; False where the claim is lost."""

    def part_accepted(
        self, *, target: Target, token: UUID, part_no: int, answer: Accepted, lease_seconds: float
    ) -> PartKept | None:
        """Record that a part is live and more follow; None where the claim is lost."""

    def accepted(
        self,
        *,
        work: Work,
        token: UUID,
        part_no: int,
        answer: Accepted,
        publication_key: str,
        look_again_seconds: float | None,
    ) -> Settled | None:
        """Record that the last part is live; None where the claim is lost."""

    def late_acceptance(
        self, *, work: Work, attempt_no: int, part_no: int, answer: Accepted, publication_key: str
    ) -> Settled | None:
        """Record an acceptance that came after its claim was lost: evidence, whatever the state is."""

    def settle(
        self,
        *,
        tenant_id: UUID,
        target_id: UUID,
        token: UUID,
        part_no: int,
        evidence: Evidence,
        decide: Decide,
    ) -> Settled | None:
        """Settle a claim by decision; None where the claim is lost."""

    def late_failure(
        self, *, tenant_id: UUID, target_id: UUID, attempt_no: int, state: str, evidence: Evidence
    ) -> None:
        """Record how an attempt ended whose claim was lost."""

    def move(self, target: Target, move: Move, *, actor: str) -> Settled | None:
        """Move an unclaimed target by decision; None where its row has changed meanwhile."""

    def settle_look(
        self, *, target: Target, part_no: int, found: Found | None, publication_key: str, decide: Decide
    ) -> Settled | None:
        """Settle a finished look; None where the target has changed meanwhile."""

    def claimed_ids(self, *, tenant_id: UUID, account_id: UUID, since: datetime) -> frozenset[str]:
        """Remote ids of the account that some part owns, as far as they were seen after `since`."""


class Prepares(Protocol):
    """The prepare lane's leases and results."""

    def take(self, target: Target, *, token: UUID, lease_seconds: float) -> int | datetime | None:
        """Take the lease; returns the tries so far; an instant: another is at it until then; None: not wanted."""

    def store(
        self, target: Target, *, token: UUID, part_no: int, result: Mapping[str, Any], lease_seconds: float
    ) -> bool:
        """Keep a step's result; False: the publish has begun, or the lease is lost."""

    def end(self, target: Target, *, token: UUID, again_at: datetime | None) -> bool:
        """End the lease: done for this version, or again at a time."""


class Index(Protocol):
    """The central dispatch index."""

    def finish(self, settled: Settled) -> None:
        """Mirror what a settle left and wake whoever waits for the account."""

    def repair(
        self,
        *,
        target: Target,
        message_seq: int,
        not_before: datetime | None = None,
        waits_for_account: bool = False,
    ) -> None:
        """Set a row from the cell's truth after the message with `message_seq` was refused.

        A row whose newer message is out already is left alone.
        """

    def set_prepare(self, *, target: Target, message_seq: int, at: datetime | None) -> None:
        """Set the prepare lane's row: again at a time, or done."""

    def hold(self, *, scope: str, key: str, until: datetime, reason: str) -> None:
        """Hold an account, an app or a platform."""

    def alarm(self, *, key: str, message: str, tenant_id: UUID | None) -> None:
        """Raise an alarm."""

    def trouble(
        self, *, account_id: UUID, platform: str, kind: TroubleKind, limits: BreakerLimits
    ) -> Troubles:
        """Count a failure that gets accounts banned if it goes on; returns how many there are by now."""


class EvidenceStore(Protocol):
    """Acceptances that wait for their cell."""

    def keep(self, evidence: LateEvidence) -> None:
        """Keep one, until its cell is back."""

    def of_target(self, target_id: UUID) -> Sequence[LateEvidence]:
        """Read what waits for one target."""

    def of_cell(self, cell: str, *, limit: int) -> Sequence[LateEvidence]:
        """Read what waits for a cell."""

    def mark_applied(self, evidence: Sequence[LateEvidence]) -> None:
        """Note that these are recorded."""


class Credentials(Protocol):
    """Opens an account's stored token."""

    def token_of(self, tenant_id: UUID, account: AccountRow) -> str:
        """Decrypt the account's access token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountReady:
    """The account's token can be used now."""

    account: AccountRow
    ending: str = ""
    """Why the token can't be refreshed, although it works until its end; empty: nothing is wrong with it."""
    failure: PrepareFailure | None = None
    """Why it was not refreshed this time, although it works; None: it was, or need not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountWaits:
    """The account's token can't be used yet; nothing of the budget is spent."""

    seconds: float
    detail: str
    because: RateLimited | Ours | None = None
    """What the platform said, where it concerns more than this account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLost:
    """A person must reconnect the account."""

    detail: str


AccountCheck = AccountReady | AccountWaits | AccountLost


class FreshTokens(Protocol):
    """Guard 5's network half: a token that is about to end is refreshed first."""

    def ensure(self, work: Work, *, until: datetime | None = None) -> AccountCheck:
        """Return the account as it can be used now, and at `until` (aware) where that is given."""

    def renew(self, work: Work) -> AccountCheck:
        """Refresh a token that the platform has ended before its time."""


class AccountTokens(Protocol):
    """An account's stored tokens, with the lease of a refresh."""

    def take_lease(
        self,
        tenant_id: UUID,
        account: AccountRow,
        *,
        lease: UUID,
        lease_seconds: float,
        renews_itself: bool = False,
        least_age_seconds: float = 0.0,
    ) -> tuple[AccountRow, AppCredentials, str, datetime] | None:
        """Take the lease: the account, its application, its refresh token (plain), the cell's clock.

        None as well where the token was made less than `least_age_seconds` ago: some platforms take offence. Where
        tokens renew themselves, the access token stands for the refresh token, and the application may be empty.
        """

    def read(self, tenant_id: UUID, account_id: UUID) -> tuple[AccountRow, datetime] | None:
        """Read the account as it stands, and the cell's clock."""

    def store_pair(
        self, tenant_id: UUID, account: AccountRow, *, lease: UUID, pair: Refreshed
    ) -> AccountRow | None:
        """Store a new pair while the lease is ours; None where it is not."""

    def mark_lost(self, tenant_id: UUID, account: AccountRow, *, lease: UUID, reason: str) -> bool:
        """Mark the account for reconnection, unless what was traded has changed meanwhile."""

    def release(self, tenant_id: UUID, account_id: UUID, *, lease: UUID) -> None:
        """Give the lease back."""

    def note_tried(self, tenant_id: UUID, account_id: UUID) -> None:
        """Note that the account was looked after, without a refresh."""


class Buckets(Protocol):
    """Guard 8: our own count of what a platform allows."""

    def wait_seconds(self, work: Work) -> float:
        """Take one place in every bucket that applies; 0: go ahead, else how long until there is one."""


class Files(Protocol):
    """Opens stored media."""

    def open(self, key: str) -> BinaryIO:
        """Open the file kept under `key` for reading, from its first byte."""

    def link_of(self, target: Target, media: MediaRow) -> Callable[[], str] | None:
        """Return what makes the public address of a target's file; None where there are no public links."""


class Outbox(Protocol):
    """One cell's outbox and scheduling columns, as the machine role sees them."""

    name: str

    def unrelayed(self, *, limit: int) -> Sequence[Event]:
        """Read the oldest unrelayed events."""

    def rows_of(self, target_ids: Sequence[UUID]) -> Sequence[IndexRow]:
        """Read targets' current next work; a target that is `publishing` is left out."""

    def mark_relayed(self, event_ids: Sequence[int]) -> None:
        """Mark events as relayed."""

    def park(self, target_id: UUID, *, failure: str) -> None:
        """Set aside a target's waiting events."""

    def all_rows(self, *, after: IndexRow | None, limit: int) -> Sequence[IndexRow]:
        """Read next work of every target in the order of its time, `after` a row of the main lane."""

    def known_ids(self, target_ids: Sequence[UUID]) -> Collection[UUID]:
        """Say which targets there are."""


class IndexWriter(Protocol):
    """The central side of the relay."""

    def upsert(self, cell: str, rows: Sequence[IndexRow]) -> int:
        """Mirror rows where their seq is newer; returns how many changed."""

    def mirror_anew(self, cell: str, rows: Sequence[IndexRow]) -> int:
        """Mirror rows, and set right those of the same seq whose message is not out; returns how many changed."""

    def rows_of_cell(self, cell: str, *, after: Mirrored | None, limit: int) -> Sequence[Mirrored]:
        """Read a cell's rows whose message is not out, in the order of ids and lanes."""

    def delete_seen(self, rows: Sequence[Mirrored]) -> int:
        """Delete rows that are still as they were seen; returns how many."""

    def wake_dispatch(self) -> None:
        """Tell the dispatcher to look again."""

    def alarm(self, *, key: str, message: str, tenant_id: UUID | None) -> None:
        """Raise an alarm."""


class DuePicker(Protocol):
    """The central side of dispatch."""

    def enqueued(self) -> int:
        """Count messages that are out and unanswered."""

    def pick(self, *, limit: int) -> Picked:
        """Make due rows enqueued, fairly and within bounds, and return them."""

    def put_back(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Make rows pending again whose messages could not be sent."""

    def silent(self, *, limit: int) -> Sequence[Mapping[str, Any]]:
        """Take enqueued rows that nobody answered in time."""


class Queue(Protocol):
    """Where messages go."""

    def send(self, messages: Sequence[Message]) -> None:
        """Send a batch; raises `QueueUnreachable` when none or only some may have been sent."""

    def length(self) -> int:
        """Count messages that wait in the queue."""


class Overdue(Protocol):
    """One cell's targets whose time is over, as the machine role sees them. Each settle is one transaction."""

    name: str

    def ended_leases(self, *, limit: int) -> Sequence[Target]:
        """Read targets whose lease is over."""

    def past_publish_by(self, *, limit: int) -> Sequence[Target]:
        """Read waiting targets whose publish-by time has passed."""

    def overdue_rows(self, *, after: IndexRow | None, limit: int) -> Sequence[IndexRow]:
        """Read next work that was due a while ago and is not in flight, in the order of its time."""

    def settle(self, target: Target, decide: Decide, *, evidence: Evidence) -> Settled | None:
        """Settle one by decision; None where its row has changed meanwhile."""


class IndexSeqs(Protocol):
    """What the index knows of targets."""

    def seqs_of(self, target_ids: Sequence[UUID]) -> Mapping[UUID, tuple[int, str]]:
        """Read seq and status by target."""
