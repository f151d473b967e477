"""When a target is tried again, and when no more."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.domain.retry import (
    LONGEST_RATE_LIMIT_SECONDS,
    RetryPolicy,
    delay_seconds,
    next_try,
    rate_limit_until,
)

NOW = datetime(2027, 3, 22, 8, tzinfo=UTC)
TOMORROW = NOW + timedelta(hours=24)
ALMOST_ONE = math.nextafter(1.0, 0.0)

policies = st.builds(
    RetryPolicy,
    base_seconds=st.floats(0.01, 600),
    cap_seconds=st.floats(600, 86_400),
    budget=st.integers(1, 50),
    floor_seconds=st.floats(0, 120),
)
draws = st.floats(0, 1, exclude_max=True)
tries = st.integers(0, 10_000)


@pytest.mark.parametrize(
    ("tries_spent", "ceiling"), [(1, 60), (2, 120), (3, 240), (4, 480), (7, 3600), (99, 3600)]
)
def test_the_wait_doubles_from_a_minute_to_an_hour(tries_spent: int, ceiling: float) -> None:
    """The longest wait after each failed try is the relay design's: base 60 s, doubling, cap 1 h."""
    longest = delay_seconds(RetryPolicy(), tries_spent=tries_spent, random=lambda: ALMOST_ONE)
    assert longest == pytest.approx(ceiling)
    middle = delay_seconds(RetryPolicy(), tries_spent=tries_spent, random=lambda: 0.5)
    assert middle == pytest.approx(ceiling / 2)


def test_a_draw_of_zero_still_waits_a_second() -> None:
    """A platform that has just failed isn't asked again in the same instant."""
    assert delay_seconds(RetryPolicy(), tries_spent=3, random=lambda: 0.0) == 1.0


def test_the_floor_does_not_lengthen_a_shorter_ceiling() -> None:
    """Where settings shorten the waits to tenths of a second, they stay short."""
    quick = RetryPolicy(base_seconds=0.2, cap_seconds=0.2)
    assert delay_seconds(quick, tries_spent=1, random=lambda: 0.0) == pytest.approx(0.2)


@given(policy=policies, tries_spent=tries, draw=draws)
def test_the_wait_stays_between_floor_and_ceiling(policy: RetryPolicy, tries_spent: int, draw: float) -> None:
    """For every policy, every number of tries and every draw, without overflow."""
    doubled = Fraction(policy.base_seconds) * 2 ** max(tries_spent - 1, 0)
    ceiling = min(policy.cap_seconds, doubled)
    wait = delay_seconds(policy, tries_spent=tries_spent, random=lambda: draw)
    assert min(policy.floor_seconds, ceiling) <= wait <= max(policy.floor_seconds, ceiling)
    assert wait > 0 or policy.floor_seconds == 0
    assert wait <= policy.cap_seconds


@given(policy=policies, tries_spent=st.integers(0, 200), draw=draws)
def test_more_tries_never_wait_less_on_the_same_draw(
    policy: RetryPolicy, tries_spent: int, draw: float
) -> None:
    """The wait grows with the tries spent."""
    one = delay_seconds(policy, tries_spent=tries_spent, random=lambda: draw)
    two = delay_seconds(policy, tries_spent=tries_spent + 1, random=lambda: draw)
    assert one <= two


def test_the_jitter_is_full() -> None:
    """A thousand targets that fail together come back spread over the whole window, not at its end."""
    random = Random(7)
    waits = [delay_seconds(RetryPolicy(), tries_spent=3, random=random.random) for _ in range(1000)]
    tenths = {int(wait // 24) for wait in waits}
    assert tenths == set(range(10))
    assert 100 < sum(waits) / len(waits) < 140


@pytest.mark.parametrize(("tries_spent", "again"), [(0, True), (1, True), (4, True), (5, False), (6, False)])
def test_five_tries_are_the_budget(tries_spent: int, again: bool) -> None:
    """After the fifth failed try there is no sixth."""
    at = next_try(RetryPolicy(), now=NOW, tries_spent=tries_spent, publish_by=TOMORROW, random=lambda: 0.5)
    assert (at is not None) is again


@given(
    policy=policies,
    tries_spent=tries,
    draw=draws,
    left_seconds=st.floats(-100, 100_000),
    retry_after=st.none() | st.floats(-10, 100_000),
)
def test_no_try_is_planned_at_or_past_the_last_moment(
    policy: RetryPolicy, tries_spent: int, draw: float, left_seconds: float, retry_after: float | None
) -> None:
    """A try lies after now and before publish_by, or there is none."""
    publish_by = NOW + timedelta(seconds=left_seconds)
    at = next_try(
        policy,
        now=NOW,
        tries_spent=tries_spent,
        publish_by=publish_by,
        random=lambda: draw,
        retry_after_seconds=retry_after,
    )
    assert at is None or NOW <= at < publish_by
    if tries_spent >= policy.budget:
        assert at is None


def test_a_try_exactly_at_the_last_moment_is_too_late() -> None:
    """publish_by is the first moment at which nothing is sent any more."""
    policy = RetryPolicy(floor_seconds=0)
    by = NOW + timedelta(seconds=30)
    assert next_try(policy, now=NOW, tries_spent=1, publish_by=by, random=lambda: 0.5) is None
    later = by + timedelta(microseconds=1)
    assert next_try(policy, now=NOW, tries_spent=1, publish_by=later, random=lambda: 0.5) == by


def test_the_platforms_own_wait_is_never_shortened() -> None:
    """Retry-After lengthens the wait; a shorter one than ours changes nothing."""
    long = next_try(
        RetryPolicy(),
        now=NOW,
        tries_spent=1,
        publish_by=TOMORROW,
        random=lambda: 0.5,
        retry_after_seconds=900,
    )
    short = next_try(
        RetryPolicy(), now=NOW, tries_spent=1, publish_by=TOMORROW, random=lambda: 0.5, retry_after_seconds=2
    )
    assert long == NOW + timedelta(seconds=900)
    assert short == NOW + timedelta(seconds=30)


def test_a_rate_limit_waits_for_the_time_given() -> None:
    """No jitter, no doubling."""
    assert rate_limit_until(now=NOW, retry_after_seconds=90.5) == NOW + timedelta(seconds=90.5)


@pytest.mark.parametrize(
    ("given_seconds", "waits_seconds"),
    [
        (0, 1),
        (-5, 1),
        (math.nan, 1),
        (math.inf, LONGEST_RATE_LIMIT_SECONDS),
        (1_800_000_000, LONGEST_RATE_LIMIT_SECONDS),
    ],
)
def test_an_unbelievable_rate_limit_is_bounded(given_seconds: float, waits_seconds: float) -> None:
    """A time stamp where seconds were meant holds nothing for decades, and zero is no busy loop."""
    until = rate_limit_until(now=NOW, retry_after_seconds=given_seconds)
    assert until == NOW + timedelta(seconds=waits_seconds)


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_seconds": 0},
        {"base_seconds": 10, "cap_seconds": 5},
        {"cap_seconds": math.inf},
        {"base_seconds": math.nan},
        {"budget": 0},
        {"floor_seconds": -1},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    """Settings are checked where they are made, not at the first failure."""
    with pytest.raises(ValueError, match="retry policy"):
        RetryPolicy(**wrong)
