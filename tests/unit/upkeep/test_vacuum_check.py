"""What holds vacuum back for too long is told from what does not, with and without a clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from socialq.store.cell.vacuum_holders import Sample, VacuumHolder
from socialq.upkeep.vacuum_check import held_too_long, with_sample

NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)
HELD_SECONDS = 600.0


def holder(*, seconds=None, position=None, name="one"):
    return VacuumHolder(kind="replication slot", name=name, seconds=seconds, xmin_position=position)


def sample(seconds_ago, position):
    return Sample(at=NOW - timedelta(seconds=seconds_ago), position=position)


def held(holders, samples=()):
    return [one.name for one in held_too_long(holders, samples, now=NOW, held_seconds=HELD_SECONDS)]


def test_what_has_a_clock_is_judged_by_it():
    """Ten minutes are borne, more are not, whatever the count of transactions says."""
    short, long = holder(seconds=600.0, position=1, name="short"), holder(seconds=600.1, name="long")
    assert held([short, long], [sample(700, 100)]) == ["long"]


def test_what_has_no_clock_is_judged_by_the_count_of_transactions():
    """A slot that keeps a transaction from before a sample of ten minutes ago has held for longer than that."""
    old, young = holder(position=99, name="old"), holder(position=100, name="young")
    assert held([old, young], [sample(601, 100), sample(300, 500), sample(0, 900)]) == ["old"]


def test_without_a_sample_that_is_old_enough_nothing_is_said_of_it():
    """After a start nobody knows yet how long a slot has been there."""
    assert held([holder(position=1)], [sample(599, 100), sample(0, 900)]) == []


def test_samples_are_kept_for_the_time_that_counts_and_one_beyond():
    """A check every minute for a day leaves a couple of dozen samples, of which one is old enough to compare with."""
    samples: list[Sample] = []
    for minute in range(24 * 60):
        at = NOW + timedelta(minutes=minute)
        samples = with_sample(samples, Sample(at=at, position=minute), held_seconds=HELD_SECONDS)
        past = [one for one in samples if one.at <= at - timedelta(seconds=HELD_SECONDS)]
        assert len(past) == (1 if minute >= 10 else 0)
        assert len(samples) <= 12
    assert samples[0].position == 24 * 60 - 1 - 10


def test_a_check_every_second_leaves_no_more_samples_than_one_every_minute():
    """Samples that are nearly as old as each other are not worth keeping."""
    samples: list[Sample] = []
    for second in range(2000):
        at = NOW + timedelta(seconds=second)
        samples = with_sample(samples, Sample(at=at, position=second), held_seconds=HELD_SECONDS)
    assert len(samples) <= 22
    assert samples[0].at <= NOW + timedelta(seconds=2000 - HELD_SECONDS)
