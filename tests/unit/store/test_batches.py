"""Collecting what many threads hand in."""

from __future__ import annotations

import threading

from socialq.store.batches import Batches

SECONDS = 10


def test_everything_is_worked_off_once_and_in_order():
    """Whatever many threads hand in: nothing is lost, nothing comes twice, one thread's items keep their order."""
    seen: list[tuple[int, int]] = []
    batches: Batches[tuple[int, int]] = Batches(seen.extend, most=7)
    threads = [
        threading.Thread(target=lambda who=who: [batches.add((who, number)) for number in range(50)])
        for who in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert batches.flush(seconds=SECONDS)
    assert len(seen) == 400 == len(set(seen))
    for who in range(8):
        assert [number for name, number in seen if name == who] == list(range(50))


def test_what_comes_while_a_batch_is_under_way_goes_together():
    """Alone an item does not wait; under load the next batch takes all that has gathered, up to its bound."""
    sizes: list[int] = []
    first_is_in, goes_on = threading.Event(), threading.Event()

    def work_off(batch):
        sizes.append(len(batch))
        first_is_in.set()
        assert goes_on.wait(SECONDS)

    batches: Batches[int] = Batches(work_off, most=5)
    batches.add(0)
    assert first_is_in.wait(SECONDS)
    for number in range(7):
        batches.add(number)
    goes_on.set()
    assert batches.flush(seconds=SECONDS)
    assert sizes == [1, 5, 2]


def test_a_batch_that_fails_loses_only_itself():
    """The next one is worked off as if nothing had been."""
    seen: list[int] = []

    def work_off(batch):
        if 1 in batch:
            raise ValueError("this one")
        seen.extend(batch)

    batches: Batches[int] = Batches(work_off, most=10)
    batches.add(1)
    assert batches.flush(seconds=SECONDS)
    batches.add(2)
    assert batches.flush(seconds=SECONDS)
    assert seen == [2]


def test_a_flush_says_when_it_was_in_vain():
    """It waits as long as it was told to, and no longer."""
    goes_on = threading.Event()
    batches: Batches[int] = Batches(lambda _: goes_on.wait(SECONDS), most=1)
    batches.add(1)
    assert not batches.flush(seconds=0.05)
    goes_on.set()
    assert batches.flush(seconds=SECONDS)
