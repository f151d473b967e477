"""The append-only file that outlives the process: what it has said is durable, is.

Arrives: records (JSON objects) from the stores. Leaves: the same records, in the same order, at the next
start. A record is durable once `wait` returns for its ticket; its effect in memory happens after that and
in the journal's order, so nothing can be seen that a crash would take back. One waiting thread writes and
syncs for all that wait beside it (group commit).
"""

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Effect = Callable[[], None]


class JournalBroken(Exception):  # noqa: N818 - named for what happened
    """The disk refused a write: nothing can be accepted any more."""


class Journal:
    """Records in a file, one JSON object a line. Safe to use from many threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pending: list[tuple[bytes, Effect | None]] = []
        self._queue_lock = threading.Lock()
        self._flush_lock = threading.Lock()
        self._appended = 0
        self._durable = 0
        self._broken: OSError | None = None
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)

    def replay(self) -> Iterator[Record]:
        """The records of earlier runs. A torn last line was never promised to anybody: it is cut off."""
        good_bytes = 0
        with self.path.open("rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                yield json.loads(line)
                good_bytes += len(line)
        os.ftruncate(self._descriptor, good_bytes)

    def append(self, record: Record, *, then: Effect | None = None) -> int:
        """Queue a record and the effect it has once durable; the ticket is for `wait`.

        A record nobody waits for is written with the next one that somebody does, or at `close`.
        """
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        with self._queue_lock:
            self._pending.append((line, then))
            self._appended += 1
            return self._appended

    def wait(self, ticket: int) -> None:
        """Return when the ticket's record is on disk and has had its effect."""
        if self._durable >= ticket:
            return
        with self._flush_lock:
            if self._durable < ticket:
                self._flush()

    def commit(self, record: Record, *, then: Effect | None = None) -> None:
        self.wait(self.append(record, then=then))

    def close(self) -> None:
        with self._flush_lock:
            if self._descriptor >= 0 and self._broken is None:
                self._flush()
            os.close(self._descriptor)
            self._descriptor = -1
            self._broken = OSError("the journal is closed")

    def _flush(self) -> None:
        if self._broken is not None:
            raise JournalBroken(str(self._broken))
        with self._queue_lock:
            batch, self._pending = self._pending, []
            last = self._appended
        try:
            _write_all(self._descriptor, b"".join(line for line, _ in batch))
            os.fsync(self._descriptor)
        except OSError as error:
            self._broken = error
            raise JournalBroken(str(error)) from error
        for _, effect in batch:
            if effect is not None:
                effect()
        self._durable = last


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
