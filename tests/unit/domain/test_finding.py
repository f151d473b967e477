"""What a look, or a late answer, makes of a target: found, absent, cannot tell."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialq.domain.finding import after_late_acceptance, after_look, published
from socialq.domain.outcomes import (
    Absent,
    AuthLost,
    CannotTell,
    Duplicate,
    Found,
    PermissionLost,
    RateLimited,
    Transient,
)
from socialq.domain.settlement import (
    after_failure,
)
from socialq.domain.states import NextKind, TargetStatus
from socialq.domain.targets import PartState
from tests.situations import (
    MARKED,
    NOW,
    RULES,
    SAID,
    after,
    broken_rules,
    in_flight,
    is_legal,
    looked_for,
    situation,
    situations,
    target_in,
)

S = TargetStatus
PUBLISH, LOOK = NextKind.PUBLISH, NextKind.LOOK

TRANSIENT = Transient(evidence=SAID)
WITHDRAWN = {"cancel_requested": True}

FOUND = Found(remote_id="r-1")
ABSENT = Absent(examined=3)
FAILED_LOOK = CannotTell(failure=TRANSIENT)
NOT_ALLOWED = CannotTell(failure=AuthLost(evidence=SAID))

LOOKS: list[tuple[Any, dict[str, Any], tuple[TargetStatus, str | None, NextKind | None]]] = [
    (FOUND, {}, (S.PUBLISHED, "found", None)),
    (FOUND, WITHDRAWN, (S.PUBLISHED, "found", None)),
    # The first request may still come true beside the second: it is looked for once more.
    (FOUND, {"unknown_count": 2}, (S.PUBLISHED, "found", LOOK)),
    (FOUND, {"publish_by": NOW}, (S.PUBLISHED, "found", None)),
    (FOUND, {"parts_after": 1}, (S.RETRY_SCHEDULED, "found", PUBLISH)),
    (FOUND, {"parts_after": 1, **WITHDRAWN}, (S.FAILED, "cancelled_midway", None)),
    (ABSENT, {"looks_done": 0}, (S.UNKNOWN_OUTCOME, None, LOOK)),
    (ABSENT, {"looks_done": 1}, (S.UNKNOWN_OUTCOME, None, LOOK)),
    (ABSENT, {"looks_done": 2}, (S.RETRY_SCHEDULED, "proven_absent", PUBLISH)),
    (ABSENT, {"lost_seconds_ago": 4.0}, (S.UNKNOWN_OUTCOME, None, LOOK)),
    (ABSENT, {"looks_done": 9}, (S.RETRY_SCHEDULED, "proven_absent", PUBLISH)),
    (ABSENT, {"unknown_count": 2}, (S.NEEDS_ATTENTION, "unknown_twice", None)),
    (ABSENT, {"unknown_count": 3, **WITHDRAWN}, (S.NEEDS_ATTENTION, "unknown_twice", None)),
    (ABSENT, WITHDRAWN, (S.CANCELLED, "cancelled", None)),
    (ABSENT, {**WITHDRAWN, "any_live": True}, (S.FAILED, "cancelled_midway", None)),
    (ABSENT, {"publish_by": NOW}, (S.FAILED, "expired", None)),
    (ABSENT, {"publish_by": NOW, "any_live": True}, (S.FAILED, "expired", None)),
    (FAILED_LOOK, {}, (S.UNKNOWN_OUTCOME, None, LOOK)),
    (FAILED_LOOK, {"looks_failed": 6}, (S.UNKNOWN_OUTCOME, None, LOOK)),
    (FAILED_LOOK, {"looks_failed": 7}, (S.NEEDS_ATTENTION, "cannot_look", None)),
    (FAILED_LOOK, {**WITHDRAWN, "publish_by": NOW}, (S.UNKNOWN_OUTCOME, None, LOOK)),
    (NOT_ALLOWED, {}, (S.NEEDS_ATTENTION, "cannot_look", None)),
    (CannotTell(failure=PermissionLost(evidence=SAID)), {}, (S.NEEDS_ATTENTION, "cannot_look", None)),
]


@pytest.mark.parametrize(("look", "given", "expected"), LOOKS)
def test_every_look_has_its_place(look: Any, given: dict[str, Any], expected: tuple[Any, Any, Any]):
    """What a look brings comes to one state, with the work that follows."""
    move = after_look(looked_for(**given), look, RULES).move
    assert (move.to, move.reason, move.next_kind) == expected


def test_looks_follow_the_planned_delays_from_the_loss():
    """Ten seconds, one minute, five minutes, from the moment the request could no longer run."""
    move = after_look(looked_for(looks_done=0, lost_seconds_ago=10.0), ABSENT, RULES).move
    assert move.next_at == NOW - timedelta(seconds=10) + timedelta(seconds=60)
    assert move.changes["looks_done"] == 1
    move = after_look(looked_for(looks_done=1, lost_seconds_ago=60.0), ABSENT, RULES).move
    assert move.next_at == NOW - timedelta(seconds=60) + timedelta(seconds=300)


def test_a_look_that_comes_very_late_plans_the_next_one_now():
    """A look in the past is never planned."""
    move = after_look(looked_for(looks_done=0, lost_seconds_ago=4000.0), ABSENT, RULES).move
    assert move.next_at == NOW


def test_absence_counts_only_after_the_platforms_lag():
    """The last planned look came before a live post is certain to be listed: one more, right after the lag."""
    move = after_look(looked_for(looks_done=2, lost_seconds_ago=300.0, lag=900.0), ABSENT, RULES).move
    assert (move.to, move.next_at) == (S.UNKNOWN_OUTCOME, NOW + timedelta(seconds=600))
    move = after_look(looked_for(looks_done=3, lost_seconds_ago=900.0, lag=900.0), ABSENT, RULES).move
    assert move.to is S.RETRY_SCHEDULED


def test_absence_counts_only_after_the_request_can_run_no_longer():
    """Its connection broke a second after the mark: the platform may take as long as any request, and then list it."""
    lost = looked_for(looks_done=2, lost_seconds_ago=900.0, lag=900.0)
    broke_early = replace(lost, part=replace(lost.part, marked_at=NOW - timedelta(seconds=901)))
    move = after_look(broke_early, ABSENT, RULES).move
    assert (move.to, move.next_at) == (S.UNKNOWN_OUTCOME, NOW + timedelta(seconds=RULES.request_seconds - 1))


def test_the_first_finished_look_frees_the_account():
    """The account's other targets need not wait for all looks; a look that failed frees nothing."""
    decision = after_look(looked_for(looks_done=0), ABSENT, RULES)
    assert decision.move.changes["holds_account"] is False
    decision = after_look(looked_for(looks_done=0, holds_account=True), FAILED_LOOK, RULES)
    assert decision.move.changes["holds_account"] is True
    decision = after_look(looked_for(looks_done=1, holds_account=False), FAILED_LOOK, RULES)
    assert decision.move.changes["holds_account"] is False


def test_failed_looks_are_spaced_and_counted_in_a_row():
    """The wait doubles; a finished look begins the count anew; a platform's own wait is kept."""
    for failed, waited in ((0, 10.0), (1, 20.0), (3, 80.0)):
        move = after_look(looked_for(looks_failed=failed), FAILED_LOOK, RULES).move
        assert move.next_at == NOW + timedelta(seconds=waited)
        assert move.changes["looks_failed"] == failed + 1
        assert move.changes["looks_done"] == 2
    move = after_look(looked_for(looks_done=0, looks_failed=5), ABSENT, RULES).move
    assert move.changes["looks_failed"] == 0
    limited = CannotTell(failure=RateLimited(evidence=SAID, retry_after_seconds=1000.0))
    assert after_look(looked_for(), limited, RULES).move.next_at == NOW + timedelta(seconds=1000)


def test_a_look_that_finds_the_authorisation_gone_tells_the_account():
    """The account needs a person, and so does what may be live on it."""
    decision = after_look(looked_for(), NOT_ALLOWED, RULES)
    assert decision.account is not None
    assert decision.account.status == "needs_reconnect"
    assert not decision.clear_mark


def test_a_published_target_is_looked_for_again_only_after_an_unknown():
    """An hour after a retry that followed an unknown; otherwise nothing is left to do."""
    plain = published(now=NOW, retried_after_unknown=False, rules=RULES)
    assert (plain.next_kind, plain.next_at, plain.changes["published_at"]) == (None, None, NOW)
    again = published(now=NOW, retried_after_unknown=True, rules=RULES)
    assert (again.next_kind, again.next_at) == (LOOK, NOW + timedelta(seconds=3600))


@settings(max_examples=200, deadline=None)
@given(situations(*S), st.integers(1, 3), st.lists(st.booleans(), min_size=3, max_size=3))
def test_a_late_acceptance_never_sends_what_is_live_and_never_stands_still(situation, part_no, live):
    """Whatever state it meets: published when all parts are live, else its seq moves on or the mark sees it."""
    target = situation.target
    parts = [
        PartState(part_no=number + 1, remote_id="(live)" if there else None)
        for number, there in enumerate(live)
    ]
    move = after_late_acceptance(target, parts, part_no, now=NOW, rules=RULES)
    all_live = all(part.live or part.part_no == part_no for part in parts)
    if move is None:
        assert target.status is S.PUBLISHED or (target.status is S.PUBLISHING and not all_live)
        return
    assert is_legal(target.status, move.to)
    assert broken_rules(after(target, move)) == []
    assert (move.to is S.PUBLISHED) == all_live
    if target.status is S.UNKNOWN_OUTCOME and not all_live:
        withdrawn = target.cancel_requested
        assert (move.to, move.next_kind) == ((S.FAILED, None) if withdrawn else (S.RETRY_SCHEDULED, PUBLISH))


def test_a_duplicate_answer_after_an_unknown_is_not_asked_for_without_end():
    """The platform says it is there, and looks don't find it: after the second time a person decides."""
    part = replace(MARKED, unknown_count=1)
    decision = after_failure(in_flight(part=part), Duplicate(evidence=SAID), RULES)
    counted = replace(
        part,
        unknown_count=part.unknown_count + int(decision.count_unknown),
        marked_at=NOW - timedelta(seconds=601),
    )
    target = target_in(S.UNKNOWN_OUTCOME, attempt_count=2, looks_done=2, lost_at=NOW - timedelta(seconds=600))
    again = situation(target, counted, any_live=False, parts_after=0, lag=5.0)
    assert after_look(again, ABSENT, RULES).move.to is S.NEEDS_ATTENTION
