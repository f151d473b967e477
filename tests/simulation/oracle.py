"""What must always hold (architecture, section 5), checked from outside: on requests, on the ledger, on rows.

The oracle sees what the platforms saw and what stood in the rows at that moment. It decides nothing, and it
takes no hop's word: who may send is judged by what was sent before, what was answered, and who looked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.domain import keys
from socialq.domain.outcomes import Absent
from socialq.domain.states import CLAIMABLE, TargetStatus

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.domain.outcomes import LookResult
    from socialq.domain.targets import PartState, Target
    from tests.simulation.platform import Post, Request, SimPlatform
    from tests.simulation.world import World

S = TargetStatus
MARK_TO_SEND_SECONDS: Final = 5.0
RESTING: Final = frozenset(
    {S.DRAFT, S.READY, S.PUBLISHED, S.FAILED, S.CANCELLED, S.NEEDS_ATTENTION, S.NEEDS_RECONNECT}
)

_NEVER_ALARMS: Final = ("sweep:", "evidence:", "parked:", "vault:")
"""Alarms that say that a hop could not do its work; where its cell was away, they say that."""


class ViolationError(AssertionError):
    """Something that must always hold did not."""


class Oracle:
    """Watches one run."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sends: dict[tuple[UUID, UUID, int], list[Request]] = defaultdict(list)
        self.looks: dict[tuple[UUID, int], list[tuple[datetime, LookResult]]] = defaultdict(list)
        self.decided_at: dict[UUID, datetime] = {}
        """When a person last decided that a target is sent again though it may be live."""
        self.extra: Counter[tuple[str, str]] = Counter()
        """By account and text: how many more copies persons have thereby risked."""
        self.wanted: Counter[tuple[str, str]] = Counter()
        """By account and text: how many parts there are of it."""
        self._rows: dict[UUID, tuple[Target, tuple[PartState, ...]]] = {}

    # On each request.

    def sent(self, platform: SimPlatform, request: Request) -> None:
        """Judge a request at the moment it leaves."""
        job = self.world.job
        part_no = request.body["number"]
        target = self.world.cell.targets[job.message.target_id]
        parts = self.world.cell.parts[target.id]
        self.world.tell(f"  SENT {request.body['text']} by attempt {job.attempt_no}")
        self._marked(target, part_no, job.attempt_no)
        self._keyed(target, part_no, request)
        _require(all(part.live for part in parts[: part_no - 1]), "a part was sent before the one above it")
        above = parts[part_no - 2].remote_id if part_no > 1 else None
        _require(request.body["parent"] == above, "a part was sent under another parent than the proven one")
        busy = [
            other
            for other in platform.requests
            if other.under_way and other.account_id == request.account_id and self._in_time(other)
        ]
        _require(not busy, "two requests of one account were under way at once")
        self._nothing_unknown_beside(target)
        sends = self.sends[target.id, target.version_id, part_no]
        self._not_unknown(platform, target, part_no, sends)
        sends.append(request)

    def _marked(self, target: Target, part_no: int, attempt_no: int) -> None:
        """Invariant 1: a mark of this attempt, set while all that it asks for held, and not long ago."""
        mark = self.world.cell.marks.get((target.id, part_no))
        _require(mark is not None and mark.attempt_no == attempt_no, "a request was sent without a mark")
        assert mark is not None
        held = {
            "by its claim's holder": mark.by_holder,
            "while its lease was on": mark.lease_was_on,
            "before publish_by": mark.in_time,
            "before it was withdrawn": not mark.withdrawn,
            "before it was seen live": not mark.seen,
            "while tenant, account and approval allowed it": mark.allowed,
        }
        for what, was in held.items():
            _require(was, f"a request was sent whose mark was not set {what}")
        age_seconds = (self.world.clock.now() - mark.at).total_seconds()
        _require(age_seconds <= MARK_TO_SEND_SECONDS, f"a request was sent {age_seconds} s after its mark")

    def _keyed(self, target: Target, part_no: int, request: Request) -> None:
        """Invariant 4: the key is the natural one, of the instant that the first mark froze."""
        assert target.key_instant is not None
        natural = keys.publication_key(target.id, target.key_instant, target.version_id)
        _require(
            request.body["key"] == keys.part_key(natural, part_no), "a request had another key than its row"
        )
        earlier = self.sends[target.id, target.version_id, part_no]
        _require(
            all(one.body["key"] == request.body["key"] for one in earlier), "a publication's key has changed"
        )

    def _not_unknown(self, platform: SimPlatform, target: Target, part_no: int, sends: list[Request]) -> None:
        """Invariant 3: nothing is sent again before absence is proven or a person decides."""
        decided_at = self.decided_at.get(target.id)
        open_sends = [
            one for one in sends if not one.answered and (decided_at is None or one.at > decided_at)
        ]
        _require(len(open_sends) < 2, "a part was sent a third time after two unknown outcomes")
        for one in open_sends:
            lag_seconds = platform.lag_seconds
            _require(lag_seconds is not None, "sent again where nobody can look")
            assert lag_seconds is not None
            absent = [
                at
                for at, result in self.looks[target.id, part_no]
                if at > one.at and isinstance(result, Absent)
            ]
            enough = len(absent) >= len(self.world.rules.look_delays_seconds)
            late = enough and absent[-1] >= one.at + timedelta(seconds=lag_seconds)
            _require(late, "a part was sent again while its outcome was unknown")

    def _nothing_unknown_beside(self, target: Target) -> None:
        """Invariant 2: an unknown outcome holds its account until a look was finished."""
        for other in self.world.cell.targets.values():
            if other.account_id != target.account_id or other.status is not S.UNKNOWN_OUTCOME:
                continue
            looked = any(
                isinstance(result, Absent) and other.lost_at is not None and at >= other.lost_at
                for part in self.world.cell.parts[other.id]
                for at, result in self.looks[other.id, part.part_no]
            )
            _require(looked, "sent on an account whose last outcome is unknown")

    def _in_time(self, request: Request) -> bool:
        return (self.world.clock.now() - request.at).total_seconds() < self.world.deadline_seconds

    def looked(self, part_no: int, result: LookResult) -> None:
        """Note a finished look."""
        self.looks[self.world.job.message.target_id, part_no].append((self.world.clock.now(), result))

    def accepted(self, platform: SimPlatform, request: Request) -> None:
        """Judge the ledger whenever it grows: at most one post for each part."""
        group = request.account_id, request.body["text"]
        live = sum((post.account_id, post.text) == group for post in platform.ledger)
        allowed = self.wanted[group] + self.extra[group]
        _require(live <= allowed, f"{request.body['text']!r} is live {live} times, {allowed} are allowed")

    def person_sends_again(self, target: Target, unresolved: list[PartState]) -> None:
        """Note that a person risks a second copy of these parts."""
        if not unresolved:
            return
        self.decided_at[target.id] = self.world.clock.now()
        for part in unresolved:
            self.extra[str(target.account_id), self.world.text_of(target, part.part_no)] += 1

    # On each change of a row.

    def check_changed(self) -> None:
        """Judge the rows that were written since."""
        cell = self.world.cell
        for target_id in sorted(cell.changed):
            row, parts = cell.targets[target_id], cell.parts[target_id]
            self._check_row(row, parts, self._rows.get(target_id))
            self._rows[target_id] = (row, parts)
        cell.changed.clear()
        broken = [
            message
            for key, message in self.world.central.alarms.items()
            if key.startswith(_NEVER_ALARMS) and "Unreachable" not in message
        ]
        _require(not broken, f"a hop met what it does not know: {broken}")

    def _check_row(
        self, row: Target, parts: tuple[PartState, ...], before: tuple[Target, tuple[PartState, ...]] | None
    ) -> None:
        if row.status in CLAIMABLE:
            _require(not any(part.unresolved for part in parts), "what may be live waits to be sent again")
        if row.status is S.PUBLISHED:
            ids = [part.remote_id for part in parts]
            _require(all(ids), "published, and a part of it is not live")
            _require(set(ids) <= self.world.ledger_ids(), "published with an id that nobody gave")
        if before is None:
            return
        old, old_parts = before
        _require(row.seq >= old.seq, "seq went back")
        _require(
            old.status is not S.PUBLISHED or row.status is S.PUBLISHED, "a published target did not stay so"
        )
        _require(
            old.status is not S.CANCELLED or row.status in {S.CANCELLED, S.PUBLISHED},
            "a cancelled target came back",
        )
        for part, old_part in zip(parts, old_parts, strict=False):
            _require(old_part.remote_id in {None, part.remote_id}, "a remote id was erased or replaced")
        if old.key_instant is not None and row.version_id == old.version_id:
            _require(row.key_instant == old.key_instant, "a frozen key instant has changed")

    # At the end.

    def check_end(self) -> None:
        """Nothing is lost, and nothing is hidden."""
        cell = self.world.cell
        for row in cell.targets.values():
            _require(
                row.status in RESTING and row.next_kind is None,
                f"{row.id} has not come to rest: {row.status}",
            )
            _require(not row.holds_account, "a target at rest holds its account")
            if row.status is S.NEEDS_ATTENTION:
                blind = self.world.platforms[row.platform].lag_seconds is None
                reasons = {"outcome_unknown"} if blind else {"unknown_twice", "cannot_look"}
                _require(row.reason in reasons, f"needs attention for {row.reason}")
            for part in cell.parts[row.id]:
                self._has_its_own_id(row, part)
        for platform in self.world.platforms.values():
            for post in platform.ledger:
                self._is_known(post)

    def _has_its_own_id(self, row: Target, part: PartState) -> None:
        """Invariant 7: an id belongs to one part and a part has one id; where not, that was told."""
        sightings = self.world.cell.sightings
        seen = [remote for (_, remote), own in sightings.items() if own[:2] == (row.id, part.part_no)]
        own = part.remote_id is None or part.remote_id in seen
        told = f"target:{row.id}" in self.world.central.alarms or self.world.was_cut
        _require((own and len(seen) <= 1) or told, f"two ids of one part, or one of two: {row.id}")

    def _is_known(self, post: Post) -> None:
        """A live post has an owner, or a target of its text says that it may be live."""
        cell = self.world.cell
        owner = next((own for (_, remote), own in cell.sightings.items() if remote == post.id), None)
        if owner is not None:
            _require(cell.targets[owner[0]].account_id.hex == post.account_id.replace("-", ""), "wrong owner")
            return
        group = post.account_id, post.text
        if self.extra[group]:
            return
        may_be = [
            row
            for row in cell.targets.values()
            for part in cell.parts[row.id]
            if part.unresolved
            and (str(row.account_id), self.world.text_of(row, part.part_no)) == group
            and row.status in {S.NEEDS_ATTENTION, S.CANCELLED}
        ]
        _require(bool(may_be), f"{post.text!r} is live as {post.id}, and no target knows of it")


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise ViolationError(what)
