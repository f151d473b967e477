"""The verdict: what the database says of every target beside what the simulated platforms' ledger has.

Arrives: the targets with their parts, the ledger's posts, the rules that struck, who cancelled what. Leaves:
counts, and every difference, a sentence each. What must stay true: pure; each post of the ledger belongs to
exactly one part or is a difference, and so does each part that is said to be live.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from uuid import UUID

RESTING: Final = frozenset({"published", "failed", "cancelled", "needs_attention", "needs_reconnect"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """One part as the database has it, with the words that it was to say."""

    number: int
    text: str
    remote_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetState:
    """One target as the database has it at the end."""

    id: UUID
    platform: str
    account: str
    """The simulated account's name."""
    blind: bool
    """Whether the plan keeps its account from being looked through."""
    status: str
    reason: str | None
    parts: tuple[PartState, ...]
    was_cancelled: bool
    """Whether a person asked for it."""
    lost_with_worker: bool = False
    """Whether one of its answers was lost because a worker died."""


@dataclass(slots=True, kw_only=True)
class Verdict:
    """The counts, and what they come from."""

    duplicates: int = 0
    lost: int = 0
    wrongly_failed: int = 0
    needs_attention: int = 0
    """Where a finder could have told."""
    attention_of_the_blind: int = 0
    lost_twice: int = 0
    """Lost without effect by the plan's rule and once more by a killed worker: rightly a person's."""
    statuses: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Post:
    platform: str
    account: str
    id: str
    text: str

    @property
    def place(self) -> tuple[str, str]:
        return self.platform, self.account


def verdict_of(
    targets: Sequence[TargetState],
    ledger: Sequence[Mapping[str, Any]],
    *,
    refusals: Mapping[tuple[str, str], int],
    expected: AbstractSet[UUID],
) -> Verdict:
    """Compare. `refusals`: how often the plan refused an account, by (platform, name); `expected`: every target
    that was ever planned."""
    found = Verdict(statuses=Counter(target.status for target in targets))
    posts = {
        (row["platform"], str(row["id"])): _Post(row["platform"], row["account"], str(row["id"]), row["text"])
        for row in ledger
    }
    missing = expected - {target.id for target in targets}
    found.lost += len(missing)
    found.differences += [f"target {target_id} is not in the database" for target_id in sorted(missing)]
    owners = _owners(targets, posts, found)
    _unowned(targets, posts, owners, found)
    for target in targets:
        _judge(target, found)
    _failed(targets, refusals, found)
    return found


def _owners(
    targets: Sequence[TargetState], posts: Mapping[tuple[str, str], _Post], found: Verdict
) -> Counter[tuple[str, str]]:
    """Follow each id that the database has into the ledger."""
    owners: Counter[tuple[str, str]] = Counter()
    for target in targets:
        for part in target.parts:
            if part.remote_id is None:
                continue
            key = (target.platform, part.remote_id)
            owners[key] += 1
            post = posts.get(key)
            if post is None:
                found.lost += 1
                found.differences.append(
                    f"{_named(target, part)} is live as {part.remote_id}: not in the ledger"
                )
            elif post.place != (target.platform, target.account) or post.text != part.text:
                found.lost += 1
                found.differences.append(
                    f"{_named(target, part)} owns {post.id}, which is {post.text!r} on {post.account}"
                )
    for key, count in owners.items():
        if count > 1:
            found.duplicates += count - 1
            found.differences.append(f"{count} parts own {key}")
    return owners


def _unowned(
    targets: Sequence[TargetState],
    posts: Mapping[tuple[str, str], _Post],
    owners: Mapping[tuple[str, str], int],
    found: Verdict,
) -> None:
    """Explain each post of the ledger that no part owns: a part that waits for a person may be it."""
    silent: dict[tuple[str, str, str], list[TargetState]] = defaultdict(list)
    for target in targets:
        for part in target.parts:
            if part.remote_id is None:
                silent[target.platform, target.account, part.text].append(target)
    for key, post in posts.items():
        if key in owners:
            continue
        maybe = silent[post.platform, post.account, post.text]
        asked = next((target for target in maybe if target.status == "needs_attention"), None)
        if asked is not None:
            maybe.remove(asked)
        elif maybe:
            target = maybe.pop()
            found.wrongly_failed += 1
            found.differences.append(f"{_named(target)} is {target.status}, and {post.id} is live")
        else:
            found.duplicates += 1
            found.differences.append(
                f"{post.id} on {post.platform}:{post.account} is no part's: {post.text!r}"
            )


def _judge(target: TargetState, found: Verdict) -> None:
    """Look at one target's state by itself."""
    silent = [part for part in target.parts if part.remote_id is None]
    if target.status not in RESTING:
        found.lost += 1
        found.differences.append(f"{_named(target)} is still {target.status} ({target.reason})")
    elif target.status == "published" and silent:
        found.lost += 1
        found.differences.append(f"{_named(target)} is published, and {len(silent)} parts have no id")
    elif target.status != "published" and not silent:
        found.wrongly_failed += 1
        found.differences.append(f"{_named(target)} is {target.status}, and all of it is live")
    elif target.status in {"needs_attention", "needs_reconnect"}:
        if target.reason is None:
            found.lost += 1
            found.differences.append(f"{_named(target)} is {target.status} without a reason")
        elif target.blind:
            found.attention_of_the_blind += 1
        elif target.reason == "unknown_twice" and target.lost_with_worker:
            found.lost_twice += 1
        else:
            found.needs_attention += 1
            found.differences.append(f"{_named(target)} is {target.status} ({target.reason})")
    elif target.status == "cancelled" and not target.was_cancelled:
        found.lost += 1
        found.differences.append(f"{_named(target)} is cancelled, and nobody asked for it")


def _failed(targets: Sequence[TargetState], refusals: Mapping[tuple[str, str], int], found: Verdict) -> None:
    """A target may fail only where the platform refused one, or a person withdrew it half-way."""
    failed: dict[tuple[str, str], list[TargetState]] = defaultdict(list)
    for target in targets:
        if target.status == "failed" and not target.was_cancelled:
            failed[target.platform, target.account].append(target)
    for place, those in failed.items():
        extra = len(those) - refusals.get(place, 0)
        if extra > 0:
            found.wrongly_failed += extra
            names = "; ".join(f"{_named(target)} ({target.reason})" for target in those)
            found.differences.append(f"{extra} of these failed without a refusal: {names}")


def _named(target: TargetState, part: PartState | None = None) -> str:
    name = f"target {target.id} on {target.platform}:{target.account}"
    return name if part is None else f"{name}, part {part.number},"
