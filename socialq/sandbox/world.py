"""The simulated world: every store on one journal in one data directory.

Arrives: a directory. Leaves: the stores, filled with what earlier runs left. Only one process may hold a
directory; a second is refused instead of mixing two histories.
"""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from socialq.sandbox.accounts import Accounts
from socialq.sandbox.calls import Calls
from socialq.sandbox.faults import FaultPlan
from socialq.sandbox.ids import Snowflakes
from socialq.sandbox.journal import Journal, Record
from socialq.sandbox.ledger import Ledger
from socialq.sandbox.shelf import Shelf


class SandboxRefused(Exception):  # noqa: N818 - named for what happened
    """The sandbox can't start; the text says what to do about it."""


class World:
    """All that the sandbox remembers. Everything but `calls` survives a restart."""

    def __init__(self, data_dir: Path) -> None:
        self.media_dir = data_dir / "media"
        _make_private(data_dir)
        _make_private(self.media_dir)
        self._lock_descriptor = _take_lock(data_dir / "lock")
        self._journal = Journal(data_dir / "journal.jsonl")
        self.ids = Snowflakes()
        self.accounts = Accounts(self._journal, self.ids)
        self.ledger = Ledger(self._journal, self.ids)
        self.shelf = Shelf(self._journal)
        self.faults = FaultPlan(self._journal)
        self.calls = Calls()
        self._replay()

    def close(self) -> None:
        self._journal.close()
        os.close(self._lock_descriptor)

    def _replay(self) -> None:
        appliers = self._appliers()
        try:
            for record in self._journal.replay():
                appliers[record["type"]](record)
        except (ValueError, KeyError, TypeError) as error:
            problem = f"holds a line that this sandbox can't read ({type(error).__name__})"
            raise SandboxRefused(f"{self._journal.path} {problem}; choose another --data.") from error

    def _appliers(self) -> dict[str, Callable[[Record], None]]:
        appliers: dict[str, Callable[[Record], None]] = {}
        for store in (self.accounts, self.ledger, self.shelf, self.faults):
            appliers |= dict.fromkeys(store.record_types, store.apply)
        return appliers


def _make_private(directory: Path) -> None:
    """Tokens lie in it, so only its owner may read."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxRefused(f"The data directory {directory} can't be made: {error.strerror}.") from None


def _take_lock(path: Path) -> int:
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise SandboxRefused(f"Another sandbox uses {path.parent}; choose another --data.") from None
    return descriptor
