"""The bundled Valkey: Celery's broker on a TCP port of 127.0.0.1, its messages kept in an append-only file.

Arrives: the program, a data folder, a port, a password. Leaves: a running server. What must stay true: one
server per data folder. Valkey itself does not see to that, so the process holds a lock on its folder, which
outlives a supervisor that was killed.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, ClassVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from socialq.local.process import Server, process_runs, try_lock, wait_until
from socialq.local.run_as import own_like, readable_copy
from socialq.local.unavailable import LocalServersUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from socialq.local.binaries import ValkeyBinary
    from socialq.local.run_as import RunAs

START_SECONDS = 30.0
LOCK_SECONDS = 3.0


class Valkey(Server):
    """Valkey as a `Server`."""

    label: ClassVar = "Valkey"
    stop_signals: ClassVar = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))

    def __init__(
        self, *, binary: ValkeyBinary, place: Path, port: int, log_path: Path, run_as: RunAs, password: str
    ) -> None:
        super().__init__(port=port, log_path=log_path, run_as=run_as)
        self.data = place / binary.name
        self._binary = binary
        self._place = place
        self._password = password
        self._pid_file = self.data / "valkey.pid"
        self._lock: int | None = None

    @property
    def url(self) -> str:
        """Database 0, with the password."""
        return f"redis://:{self._password}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Launch and wait until it answers."""
        program = readable_copy(
            self._binary.needs, self._binary.program, run_as=self._run_as, place=self._place
        )
        self._run_as.make_folder(self.data)
        self._take_lock()
        self._launch([str(program), str(self._write_config())], keep_open=[self._held()])
        own_like(self.log_path.parent, self.log_path)
        if not wait_until(lambda: not self.alive() or self._answers(), seconds=START_SECONDS):
            self.stop()
            raise self._failure(f"did not answer within {START_SECONDS:g} s:")
        if not self.alive():
            raise self._failure("did not start:")

    def stop(self) -> None:
        """End it and let go of the folder."""
        super().stop()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def find_running(self) -> int:
        """The pid of a server that already runs on our data and port; 0 if none does."""
        try:
            pid = int(self._pid_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0
        if not self.port or not process_runs(pid):
            return 0
        return pid if wait_until(lambda: self._answers(pid), seconds=2) else 0

    def _answers(self, pid: int = 0) -> bool:
        """Whether our password works on our port, and the process there is the one that is meant."""
        try:
            with redis.Redis.from_url(
                self.url, socket_connect_timeout=1, socket_timeout=1, retry=Retry(NoBackoff(), 0)
            ) as client:
                client.ping()
                return int(client.info("server")["process_id"]) == (pid or self.pid)
        except redis.RedisError:  # includes "loading", while it reads the append-only file
            return False

    def _write_config(self) -> Path:
        """A file, because the password on the command line would show in the process list."""
        lines = [
            "bind 127.0.0.1",
            f"port {self.port}",
            f'dir "{self.data}"',
            f"requirepass {self._password}",
            "appendonly yes",
            'save ""',
            "maxmemory-policy noeviction",
            "daemonize no",
            f'pidfile "{self._pid_file}"',
            'logfile ""',
        ]
        path = self.data / "valkey.conf"
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self._run_as.give(path)
        return path

    def _take_lock(self) -> None:
        if self._lock is not None:
            return
        held = os.open(self.data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        # A killed server's own child, rewriting the append-only file, holds the lock for a moment longer.
        if not wait_until(lambda: try_lock(held), seconds=LOCK_SECONDS):
            os.close(held)
            raise LocalServersUnavailable(
                f"a Valkey that does not answer still holds {self.data}. End that process "
                "(`fuser` with the path of its file `lock` names it) and start again."
            )
        self._lock = held

    def _held(self) -> int:
        if self._lock is None:
            raise LocalServersUnavailable("Valkey was launched without its folder's lock")
        return self._lock
