"""The watchdog ends a deaf or stuck worker, and no other."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest

from socialq.upkeep.watchdog import CanaryNotSentError, Watchdog

INTERVAL_SECONDS = 10.0
DEAF_SECONDS = 90.0
STUCK_SECONDS = 900.0


@dataclass
class Worker:
    """A worker as the watchdog sees it, and a clock that a test moves."""

    now: float = 1000.0
    listens: bool = True
    busy: bool = False
    broker: bool = True
    receives: bool = True
    given_up: list[str] = field(default_factory=list)
    sent: int = 0

    def __post_init__(self):
        self.watchdog = Watchdog(
            send=self.send,
            listens=lambda: self.listens,
            busy=lambda: self.busy,
            give_up=self.given_up.append,
            interval_seconds=INTERVAL_SECONDS,
            deaf_seconds=DEAF_SECONDS,
            stuck_seconds=STUCK_SECONDS,
            monotonic=lambda: self.now,
        )

    def send(self):
        if not self.broker:
            raise CanaryNotSentError("TimeoutError")
        self.sent += 1

    def looks(self, seconds):
        """Let time pass in the watchdog's own steps."""
        for _ in range(int(seconds / INTERVAL_SECONDS)):
            self.now += INTERVAL_SECONDS
            self.watchdog.look()
            if self.receives:
                self.watchdog.heard()


@pytest.fixture
def worker():
    return Worker()


def test_a_worker_that_receives_its_canaries_goes_on(worker):
    """A canary is sent at every look, and each that arrives starts the count anew."""
    worker.looks(DEAF_SECONDS * 10)
    assert worker.given_up == []
    assert worker.sent == 90


def test_a_worker_that_receives_nothing_is_given_up_after_its_time(worker):
    """Not before `deaf_seconds`, and at the next look after."""
    worker.receives = False
    worker.looks(DEAF_SECONDS)
    assert worker.given_up == []
    worker.looks(INTERVAL_SECONDS)
    assert len(worker.given_up) == 1
    assert "100 s" in worker.given_up[0]


def test_a_worker_that_lost_a_queue_is_given_up_although_its_canaries_arrive(worker):
    """What arrives counts only while the worker still has every queue that it should consume."""
    worker.listens = False
    worker.looks(DEAF_SECONDS + INTERVAL_SECONDS)
    assert len(worker.given_up) == 1


def test_a_broker_that_takes_no_canary_excuses_the_worker(worker):
    """Silence counts from the last canary that the broker did not take: reconnecting has its whole time."""
    worker.receives = worker.broker = False
    worker.looks(DEAF_SECONDS * 5)
    assert worker.given_up == []
    worker.broker = True
    worker.looks(DEAF_SECONDS)
    assert worker.given_up == []
    worker.looks(INTERVAL_SECONDS)
    assert len(worker.given_up) == 1


def test_a_busy_worker_is_not_deaf(worker):
    """With all slots held nothing more is received. When one is freed, the count begins anew."""
    worker.receives, worker.busy = False, True
    worker.looks(STUCK_SECONDS - INTERVAL_SECONDS)
    assert worker.given_up == []
    worker.busy = False
    worker.looks(DEAF_SECONDS - INTERVAL_SECONDS)
    assert worker.given_up == []
    worker.receives = True
    worker.looks(DEAF_SECONDS * 3)
    assert worker.given_up == []


def test_slots_that_are_held_for_too_long_end_the_worker(worker):
    """As long as slots are freed now and then it is only busy; when none is for `stuck_seconds`, it is stuck."""
    worker.receives, worker.busy = False, True
    worker.looks(STUCK_SECONDS)
    worker.watchdog.progressed()
    worker.looks(STUCK_SECONDS)
    assert worker.given_up == []
    worker.looks(INTERVAL_SECONDS)
    assert len(worker.given_up) == 1
    assert "slots" in worker.given_up[0]


def test_a_process_that_was_stopped_is_given_its_time_again(worker):
    """After SIGSTOP, a suspended machine or starvation the watchdog itself wakes late: nobody could have received."""
    worker.now += 3600
    worker.watchdog.look()
    assert worker.given_up == []
    worker.receives = False
    worker.looks(DEAF_SECONDS - INTERVAL_SECONDS)
    assert worker.given_up == []
    worker.looks(INTERVAL_SECONDS * 2)
    assert len(worker.given_up) == 1


def test_nothing_is_watched_once_the_worker_stops():
    """A draining worker receives nothing, and is not given up for it."""
    stopping = threading.Event()
    stopping.set()
    worker = Worker()
    worker.watchdog.watch(stopping=stopping)
    assert worker.sent == 0
