"""What becomes of a target: every outcome in every situation, as a table and at random.

The random tests state what no situation may break; the tables state what each one comes to.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialq.domain.finding import after_late_acceptance, after_look, after_published_look, published
from socialq.domain.outcomes import (
    Absent,
    AuthLost,
    CannotTell,
    Duplicate,
    Found,
    Ours,
    PermissionLost,
    RateLimited,
    Rejected,
    Transient,
    Unknown,
)
from socialq.domain.retry import LONGEST_RATE_LIMIT_SECONDS
from socialq.domain.settlement import (
    Decision,
    Rules,
    Situation,
    after_failure,
    after_lease_end,
    cancelled_before_mark,
    expired,
    wait_before_claim,
)
from socialq.domain.states import CLAIMABLE, NextKind, TargetStatus
from socialq.domain.targets import PartState
from tests.situations import (
    NOW,
    RULES,
    SAID,
    after,
    broken_rules,
    failures,
    is_legal,
    looks,
    situations,
    target_in,
)

S = TargetStatus
PUBLISH, LOOK = NextKind.PUBLISH, NextKind.LOOK

MARKED = PartState(
    part_no=1, marked_at=NOW - timedelta(seconds=5), first_marked_at=NOW - timedelta(seconds=5), marked_attempt=2
)


def in_flight(
    *, part: PartState = MARKED, any_live: bool = False, parts_after: int = 0, lag: float | None = 5.0, **columns: Any
) -> Situation:
    """A claimed target whose request was marked by its second attempt."""
    target = target_in(S.PUBLISHING, attempt_count=2, **columns)
    return _situation(target, part, any_live=any_live, parts_after=parts_after, lag=lag)


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
    part = replace(MARKED, unknown_count=unknown_count)
    return _situation(target, part, any_live=any_live, parts_after=parts_after, lag=lag)


def _situation(target: Any, part: PartState, *, any_live: bool, parts_after: int, lag: float | None) -> Situation:
    return Situation(
        target=target, part=part, any_live=any_live, parts_after=parts_after, now=NOW, lag_seconds=lag
    )


def unresolved_after(situation: Situation, decision: Decision) -> bool:
    """Whether the part may be live without our knowing, once the decision is applied."""
    return situation.part.unresolved and not decision.clear_mark and decision.found is None


# What no situation may break.

EVERY_WAY = st.one_of(
    st.tuples(situations(S.PUBLISHING), failures, st.just(after_failure)),
    st.tuples(situations(S.PUBLISHING), st.none(), st.just(lambda s, _o, r: after_lease_end(s, r))),
    st.tuples(situations(S.UNKNOWN_OUTCOME), looks, st.just(after_look)),
    st.tuples(situations(S.PUBLISHED), looks, st.just(after_published_look)),
    st.tuples(
        situations(S.SCHEDULED, S.RETRY_SCHEDULED, S.PUBLISHING), st.none(), st.just(lambda s, _o, _r: expired(s))
    ),
    st.tuples(situations(S.PUBLISHING), st.none(), st.just(lambda s, _o, _r: cancelled_before_mark(s))),
)


@settings(max_examples=300, deadline=None)
@given(EVERY_WAY)
def test_no_decision_leaves_a_state_that_the_database_refuses(way):
    """Whatever happens in whatever situation, the move is legal and the row it leaves is whole."""
    situation, outcome, decide = way
    decision = decide(situation, outcome, RULES)
    target = situation.target
    assert is_legal(target.status, decision.move.to), f"{target.status} > {decision.move.to}"
    assert broken_rules(after(target, decision.move)) == []


@settings(max_examples=300, deadline=None)
@given(EVERY_WAY)
def test_an_unresolved_mark_never_leads_to_publish_work(way):
    """As long as a marked request may have made the part live, nothing plans to send it again."""
    situation, outcome, decide = way
    decision = decide(situation, outcome, RULES)
    if unresolved_after(situation, decision):
        assert decision.move.next_kind is not PUBLISH
        assert decision.move.to not in CLAIMABLE


@settings(max_examples=200, deadline=None)
@given(situations(S.PUBLISHING), st.integers(1, 9))
def test_the_mark_of_whatever_attempt_makes_an_ended_lease_unknown(situation: Situation, attempt: int):
    """An unanswered mark is unresolved whichever attempt it is of: an ended lease never clears it."""
    marked = replace(MARKED, part_no=situation.part.part_no, marked_attempt=attempt)
    decision = after_lease_end(replace(situation, part=marked), RULES)
    assert not decision.clear_mark
    assert decision.move.to in {S.UNKNOWN_OUTCOME, S.NEEDS_ATTENTION}


@settings(max_examples=200, deadline=None)
@given(EVERY_WAY)
def test_only_what_is_certain_clears_a_mark(way):
    """A mark is cleared by an answer that proves there was no effect, or by absence, and by nothing else."""
    situation, outcome, decide = way
    decision = decide(situation, outcome, RULES)
    if not (decision.clear_mark and situation.part.unresolved):
        return
    assert not isinstance(outcome, Unknown | CannotTell | Found)
    if isinstance(outcome, Duplicate):
        assert situation.part.unknown_count == 0
    if isinstance(outcome, Absent):
        lost_at, lag = situation.target.lost_at, timedelta(seconds=situation.lag_seconds or 0)
        assert situation.target.looks_done + 1 >= len(RULES.look_delays_seconds)
        assert lost_at is not None
        assert lost_at + lag <= NOW
        assert situation.part.unknown_count < 2
    if outcome is None:
        assert decide is after_lease_end or situation.target.status is not S.PUBLISHING


@settings(max_examples=200, deadline=None)
@given(EVERY_WAY)
def test_what_is_live_in_part_is_never_called_cancelled(way):
    """Cancelled means that nothing of it is public."""
    situation, outcome, decide = way
    decision = decide(situation, outcome, RULES)
    if decision.move.to is S.CANCELLED:
        assert not situation.any_live
        assert decision.found is None


@settings(max_examples=200, deadline=None)
@given(EVERY_WAY)
def test_nothing_is_planned_past_publish_by_or_the_budget(way):
    """A further try lies before `publish_by`, and only while the budget lasts; found threads are due now."""
    situation, outcome, decide = way
    decision = decide(situation, outcome, RULES)
    move = decision.move
    if move.to is not S.RETRY_SCHEDULED or decision.found is not None:
        return
    assert move.next_at is not None
    assert situation.target.publish_by is not None
    assert move.next_at < situation.target.publish_by
    if isinstance(outcome, Transient):
        spent = situation.target.tries_spent + outcome.spends_budget
        assert move.changes["tries_spent"] == spent < RULES.retry.budget


@settings(max_examples=200, deadline=None)
@given(situations(S.PUBLISHED), looks)
def test_a_published_target_stays_published(situation: Situation, look: Any):
    """Whatever a late look brings, published is published, and it ends."""
    decision = after_published_look(situation, look, RULES)
    assert decision.move.to is S.PUBLISHED
    assert decision.found is None
    assert not decision.clear_mark
    more = isinstance(look, CannotTell) and situation.target.looks_failed + 1 < RULES.failed_looks_allowed
    assert (decision.move.next_kind is LOOK) == more


@settings(max_examples=200, deadline=None)
@given(situations(S.PUBLISHING), failures)
def test_only_an_answer_about_the_account_touches_the_account(situation: Situation, outcome: Any):
    """Rejections, duplicates, lost answers and transient failures say nothing about the account."""
    effect = after_failure(situation, outcome, RULES).account
    touches = isinstance(outcome, RateLimited | Ours | AuthLost | PermissionLost)
    assert (effect is not None) == touches
    if effect is not None:
        ended = isinstance(outcome, AuthLost)
        assert (effect.status == "needs_reconnect") == (ended and not situation.refresh_may_help)
        assert effect.token_is_over == (ended and situation.refresh_may_help)
        assert (effect.flag is not None) == isinstance(outcome, PermissionLost)
        assert (effect.hold_until is not None) == isinstance(outcome, RateLimited | Ours)


# What each outcome comes to.

TRANSIENT = Transient(evidence=SAID)
LIMITED = RateLimited(evidence=SAID, retry_after_seconds=120.0)
OURS = Ours(evidence=SAID)
WITHDRAWN = {"cancel_requested": True}
LATE = {"publish_by": NOW + timedelta(seconds=30)}
SPENT = {"tries_spent": 4}
SECOND_PART = {"part": replace(MARKED, part_no=2), "any_live": True}
UNKNOWN_BEFORE = {"part": replace(MARKED, unknown_count=1)}

# outcome, situation, what it comes to (state, reason)
TABLE: list[tuple[Any, dict[str, Any], tuple[TargetStatus, str | None]]] = [
    (TRANSIENT, {}, (S.RETRY_SCHEDULED, "test.code")),
    (TRANSIENT, SPENT, (S.FAILED, "budget_used_up")),
    (TRANSIENT, LATE, (S.FAILED, "expired")),
    (TRANSIENT, {**SPENT, **LATE}, (S.FAILED, "budget_used_up")),
    (TRANSIENT, WITHDRAWN, (S.CANCELLED, "cancelled")),
    (TRANSIENT, {**WITHDRAWN, **SECOND_PART}, (S.FAILED, "cancelled_midway")),
    (TRANSIENT, UNKNOWN_BEFORE, (S.RETRY_SCHEDULED, "test.code")),
    (replace(TRANSIENT, spends_budget=False), SPENT, (S.RETRY_SCHEDULED, "test.code")),
    (replace(TRANSIENT, retry_after_seconds=7200.0), {}, (S.RETRY_SCHEDULED, "test.code")),
    (LIMITED, {}, (S.RETRY_SCHEDULED, "rate_limited")),
    (LIMITED, SPENT, (S.RETRY_SCHEDULED, "rate_limited")),
    (LIMITED, LATE, (S.FAILED, "rate_limited")),
    (LIMITED, WITHDRAWN, (S.CANCELLED, "cancelled")),
    (LIMITED, {**WITHDRAWN, **SECOND_PART}, (S.FAILED, "cancelled_midway")),
    (OURS, {}, (S.RETRY_SCHEDULED, "ours")),
    (OURS, WITHDRAWN, (S.CANCELLED, "cancelled")),
    (AuthLost(evidence=SAID), {}, (S.NEEDS_RECONNECT, "authorisation_ended")),
    (AuthLost(evidence=SAID), WITHDRAWN, (S.NEEDS_RECONNECT, "authorisation_ended")),
    (PermissionLost(evidence=SAID), {}, (S.FAILED, "no_permission")),
    (Rejected(evidence=SAID), {}, (S.FAILED, "rejected_validation")),
    (Rejected(evidence=SAID, reason="policy"), SECOND_PART, (S.FAILED, "rejected_policy")),
    (Duplicate(evidence=SAID), {}, (S.FAILED, "duplicate_content")),
    (Duplicate(evidence=SAID), UNKNOWN_BEFORE, (S.UNKNOWN_OUTCOME, "outcome_unknown")),
    (Unknown(evidence=SAID), {}, (S.UNKNOWN_OUTCOME, "outcome_unknown")),
    (Unknown(evidence=SAID), WITHDRAWN, (S.UNKNOWN_OUTCOME, "outcome_unknown")),
    (Unknown(evidence=SAID), UNKNOWN_BEFORE, (S.UNKNOWN_OUTCOME, "outcome_unknown")),
    (Unknown(evidence=SAID), {"lag": None}, (S.NEEDS_ATTENTION, "outcome_unknown")),
    (Unknown(evidence=SAID), {**SECOND_PART, **SPENT, **LATE}, (S.UNKNOWN_OUTCOME, "outcome_unknown")),
]


@pytest.mark.parametrize(("outcome", "given", "expected"), TABLE)
def test_every_outcome_of_a_request_has_its_place(outcome: Any, given: dict[str, Any], expected: tuple[Any, Any]):
    """An outcome in a situation comes to one state, for one reason, with a sentence for people."""
    move = after_failure(in_flight(**given), outcome, RULES).move
    assert (move.to, move.reason) == expected
    assert move.detail


@pytest.mark.parametrize(("outcome", "given", "expected"), TABLE)
def test_every_outcome_but_a_lost_one_resolves_the_mark(
    outcome: Any, given: dict[str, Any], expected: tuple[Any, Any]
):
    """A clear answer means that the request had no effect; what may be live leaves the mark and counts."""
    decision = after_failure(in_flight(**given), outcome, RULES)
    lost = expected[0] in {S.UNKNOWN_OUTCOME, S.NEEDS_ATTENTION}
    assert decision.clear_mark is not lost
    assert decision.count_unknown is lost


def test_a_transient_failure_spends_one_try_and_waits_with_jitter():
    """The wait is drawn from zero to the doubling ceiling."""
    for drawn, waited in ((0.0, 1.0), (0.5, 60.0), (1.0, 120.0)):
        move = after_failure(in_flight(tries_spent=1), TRANSIENT, Rules(random=lambda drawn=drawn: drawn)).move
        assert move.next_at == NOW + timedelta(seconds=waited)
        assert move.changes == {"tries_spent": 2}
        assert move.next_kind is PUBLISH


def test_a_rate_limit_waits_as_long_as_the_platform_said_and_spends_nothing():
    """The account is held until then; a time beyond belief is cut to a day."""
    decision = after_failure(in_flight(tries_spent=3), LIMITED, RULES)
    assert decision.move.next_at == NOW + timedelta(seconds=120)
    assert "tries_spent" not in decision.move.changes
    assert decision.account is not None
    assert decision.account.hold_until == NOW + timedelta(seconds=120)
    far = replace(LIMITED, retry_after_seconds=1e12, scope="platform")
    decision = after_failure(in_flight(publish_by=NOW + timedelta(days=9)), far, RULES)
    assert decision.account is not None
    assert decision.account.hold_until == NOW + timedelta(seconds=LONGEST_RATE_LIMIT_SECONDS)
    assert decision.account.hold_scope == "platform"


def test_an_authorisation_that_a_refresh_may_mend_is_tried_again():
    """The platform ended a token before its time: the next try refreshes it first, and one try is spent."""
    situation = replace(in_flight(), refresh_may_help=True)
    decision = after_failure(situation, AuthLost(evidence=SAID), RULES)
    assert (decision.move.to, decision.attempt_state) == (S.RETRY_SCHEDULED, "auth_lost")
    assert decision.move.changes == {"tries_spent": 1}
    assert decision.clear_mark
    assert decision.account is not None
    assert decision.account.token_is_over


def test_our_own_applications_trouble_alarms():
    """Nobody but us can help it."""
    decision = after_failure(in_flight(), OURS, RULES)
    assert decision.alarm is not None
    assert decision.account is not None
    assert decision.account.hold_scope == "app"


def test_an_unknown_outcome_is_looked_for_from_when_the_request_can_no_longer_run():
    """The account stays held, the looks begin anew, and the first is due after the first delay."""
    decision = after_failure(in_flight(looks_done=3, looks_failed=2), Unknown(evidence=SAID), RULES)
    move = decision.move
    assert (move.next_kind, move.next_at) == (LOOK, NOW + timedelta(seconds=RULES.look_delays_seconds[0]))
    assert move.changes == {"lost_at": NOW, "looks_done": 0, "looks_failed": 0, "holds_account": True}


def test_a_lease_that_ends_after_a_mark_is_lost_at_its_end():
    """The request may have run until the lease was over, so looks count from there."""
    situation = in_flight(lease_until=NOW - timedelta(seconds=60))
    decision = after_lease_end(situation, RULES)
    assert decision.move.to is S.UNKNOWN_OUTCOME
    assert decision.move.changes["lost_at"] == NOW - timedelta(seconds=60)
    assert decision.count_unknown


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (S.RETRY_SCHEDULED, "worker.lost")),
        (SPENT, (S.FAILED, "budget_used_up")),
        (LATE, (S.FAILED, "expired")),
        (WITHDRAWN, (S.CANCELLED, "cancelled")),
        ({**WITHDRAWN, "any_live": True}, (S.FAILED, "cancelled_midway")),
    ],
)
@pytest.mark.parametrize("part", [PartState(part_no=1), replace(MARKED, mark_cleared=True)], ids=["unmarked", "cleared"])
def test_a_lease_that_ends_without_a_mark_was_certainly_not_sent(part, given, expected):
    """One of the budget is spent, so that a message that kills its worker ends."""
    decision = after_lease_end(in_flight(part=part, **{"any_live": False, **given}), RULES)
    assert (decision.move.to, decision.move.reason) == expected
    if decision.move.to is S.RETRY_SCHEDULED:
        assert decision.move.changes == {"tries_spent": 1}


def test_a_target_without_a_lease_has_none_that_could_end():
    """Asking for it is a bug of the caller."""
    with pytest.raises(ValueError, match="without a lease"):
        after_lease_end(looked_for(), RULES)


FOUND = Found(remote_id="r-1")
ABSENT = Absent(examined=3)
FAILED_LOOK = CannotTell(failure=TRANSIENT)
NOT_ALLOWED = CannotTell(failure=AuthLost(evidence=SAID))

LOOKS: list[tuple[Any, dict[str, Any], tuple[TargetStatus, str | None, NextKind | None]]] = [
    (FOUND, {}, (S.PUBLISHED, "found", None)),
    (FOUND, WITHDRAWN, (S.PUBLISHED, "found", None)),
    (FOUND, {"unknown_count": 2}, (S.PUBLISHED, "found", None)),
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


def test_an_expired_target_says_what_was_missed():
    """Nothing of it is live, or the rest of a thread was not sent; withdrawn and unsent is cancelled."""
    assert expired(in_flight()).move.to is S.FAILED
    assert "rest of the thread" in (expired(in_flight(any_live=True)).move.detail or "")
    assert expired(in_flight(**WITHDRAWN)).move.to is S.CANCELLED
    assert expired(in_flight(any_live=True, **WITHDRAWN)).move.to is S.FAILED


def test_a_guards_wait_ends_at_publish_by():
    """What can't be in time fails at once, and says so."""
    target = target_in(S.SCHEDULED)
    assert target.publish_by is not None
    in_time = wait_before_claim(target, reason="why", detail="because", until=NOW + timedelta(seconds=60))
    assert (in_time.to, in_time.next_at) == (S.RETRY_SCHEDULED, NOW + timedelta(seconds=60))
    too_late = wait_before_claim(target, reason="why", detail="because", until=target.publish_by)
    assert (too_late.to, too_late.next_kind) == (S.FAILED, None)
    assert "publish-by" in (too_late.detail or "")


def test_a_published_target_is_looked_for_again_only_after_an_unknown():
    """An hour after a retry that followed an unknown; otherwise nothing is left to do."""
    plain = published(now=NOW, retried_after_unknown=False, rules=RULES)
    assert (plain.next_kind, plain.next_at, plain.changes["published_at"]) == (None, None, NOW)
    again = published(now=NOW, retried_after_unknown=True, rules=RULES)
    assert (again.next_kind, again.next_at) == (LOOK, NOW + timedelta(seconds=3600))


@settings(max_examples=300, deadline=None)
@given(situations(*S), st.integers(1, 3), st.lists(st.booleans(), min_size=3, max_size=3))
def test_a_late_acceptance_never_sends_what_is_live_and_never_stands_still(situation, part_no, live):
    """Whatever state it meets: published when all parts are live, else its seq moves on or the mark sees it."""
    target = situation.target
    parts = [PartState(part_no=number + 1, remote_id="(live)" if there else None) for number, there in enumerate(live)]
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
    counted = replace(part, unknown_count=part.unknown_count + int(decision.count_unknown))
    target = target_in(S.UNKNOWN_OUTCOME, attempt_count=2, looks_done=2, lost_at=NOW - timedelta(seconds=600))
    situation = _situation(target, counted, any_live=False, parts_after=0, lag=5.0)
    assert after_look(situation, ABSENT, RULES).move.to is S.NEEDS_ATTENTION
