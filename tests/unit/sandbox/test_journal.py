"""The journal: what it said is durable comes back, in order, and nothing else does."""

import os
import threading
from pathlib import Path

import pytest

from socialq.sandbox.journal import Journal, JournalBroken


def test_records_come_back_in_order(tmp_path: Path) -> None:
    """A second run reads what the first committed, also what nobody waited for before the close."""
    journal = Journal(tmp_path / "journal")
    journal.commit({"type": "a", "text": "emoji 🎈 and\nnewline"})
    journal.append({"type": "b"})
    journal.close()
    reopened = Journal(tmp_path / "journal")
    assert list(reopened.replay()) == [{"type": "a", "text": "emoji 🎈 and\nnewline"}, {"type": "b"}]
    reopened.close()


def test_a_torn_last_line_is_cut_off(tmp_path: Path) -> None:
    """What a crash left half-written was never promised; records after it are whole again."""
    path = tmp_path / "journal"
    path.write_bytes(b'{"type":"a"}\n{"type":"b","te')
    journal = Journal(path)
    assert list(journal.replay()) == [{"type": "a"}]
    journal.commit({"type": "c"})
    journal.close()
    reopened = Journal(path)
    assert list(reopened.replay()) == [{"type": "a"}, {"type": "c"}]
    reopened.close()


def test_an_effect_comes_after_the_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is visible in memory before it is on disk, and effects keep the journal's order."""
    events: list[str] = []
    real_fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (events.append("sync"), real_fsync(descriptor)))
    journal = Journal(tmp_path / "journal")
    journal.append({"type": "a"}, then=lambda: events.append("a"))
    journal.commit({"type": "b"}, then=lambda: events.append("b"))
    assert events == ["sync", "a", "b"]
    journal.close()


def test_waiting_threads_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that queue up while a sync runs are made durable together by the next one."""
    syncs: list[int] = []
    first_sync_started, may_finish = threading.Event(), threading.Event()
    real_fsync = os.fsync

    def slow_fsync(descriptor: int) -> None:
        syncs.append(1)
        first_sync_started.set()
        assert may_finish.wait(5)
        real_fsync(descriptor)

    monkeypatch.setattr(os, "fsync", slow_fsync)
    journal = Journal(tmp_path / "journal")
    first = threading.Thread(target=journal.commit, args=({"n": 0},))
    first.start()
    assert first_sync_started.wait(5)
    tickets = [journal.append({"n": number}) for number in range(1, 21)]
    waiters = [threading.Thread(target=journal.wait, args=(ticket,)) for ticket in tickets]
    for waiter in waiters:
        waiter.start()
    may_finish.set()
    for thread in [first, *waiters]:
        thread.join(5)
    assert len(syncs) == 2
    journal.close()
    assert (tmp_path / "journal").read_text().count("\n") == 21


def test_a_disk_that_refuses_breaks_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed write nothing is accepted any more, and no effect happens."""
    journal = Journal(tmp_path / "journal")
    effects: list[str] = []

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(JournalBroken):
            journal.commit({"type": "a"}, then=lambda: effects.append("a"))
    with pytest.raises(JournalBroken):
        journal.commit({"type": "b"}, then=lambda: effects.append("b"))
    assert effects == []
    journal.close()
