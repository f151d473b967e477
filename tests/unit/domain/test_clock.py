"""The clocks: what moves, what never goes back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from socialq.domain.clock import Clock, ManualClock, SystemClock

START = datetime(2027, 3, 22, 8, tzinfo=UTC)


def test_a_manual_clock_stands_still_until_it_is_told() -> None:
    """Two readings without an advance are the same moment."""
    clock = ManualClock(START)
    assert (clock.now(), clock.monotonic()) == (START, 0.0)
    assert (clock.now(), clock.monotonic()) == (START, 0.0)


def test_advancing_moves_both_sides_alike() -> None:
    """Seconds that pass, pass on the wall and on the monotonic side."""
    clock = ManualClock(START)
    clock.advance(90.5)
    assert clock.now() == START + timedelta(seconds=90.5)
    assert clock.monotonic() == 90.5


def test_setting_the_wall_clock_leaves_the_monotonic_side_alone() -> None:
    """A deadline survives a time server that puts the clock back by an hour."""
    clock = ManualClock(START)
    clock.advance(10)
    clock.set_now(START - timedelta(hours=1))
    assert clock.now() == START - timedelta(hours=1)
    assert clock.monotonic() == 10.0


def test_time_does_not_pass_backwards() -> None:
    """A negative advance is a mistake of the caller."""
    with pytest.raises(ValueError, match="forwards"):
        ManualClock(START).advance(-1)


def test_a_manual_clock_speaks_utc_and_refuses_naive_times() -> None:
    """A start in another zone is the same moment in UTC; a naive one names no moment."""
    clock = ManualClock(datetime(2027, 3, 22, 9, tzinfo=timezone(timedelta(hours=1))))
    assert clock.now() == START
    assert clock.now().utcoffset() == timedelta(0)
    with pytest.raises(ValueError, match="naive"):
        ManualClock(datetime(2027, 3, 22, 9))
    with pytest.raises(ValueError, match="naive"):
        clock.set_now(datetime(2027, 3, 22, 9))


def test_the_system_clock_is_aware_and_its_monotonic_side_never_goes_back() -> None:
    """The machine's clock is read in UTC, whatever the machine's own zone."""
    clock: Clock = SystemClock()
    assert clock.now().utcoffset() == timedelta(0)
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=5)
    first = clock.monotonic()
    assert clock.monotonic() >= first
