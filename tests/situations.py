"""Situations that a decision may meet, at random, and the database's rules about a target, in Python.

`broken_rules` says what `post_targets`' CHECK constraints would refuse. It is written out a second time, on
purpose; `tests/integration/pipeline/test_database_refuses.py` compares the two on the real thing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from hypothesis import strategies as st

from socialq.domain.outcomes import (
    Absent,
    AuthLost,
    CannotTell,
    Duplicate,
    Evidence,
    Found,
    Ours,
    PermissionLost,
    RateLimited,
    Rejected,
    Transient,
    Unknown,
)
from socialq.domain.settlement import Rules, Situation
from socialq.domain.states import TRANSITIONS, NextKind, TargetStatus
from socialq.domain.targets import PartState, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from socialq.domain.targets import Move

S = TargetStatus
NOW = datetime(2030, 6, 1, 12, 0, tzinfo=UTC)
RULES = Rules()
SAID = Evidence(http_status=503, code="test.code", message="said so")
NAMES = {
    "tenant_id": UUID(int=1),
    "id": UUID(int=2),
    "post_id": UUID(int=3),
    "account_id": UUID(int=4),
    "platform": "mastodon",
    "version_id": UUID(int=5),
}
TOKEN = UUID(int=6)

seconds = st.floats(min_value=0.0, max_value=100_000.0, allow_nan=False)
waits = st.one_of(st.none(), st.floats(min_value=-10.0, max_value=1e9, allow_nan=False))

failures = st.one_of(
    st.builds(Transient, evidence=st.just(SAID), retry_after_seconds=waits, spends_budget=st.booleans()),
    st.builds(
        RateLimited,
        evidence=st.just(SAID),
        retry_after_seconds=st.floats(0, 1e9),
        scope=st.sampled_from(["account", "app", "platform"]),
    ),
    st.builds(AuthLost, evidence=st.just(SAID)),
    st.builds(PermissionLost, evidence=st.just(SAID)),
    st.builds(Rejected, evidence=st.just(SAID), reason=st.sampled_from(["validation", "policy"])),
    st.builds(Duplicate, evidence=st.just(SAID), existing_id=st.one_of(st.none(), st.just("r-1"))),
    st.builds(Unknown, evidence=st.just(SAID)),
    st.builds(Ours, evidence=st.just(SAID), retry_after_seconds=st.floats(0, 1e6)),
)
prepare_failures = st.one_of(
    st.builds(Transient, evidence=st.just(SAID), retry_after_seconds=waits),
    st.builds(RateLimited, evidence=st.just(SAID), retry_after_seconds=st.floats(0, 1e6)),
    st.builds(AuthLost, evidence=st.just(SAID)),
    st.builds(PermissionLost, evidence=st.just(SAID)),
    st.builds(Rejected, evidence=st.just(SAID)),
    st.builds(Ours, evidence=st.just(SAID), retry_after_seconds=st.floats(0, 1e6)),
)
looks = st.one_of(
    st.builds(Found, remote_id=st.just("r-1"), created_at=st.one_of(st.none(), st.just(NOW))),
    st.builds(Absent, examined=st.integers(0, 40)),
    st.builds(CannotTell, failure=prepare_failures),
)


@st.composite
def situations(draw: Callable[..., Any], *statuses: TargetStatus) -> Situation:
    """A target in one of `statuses` as the database may hold it, with the part that is being decided about."""
    status = draw(st.sampled_from(statuses))
    attempt = draw(st.integers(1, 9))
    part_no = draw(st.integers(1, 3))
    target = target_in(
        status,
        publish_by=NOW + timedelta(seconds=draw(seconds)) - timedelta(hours=draw(st.integers(0, 2))),
        attempt_count=attempt,
        tries_spent=draw(st.integers(0, 7)),
        cancel_requested=draw(st.booleans()),
        looks_done=draw(st.integers(0, 6)),
        looks_failed=draw(st.integers(0, 9)),
    )
    if target.lost_at is not None:
        target = changed(target, lost_at=NOW - timedelta(seconds=draw(seconds)))
    part = PartState(part_no=part_no, unknown_count=draw(st.integers(0, 3)))
    if draw(st.booleans()) or status is S.UNKNOWN_OUTCOME:
        # A claim refuses a target with an unresolved mark, so that of an attempt is the attempt's own.
        marked = NOW - timedelta(seconds=draw(st.sampled_from((10, 4000))))
        part = changed(part, marked_at=marked, first_marked_at=marked, marked_attempt=attempt)
        part = changed(part, mark_cleared=status is not S.UNKNOWN_OUTCOME and draw(st.booleans()))
    return Situation(
        target=target,
        part=part,
        any_live=part_no > 1 or draw(st.booleans()),
        parts_after=draw(st.integers(0, 2)),
        now=NOW,
        lag_seconds=draw(st.one_of(st.none(), st.sampled_from([0.0, 5.0, 900.0]))),
        refresh_may_help=draw(st.booleans()),
    )


def target_in(status: TargetStatus, **columns: Any) -> Target:
    """A target in a state, with the columns that the state needs."""
    known: dict[str, Any] = {"publish_at": NOW, "publish_by": NOW + timedelta(hours=24), "seq": 3}
    match status:
        case S.PUBLISHING:
            lease = {"lease_token": TOKEN, "lease_until": NOW + timedelta(seconds=30), "holds_account": True}
            known |= {"next_kind": NextKind.PUBLISH, "next_at": NOW, "key_instant": NOW, **lease}
        case S.SCHEDULED | S.RETRY_SCHEDULED:
            known |= {"next_kind": NextKind.PUBLISH, "next_at": NOW}
        case S.UNKNOWN_OUTCOME:
            look = {"next_kind": NextKind.LOOK, "next_at": NOW, "lost_at": NOW - timedelta(minutes=10)}
            known |= {"key_instant": NOW, "holds_account": True, **look}
        case S.PUBLISHED:
            known |= {"published_at": NOW, "key_instant": NOW, "next_kind": NextKind.LOOK, "next_at": NOW}
        case _:
            pass
    return Target(**NAMES, status=status, **{**known, **columns})


def changed(record: Any, **fields: Any) -> Any:
    """`dataclasses.replace`, for a record with slots."""
    return replace(record, **fields)


def after(target: Target, move: Move) -> dict[str, Any]:
    """The row that applying a move leaves, as the store does it: the lease and the account are given up."""
    row = {name: getattr(target, name) for name in Target.__dataclass_fields__}
    given_up = {"lease_token": None, "lease_until": None, "holds_account": False}
    moved = {"status": move.to, "reason": move.reason, "next_kind": move.next_kind, "next_at": move.next_at}
    return {**row, **moved, **given_up, **move.changes}


_RESTING = frozenset(
    {S.DRAFT, S.INVALID, S.READY, S.NEEDS_ATTENTION, S.NEEDS_RECONNECT, S.FAILED, S.CANCELLED}
)

RULES_OF_A_ROW: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "next_work_whole": lambda row: (row["next_kind"] is None) == (row["next_at"] is None),
    "lease_while_publishing": lambda row: (
        (row["status"] == S.PUBLISHING) == (row["lease_token"] is not None and row["lease_until"] is not None)
        and (row["lease_token"] is None) == (row["lease_until"] is None)
    ),
    "account_held_in_flight": lambda row: (
        not row["holds_account"] or row["status"] in {S.PUBLISHING, S.UNKNOWN_OUTCOME}
    ),
    "publishing_holds_account": lambda row: row["status"] != S.PUBLISHING or row["holds_account"],
    "scheduled_has_work": lambda row: (
        row["status"] not in {S.SCHEDULED, S.RETRY_SCHEDULED}
        or (
            row["next_kind"] == NextKind.PUBLISH
            and row["publish_at"] is not None
            and row["publish_by"] is not None
        )
    ),
    "unknown_is_looked_for": lambda row: (
        row["status"] != S.UNKNOWN_OUTCOME
        or (row["next_kind"] == NextKind.LOOK and row["lost_at"] is not None)
    ),
    "resting_has_no_work": lambda row: row["status"] not in _RESTING or row["next_kind"] is None,
    "published_has_instant": lambda row: (row["status"] == S.PUBLISHED) == (row["published_at"] is not None),
    "published_only_looks": lambda row: (
        row["status"] != S.PUBLISHED or row["next_kind"] in {None, NextKind.LOOK}
    ),
}


def broken_rules(row: Mapping[str, Any]) -> list[str]:
    """Names of the CHECK constraints that would refuse the row."""
    return sorted(name for name, holds in RULES_OF_A_ROW.items() if not holds(row))


def is_legal(source: TargetStatus, to: TargetStatus) -> bool:
    """Whether the database's trigger lets a target go from `source` to `to`."""
    return source is to or to in TRANSITIONS[source]


MARKED = PartState(
    part_no=1,
    marked_at=NOW - timedelta(seconds=5),
    first_marked_at=NOW - timedelta(seconds=5),
    marked_attempt=2,
)


def in_flight(
    *,
    part: PartState = MARKED,
    any_live: bool = False,
    parts_after: int = 0,
    lag: float | None = 5.0,
    **columns: Any,
) -> Situation:
    """A claimed target whose request was marked by its second attempt."""
    target = target_in(S.PUBLISHING, attempt_count=2, **columns)
    return situation(target, part, any_live=any_live, parts_after=parts_after, lag=lag)


def looked_for(
    *,
    unknown_count: int = 1,
    looks_done: int = 2,
    any_live: bool = False,
    parts_after: int = 0,
    lost_seconds_ago: float = 600.0,
    lag: float | None = 5.0,
    **columns: Any,
) -> Situation:
    """A target of unknown outcome; by default this is its last planned look."""
    lost_at = NOW - timedelta(seconds=lost_seconds_ago)
    target = target_in(S.UNKNOWN_OUTCOME, attempt_count=2, looks_done=looks_done, lost_at=lost_at, **columns)
    part = replace(MARKED, unknown_count=unknown_count, marked_at=lost_at - timedelta(seconds=30))
    return situation(target, part, any_live=any_live, parts_after=parts_after, lag=lag)


def situation(
    target: Any, part: PartState, *, any_live: bool, parts_after: int, lag: float | None
) -> Situation:
    return Situation(
        target=target, part=part, any_live=any_live, parts_after=parts_after, now=NOW, lag_seconds=lag
    )
