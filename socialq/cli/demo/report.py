"""The report, and its check against the sandbox's ledger.

Arrives: what socialq says of its targets, what the simulated world saw. Leaves: numbers, and every difference
between the two, a sentence each. What must stay true: pure; nothing is counted that was not seen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from socialq.cli.demo.channels import Simulated
from socialq.domain import keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from socialq.cli.demo.person import Asked
    from socialq.store.view_rows import PartView, TargetView

RESTING: Final = frozenset({"published", "failed"})
_LOST_IN_FLIGHT: Final = frozenset({"worker.lost", "outcome_unknown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What both sides say, at one moment."""

    targets: Sequence[TargetView]
    ledger: Sequence[Mapping[str, Any]]
    calls: Mapping[tuple[str, str], Mapping[str, int]]
    """Publish requests and accepted ones, by platform and account."""
    requests: Sequence[Mapping[str, Any]]
    accounts: Mapping[UUID, Simulated]
    texts: Mapping[UUID, Sequence[str]]
    """The text of each part, by the post's id."""
    asked: Sequence[Asked]
    """What a person was asked, and did."""
    acceptance_post: UUID
    acceptance_status: str
    faulted_accounts: frozenset[Simulated]
    disturbed: tuple[datetime, datetime] | None
    """While a worker was dead: what was due then says nothing about lateness."""


@dataclass(slots=True, kw_only=True)
class Report:
    """The numbers, and what does not agree."""

    numbers: dict[str, Any]
    differences: list[str] = field(default_factory=list)


def report_of(seen: Seen, *, settings: Mapping[str, Any]) -> Report:
    """Count, and compare socialq's word with the ledger."""
    statuses = Counter(target.line.status for target in seen.targets)
    duplicates, lost, differences = _against_ledger(seen)
    platforms = _platforms(seen, duplicates=duplicates, lost=lost)
    acceptance = _acceptance(seen)
    numbers = {
        "targets": len(seen.targets),
        "published": statuses["published"],
        "failed": statuses["failed"],
        "uncertain": sum(_was_unknown(target) for target in seen.targets),
        "accepted_calls": sum(count["accepted"] for count in seen.calls.values()),
        "duplicates": duplicates.total(),
        "lost": lost.total(),
        "platforms": platforms,
        "asked_a_person": [asked.shown() for asked in seen.asked],
        "lateness_ms": _lateness(seen),
        "acceptance": acceptance,
        "settings": dict(settings),
    }
    differences += _unsettled(seen.targets)
    differences += _acceptance_differences(acceptance)
    differences += [
        f"{name}: nothing was published" for name, row in platforms.items() if not row["published"]
    ]
    if numbers["accepted_calls"] != len(seen.ledger):
        differences.append(
            f"{numbers['accepted_calls']} calls were accepted, and the ledger has {len(seen.ledger)} posts"
        )
    return Report(numbers=numbers, differences=differences)


def _against_ledger(seen: Seen) -> tuple[Counter[str], Counter[str], list[str]]:
    """Compare part by part; returns duplicates and lost parts by platform, and the sentences."""
    posts = {(Simulated(row["platform"], row["account"]), str(row["id"])): row for row in seen.ledger}
    owned: Counter[tuple[Simulated, str]] = Counter()
    differences: list[str] = []
    lost: Counter[str] = Counter()
    for target in seen.targets:
        account = seen.accounts[target.account_id]
        for part in target.parts:
            if part.remote_id is None and target.line.status != "published":
                continue
            key = (account, str(part.remote_id))
            owned[key] += 1
            problem = _part_problem(part, posts.get(key), seen.texts[target.line.post_id])
            if problem is not None:
                lost[account.platform] += key not in posts
                differences.append(
                    f"target {target.line.id} on {target.line.account}, part {part.part_no}: {problem}"
                )
    extra = [row for key, row in posts.items() if key not in owned]
    differences += [
        f"the ledger has a post on {row['platform']}:{row['account']} that no part owns: {row['id']}"
        for row in extra
    ]
    shared = [key for key, count in owned.items() if count > 1 and key in posts]
    differences += [
        f"post {post_id} on {account.platform}:{account.name} is claimed by two parts"
        for account, post_id in shared
    ]
    return Counter(row["platform"] for row in extra), lost, differences


def _platforms(seen: Seen, *, duplicates: Counter[str], lost: Counter[str]) -> dict[str, dict[str, int]]:
    """Count by platform: targets and what became of them, posts that the world shows, what differs."""
    rows: dict[str, dict[str, int]] = {}
    for name in sorted({account.platform for account in seen.accounts.values()}):
        mine = [target for target in seen.targets if seen.accounts[target.account_id].platform == name]
        rows[name] = {
            "targets": len(mine),
            "published": sum(target.line.status == "published" for target in mine),
            "failed": sum(target.line.status == "failed" for target in mine),
            "uncertain": sum(map(_was_unknown, mine)),
            "posts_seen": sum(row["platform"] == name for row in seen.ledger),
            "duplicates": duplicates[name],
            "lost": lost[name],
        }
    return rows


def _part_problem(part: PartView, row: Mapping[str, Any] | None, texts: Sequence[str]) -> str | None:
    if part.remote_id is None:
        return "is said to be published, and has no id"
    if row is None:
        return f"is said to be live as {part.remote_id}, and the ledger has no such post"
    if row["text"] != texts[part.part_no - 1]:
        return f"is live as {part.remote_id} with another text"
    return None


def _was_unknown(target: TargetView) -> bool:
    """Whether its answer was lost: it was looked for, or a person was asked."""
    return any(move.to_status in {"unknown_outcome", "needs_attention"} for move in target.history)


def _unsettled(targets: Sequence[TargetView]) -> list[str]:
    return [
        f"target {target.line.id} on {target.line.account} is {target.line.status}: {target.line.detail}"
        for target in targets
        if target.line.status not in RESTING
    ]


def _acceptance(seen: Seen) -> dict[str, Any]:
    mine = [target for target in seen.targets if target.line.post_id == seen.acceptance_post]
    statuses = Counter(target.line.status for target in mine)
    accounts = {seen.accounts[target.account_id] for target in mine}
    return {
        "published": statuses["published"],
        "failed": statuses["failed"],
        "accepted_calls": sum(
            seen.calls.get((account.platform, account.name), {"accepted": 0})["accepted"]
            for account in accounts
        ),
        "post_status": seen.acceptance_status,
    }


def _acceptance_differences(found: Mapping[str, Any]) -> list[str]:
    expected = {"published": 8, "failed": 2, "accepted_calls": 8, "post_status": "partially_failed"}
    return [
        f"acceptance case: {name} is {found[name]}, expected {value}"
        for name, value in expected.items()
        if found[name] != value
    ]


def _lateness(seen: Seen) -> dict[str, float | None]:
    """Percentiles of: first request as the sandbox received it, minus the time it was due."""
    first = _first_requests(seen.requests)
    hit = seen.faulted_accounts | _hit_accounts(seen)
    late_ms = sorted(
        (first[key] - target.line.publish_at).total_seconds() * 1000
        for target in seen.targets
        if target.line.publish_at is not None
        if not _excused(target, seen.accounts[target.account_id] in hit, seen.disturbed)
        for key in _request_names(seen, target, target.line.publish_at)
        if key in first
    )
    return {"p50": _percentile(late_ms, 50), "p99": _percentile(late_ms, 99)}


def _first_requests(requests: Sequence[Mapping[str, Any]]) -> dict[object, datetime]:
    """When each publish request came first, by its key and by its account and text."""
    first: dict[object, datetime] = {}
    for request in requests:
        received = datetime.fromisoformat(request["received_at"])
        account = Simulated(request["platform"], request["account"])
        for name in (request["idempotency_key"], (account, request["text"])):
            if name is not None:
                first.setdefault(name, received)
    return first


def _request_names(seen: Seen, target: TargetView, publish_at: datetime) -> list[object]:
    """Name its first request: by our key where the platform takes one, elsewhere by account and text."""
    account = seen.accounts[target.account_id]
    if account.platform == "mastodon":
        return [keys.part_key(keys.publication_key(target.line.id, publish_at, target.version_id), 1)]
    return [(account, seen.texts[target.line.post_id][0])]


def _hit_accounts(seen: Seen) -> set[Simulated]:
    """Name the accounts on which something was in flight in the worker that was killed: they had to wait."""
    return {
        seen.accounts[target.account_id]
        for target in seen.targets
        if any(move.reason in _LOST_IN_FLIGHT for move in target.history)
    }


def _excused(target: TargetView, was_hit: bool, disturbed: tuple[datetime, datetime] | None) -> bool:
    due = target.line.publish_at
    in_window = disturbed is not None and due is not None and disturbed[0] <= due <= disturbed[1]
    return in_window or was_hit


def _percentile(ordered: Sequence[float], percent: int) -> float | None:
    """Nearest rank: a value that was measured."""
    if not ordered:
        return None
    rank = -(-len(ordered) * percent // 100)
    return round(ordered[max(rank, 1) - 1], 1)
