"""What a window does with its time: scan, wait as long as was said, beat, and end."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from socialq.domain.clock import ManualClock
from socialq.pipeline.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOW = datetime(2030, 6, 1, tzinfo=UTC)


class Door:
    """A door that lets in, or not; what is waited for passes on the clock."""

    def __init__(self, clock: ManualClock, *, open_: bool = True, woken_after: float | None = None) -> None:
        self.clock = clock
        self.open = open_
        self.woken_after = woken_after
        self.waits: list[float] = []
        self.patience: list[float] = []
        self.touched_at: list[float] = []
        self.left = 0

    @contextmanager
    def enter(self, *, patience_seconds: float, stopping: Callable[[], bool]) -> Iterator[Door | None]:
        self.patience.append(patience_seconds)
        try:
            yield self if self.open else None
        finally:
            self.left += 1

    def touch(self) -> None:
        self.touched_at.append(self.clock.monotonic())

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.advance(min(seconds, self.woken_after or seconds))


def window(
    clock: ManualClock,
    door: Door,
    scan: Callable[[], float | None],
    beats: list[float] | None = None,
    **times: float,
) -> Window:
    times = {"window_seconds": 60.0, "rescan_seconds": 5.0, **times}
    return Window(
        name="test",
        door=door,
        scan=scan,
        beat=lambda: None if beats is None else beats.append(clock.monotonic()),
        clock=clock,
        **times,
    )


def never() -> bool:
    return False


@pytest.fixture
def clock() -> ManualClock:
    made = ManualClock(NOW)
    made.advance(1000.0)
    return made


def test_it_waits_as_long_as_the_scan_said(clock: ManualClock):
    """The next due time decides, but no wait is longer than a rescan."""
    door = Door(clock)
    said = iter([0.25, 3.0, 40.0, None])
    window(clock, door, lambda: next(said, None), window_seconds=14.0).run(stopping=never)
    assert door.waits[:4] == [0.25, 3.0, 5.0, 5.0]


def test_more_that_is_there_now_is_scanned_at_once(clock: ManualClock):
    """Zero seconds: no wait in between; nor is one where a time lies in the past."""
    door = Door(clock)
    said = iter([0.0, 0.0, -0.1, 1.0])
    scans: list[int] = []

    def scan() -> float | None:
        scans.append(1)
        return next(said, None)

    window(clock, door, scan, window_seconds=2.0).run(stopping=never)
    assert door.waits[0] == 1.0
    assert len(scans) >= 4


def test_it_ends_with_its_time_and_not_later(clock: ManualClock):
    """The last wait is as long as what is left; then one last scan, and the end."""
    door = Door(clock)
    scanned_at: list[float] = []

    def scan() -> float | None:
        scanned_at.append(clock.monotonic())
        return None

    started = clock.monotonic()
    assert window(clock, door, scan, window_seconds=12.0).run(stopping=never) == "ended"
    assert door.waits == [5.0, 5.0, 2.0]
    assert clock.monotonic() - started == 12.0
    assert scanned_at[-1] == started + 12.0
    assert door.left == 1


def test_a_scan_that_never_rests_still_ends(clock: ManualClock):
    """A backlog that never ends doesn't keep the window beyond its time."""
    door = Door(clock)

    def scan() -> float | None:
        clock.advance(1.0)
        return 0.0

    assert window(clock, door, scan, window_seconds=10.0).run(stopping=never) == "ended"
    assert door.waits == []


def test_however_busy_its_scans_are_it_shows_that_it_is_alive(clock: ManualClock):
    """A session without a statement for fifteen seconds is taken for hung: a backlog must not look like that."""
    door = Door(clock)

    def scan() -> float | None:
        clock.advance(0.5)
        return 0.0

    window(clock, door, scan, window_seconds=60.0).run(stopping=never)
    gaps = [later - earlier for earlier, later in zip(door.touched_at, door.touched_at[1:], strict=False)]
    assert max(gaps) <= 2.0


def test_where_a_holder_and_a_successor_are_there_it_leaves(clock: ManualClock):
    """Nothing is scanned."""
    door = Door(clock, open_=False)
    assert window(clock, door, lambda: pytest.fail("scanned")).run(stopping=never) == "left"
    assert door.patience == [120.0]


def test_a_stop_ends_it_before_the_next_scan(clock: ManualClock):
    """A stopping worker scans no more."""
    door = Door(clock)
    scans: list[int] = []

    def scan() -> float | None:
        scans.append(1)
        return None

    assert window(clock, door, scan).run(stopping=lambda: len(scans) >= 2) == "stopped"
    assert len(scans) == 2
    assert window(clock, door, scan).run(stopping=lambda: True) == "stopped"
    assert len(scans) == 2


def test_it_beats_at_once_and_then_at_most_each_second(clock: ManualClock):
    """A heartbeat with the first scan, and one a second however often it scans."""
    door = Door(clock, woken_after=0.25)
    beats: list[float] = []
    started = clock.monotonic()
    window(clock, door, lambda: None, beats, window_seconds=5.0).run(stopping=never)
    assert beats[0] == started
    gaps = [later - earlier for earlier, later in pairwise(beats)]
    assert all(1.0 <= gap < 1.5 for gap in gaps)
    assert len(beats) >= 5


def test_it_beats_on_a_machine_that_has_just_started():
    """The monotonic clock begins near zero after a boot: the first heartbeat is not left out."""
    clock = ManualClock(NOW)
    beats: list[float] = []
    window(clock, Door(clock), lambda: None, beats, window_seconds=0.5).run(stopping=never)
    assert beats[:1] == [0.0]


def test_the_door_is_left_when_a_scan_fails(clock: ManualClock):
    """What a scan raises ends the window and frees its door."""
    door = Door(clock)

    def scan() -> float | None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        window(clock, door, scan).run(stopping=never)
    assert door.left == 1
