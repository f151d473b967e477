"""The door of a window: two advisory locks and a LISTEN on one direct connection.

The first lock is the holder's, the second the successor's. A holder that hangs is thrown out by
`idle_session_timeout`: it runs a statement at least every few seconds, a stopped process does not. The
successor asks for the lock again whenever it is told that the window is free, and four times a second.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import psycopg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from socialq.store.sessions import Database

_ASK_AGAIN_SECONDS: Final = 0.25
_IDLE_SESSION_TIMEOUT_MS: Final = 15_000
_LONGEST_SILENCE_SECONDS: Final = 5.0


class HeldWindow:
    """A held window on its own connection."""

    def __init__(self, connection: psycopg.Connection[Any], stopping: Callable[[], bool]) -> None:
        self._connection = connection
        self._stopping = stopping

    def wait(self, seconds: float) -> None:
        """Return when notified, after `seconds`, or soon after a stop; the session shows that it is alive."""
        ends_at = time.monotonic() + min(seconds, _LONGEST_SILENCE_SECONDS)
        while (left := ends_at - time.monotonic()) > 0 and not self._stopping():
            if any(
                True for _ in self._connection.notifies(timeout=min(left, _ASK_AGAIN_SECONDS), stop_after=1)
            ):
                break
        self._connection.execute("SELECT 1")

    def touch(self) -> None:
        """Run a statement: a session that runs none is taken for hung and thrown out."""
        self._connection.execute("SELECT 1")


class AdvisoryDoor:
    """Lets in one holder and one successor of a window of this name, on this database."""

    def __init__(self, database: Database, *, name: str, channel: str) -> None:
        """`channel` is what a holder listens to for new work."""
        self._database = database
        self._name = name
        self._channel = channel
        self._free_channel = f"window_free_{name}".replace("-", "_")

    @contextmanager
    def enter(self, *, patience_seconds: float, stopping: Callable[[], bool]) -> Iterator[HeldWindow | None]:
        """Hold the window; None where a holder and a successor are there, or the wait was in vain."""
        connection = self._database.connect()
        try:
            connection.execute(f"SET idle_session_timeout = {_IDLE_SESSION_TIMEOUT_MS}")
            if not self._become_holder(connection, patience_seconds, stopping):
                yield None
                return
            connection.execute(f'LISTEN "{self._channel}"')
            try:
                yield HeldWindow(connection, stopping)
            finally:
                # A connection that is gone has given its locks back already.
                with suppress(psycopg.Error):
                    self._leave(connection)
        finally:
            connection.close()

    def _become_holder(
        self, connection: psycopg.Connection[Any], patience_seconds: float, stopping: Callable[[], bool]
    ) -> bool:
        if self._try_lock(connection, "holder"):
            return True
        if not self._try_lock(connection, "successor"):
            return False
        connection.execute(f'LISTEN "{self._free_channel}"')
        give_up_at = time.monotonic() + patience_seconds
        while time.monotonic() < give_up_at and not stopping():
            if self._try_lock(connection, "holder"):
                connection.execute(f'UNLISTEN "{self._free_channel}"')
                self._unlock(connection, "successor")
                return True
            for _ in connection.notifies(timeout=_ASK_AGAIN_SECONDS, stop_after=1):
                pass
        return False

    def _leave(self, connection: psycopg.Connection[Any]) -> None:
        self._unlock(connection, "holder")
        connection.execute("SELECT pg_notify(%s, '')", (self._free_channel,))

    def _try_lock(self, connection: psycopg.Connection[Any], part: str) -> bool:
        row = connection.execute(
            "SELECT pg_try_advisory_lock(hashtext('socialq.window.' || %s), hashtext(%s)) AS got",
            (self._name, part),
        ).fetchone()
        return bool(row and row["got"])

    def _unlock(self, connection: psycopg.Connection[Any], part: str) -> None:
        connection.execute(
            "SELECT pg_advisory_unlock(hashtext('socialq.window.' || %s), hashtext(%s))", (self._name, part)
        )
