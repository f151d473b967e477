"""Windows on the real database: one watches, one waits, nobody is blind in between."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest

from socialq.domain.clock import SystemClock
from socialq.pipeline.window import Window
from socialq.store import window_door
from socialq.store.index_store import DISPATCH_CHANNEL
from socialq.store.window_door import AdvisoryDoor
from tests.integration.pipeline.racing import Background, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.integration.pipeline.world import World

CHANNEL = "socialq_test"


@dataclass
class Tick:
    """A tick that runs its window on a thread of its own."""

    window: Window
    scans: list[float]
    stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> Tick:
        self.running = Background(lambda: self.window.run(stopping=self.stop.is_set))
        return self

    @property
    def ended(self) -> bool:
        return self.running.result is not None

    def holds(self) -> Tick:
        wait_until(lambda: self.scans, what="the first scan")
        return self


@pytest.fixture
def tick(world: World) -> Iterator[Callable[..., Tick]]:
    """Makes ticks of one window; all are stopped at the end."""
    ticks: list[Tick] = []

    def make(
        *,
        seconds: float = 30.0,
        rescan: float = 5.0,
        scan: Callable[[], float | None] = lambda: None,
        name: str = "test",
    ) -> Tick:
        scans: list[float] = []

        def counted() -> float | None:
            scans.append(time.monotonic())
            return scan()

        window = Window(
            name=name,
            door=AdvisoryDoor(world.stores.central, name=name, channel=CHANNEL),
            scan=counted,
            beat=lambda: None,
            clock=SystemClock(),
            window_seconds=seconds,
            rescan_seconds=rescan,
        )
        ticks.append(Tick(window, scans))
        return ticks[-1]

    yield make
    for one in ticks:
        one.stop.set()
        world.stores.central.notify(CHANNEL)
    for one in ticks:
        if hasattr(one, "running"):
            one.running.join()


def locks(world: World) -> int:
    """How many advisory locks are held or waited for on this database."""
    return world.arrange(
        "SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory'"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )[0]["n"]


def test_the_second_tick_waits_and_the_third_leaves(world: World, tick: Callable[..., Tick]):
    """One holder, one successor; every further tick ends at once."""
    holder = tick().start().holds()
    successor = tick().start()
    wait_until(lambda: locks(world) == 2, what="the successor's lock")
    assert [tick().start().running.join() for _ in range(3)] == ["left"] * 3
    assert successor.scans == []
    assert not successor.ended
    assert not holder.ended


def test_the_successor_takes_over_at_the_windows_end(world: World, tick: Callable[..., Tick]):
    """Between the last scan of one window and the first of the next lies less than half a second."""
    holder = tick(seconds=0.6).start().holds()
    successor = tick().start()
    assert holder.running.join() == "ended"
    ended_at = time.monotonic()
    wait_until(lambda: successor.scans, seconds=5)
    assert successor.scans[0] - ended_at < 0.5
    # And its own place is free again for the next tick.
    next_one = tick().start()
    wait_until(lambda: locks(world) == 2, what="the next successor's lock")
    assert not next_one.ended


def test_the_successor_takes_over_when_the_holders_connection_is_cut(world: World, tick: Callable[..., Tick]):
    """The server ends the holder's session: its locks are gone, and the successor watches within half a second."""
    holder = tick().start().holds()
    successor = tick().start()
    wait_until(lambda: locks(world) == 2, what="the successor's lock")
    holders = world.arrange(
        "SELECT pid FROM pg_locks l WHERE locktype = 'advisory' AND granted AND objid = "
        "(SELECT hashtext('holder')::bigint & 4294967295)::oid"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    assert len(holders) == 1
    world.arrange("SELECT pg_terminate_backend(%(pid)s)", pid=holders[0]["pid"])
    cut_at = time.monotonic()
    wait_until(lambda: successor.scans, seconds=5)
    assert successor.scans[0] - cut_at < 0.5
    assert isinstance(holder.running.join(), psycopg.OperationalError)


def test_a_holder_that_hangs_is_thrown_out(
    world: World, tick: Callable[..., Tick], monkeypatch: pytest.MonkeyPatch
):
    """A holder that runs no statement for longer than the session's idle timeout loses the window."""
    monkeypatch.setattr(window_door, "_IDLE_SESSION_TIMEOUT_MS", 700)
    monkeypatch.setattr(window_door, "_LONGEST_SILENCE_SECONDS", 0.2)
    hangs = threading.Event()
    tick(scan=lambda: hangs.wait(20) or None).start().holds()
    successor = tick().start()
    wait_until(lambda: successor.scans, seconds=5)
    hangs.set()


def test_a_holder_that_waits_long_is_not_thrown_out(
    world: World, tick: Callable[..., Tick], monkeypatch: pytest.MonkeyPatch
):
    """Nothing to do for longer than the idle timeout: the holder shows that it is alive."""
    monkeypatch.setattr(window_door, "_IDLE_SESSION_TIMEOUT_MS", 500)
    monkeypatch.setattr(window_door, "_LONGEST_SILENCE_SECONDS", 0.1)
    holder = tick(seconds=1.2).start()
    assert holder.running.join() == "ended"


def test_a_notification_wakes_the_holder(world: World, tick: Callable[..., Tick]):
    """A scan follows at once; without one it would have been seconds."""
    holder = tick().start().holds()
    wait_until(lambda: len(holder.scans) == 1)
    asked_at = time.monotonic()
    world.stores.central.notify(CHANNEL)
    wait_until(lambda: len(holder.scans) >= 2, seconds=3)
    assert holder.scans[1] - asked_at < 0.5


def test_a_notification_during_a_scan_is_not_lost(world: World, tick: Callable[..., Tick]):
    """What arrives while the holder is busy makes the next scan follow at once."""
    noticed: list[int] = []

    def busy() -> float | None:
        if not noticed:
            noticed.append(1)
            world.stores.central.notify(CHANNEL)
        return None

    holder = tick(scan=busy).start().holds()
    wait_until(lambda: len(holder.scans) >= 2, seconds=2)


def test_the_holder_listens_before_its_first_scan(world: World, tick: Callable[..., Tick]):
    """What is notified while the first scan runs is heard: nothing falls between scanning and listening."""
    first = threading.Event()

    def scan() -> float | None:
        if not first.is_set():
            first.set()
            with psycopg.connect(world.url, autocommit=True) as another:
                another.execute(f"NOTIFY {CHANNEL}")
        return None

    holder = tick(scan=scan).start().holds()
    wait_until(lambda: len(holder.scans) >= 2, seconds=2)


def test_a_stop_ends_holder_and_successor(world: World, tick: Callable[..., Tick]):
    """A stopping worker's windows end, and nothing is held any more."""
    holder = tick(rescan=0.1).start().holds()
    successor = tick().start()
    wait_until(lambda: locks(world) == 2)
    successor.stop.set()
    assert successor.running.join(3) == "left"
    holder.stop.set()
    assert holder.running.join(3) == "stopped"
    assert locks(world) == 0


def test_windows_of_other_names_do_not_wait_for_each_other(world: World, tick: Callable[..., Tick]):
    """The relay of one cell, of another, and the dispatcher: each has a door of its own."""
    for name in ("relay:default", "relay:other", "dispatch"):
        tick(name=name).start().holds()


def test_a_scan_that_fails_frees_the_window(world: World, tick: Callable[..., Tick]):
    """The tick fails, and the next one is not kept out by what it held."""

    def fails() -> float | None:
        raise ConnectionError

    holder = tick(scan=fails).start()
    assert isinstance(holder.running.join(), ConnectionError)
    tick().start().holds()


def test_a_dispatch_window_sends_at_the_due_time(world: World):
    """Relayed while the window watches, due in half a second: sent at its time, woken by nobody."""
    dispatcher = world.dispatcher()
    window = Window(
        name="dispatch",
        door=AdvisoryDoor(world.stores.central, name="dispatch", channel=DISPATCH_CHANNEL),
        scan=dispatcher.scan,
        beat=lambda: None,
        clock=SystemClock(),
        window_seconds=10.0,
        rescan_seconds=5.0,
    )
    stop = threading.Event()
    running = Background(lambda: window.run(stopping=stop.is_set))
    try:
        wait_until(lambda: locks(world) == 1)
        target = world.post(publish_at=datetime.now(UTC) + timedelta(seconds=0.6))
        world.relay().scan()
        wait_until(lambda: world.queue.messages, seconds=4)
        row = world.index_row(target)
        assert 0.0 <= (row["enqueued_at"] - row["due_at"]).total_seconds() < 0.25
    finally:
        stop.set()
        world.stores.central.notify(DISPATCH_CHANNEL)
        running.join()
