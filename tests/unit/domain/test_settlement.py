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

from socialq.domain.finding import after_look, after_published_look
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
    MARKED,
    NOW,
    RULES,
    SAID,
    after,
    broken_rules,
    failures,
    in_flight,
    is_legal,
    looked_for,
    looks,
    situations,
    target_in,
)

S = TargetStatus
PUBLISH, LOOK = NextKind.PUBLISH, NextKind.LOOK


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
        situations(S.SCHEDULED, S.RETRY_SCHEDULED, S.PUBLISHING),
        st.none(),
        st.just(lambda s, _o, _r: expired(s)),
    ),
    st.tuples(situations(S.PUBLISHING), st.none(), st.just(lambda s, _o, _r: cancelled_before_mark(s))),
)


@settings(max_examples=200, deadline=None)
@given(EVERY_WAY)
def test_no_decision_leaves_a_state_that_the_database_refuses(way):
    """Whatever happens in whatever situation, the move is legal and the row it leaves is whole."""
    situation, outcome, decide = way
    decision = decide(situation, outcome, RULES)
    target = situation.target
    assert is_legal(target.status, decision.move.to), f"{target.status} > {decision.move.to}"
    assert broken_rules(after(target, decision.move)) == []


@settings(max_examples=200, deadline=None)
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
        assert situation.part.marked_at is not None
        assert situation.part.marked_at + timedelta(seconds=RULES.request_seconds) + lag <= NOW
        assert situation.part.unknown_count < 2
    if outcome is None:
        assert decide is after_lease_end or situation.target.status is not S.PUBLISHING


@settings(max_examples=100, deadline=None)
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
def test_every_outcome_of_a_request_has_its_place(
    outcome: Any, given: dict[str, Any], expected: tuple[Any, Any]
):
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
        move = after_failure(
            in_flight(tries_spent=1), TRANSIENT, Rules(random=lambda drawn=drawn: drawn)
        ).move
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
    assert decision.account is not None
    assert decision.account.alarm is not None
    assert decision.account.hold_scope == "app"
    assert decision.account.status is None
    assert decision.alarm is None, "one for the application, not one for each of its posts"


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
@pytest.mark.parametrize(
    "part", [PartState(part_no=1), replace(MARKED, mark_cleared=True)], ids=["unmarked", "cleared"]
)
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


def test_an_expired_target_says_what_was_missed():
    """Nothing of it is live, or the rest of a thread was not sent; withdrawn and unsent is cancelled."""
    assert expired(in_flight()).move.to is S.FAILED
    second = replace(MARKED, part_no=2)
    said = expired(in_flight(part=second, any_live=True, parts_after=1)).move.detail or ""
    assert said.endswith("before the rest of it could be sent; 1 of 3 parts is live and stays")
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
