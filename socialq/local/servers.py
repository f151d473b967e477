"""Both bundled servers as one thing to start and stop.

Arrives: a home folder, kept between runs. Leaves: ``database_url`` and ``redis_url``. What must stay true:
one supervisor per home (a lock tells); a second start uses the servers of the first as a guest and leaves
them running; servers that outlived their supervisor are adopted, never doubled.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import socket
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from socialq.local.binaries import find_postgres, find_valkey
from socialq.local.postgres import Postgres
from socialq.local.process import Server, try_lock, wait_until
from socialq.local.run_as import choose_place, choose_user, own_like, write_once
from socialq.local.unavailable import LocalServersUnavailable
from socialq.local.valkey import Valkey

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from socialq.settings import Settings

AnyServer = TypeVar("AnyServer", bound=Server)

GUEST_WAIT_SECONDS = 60.0
"""How long a second start waits for the first one, which may be making its cluster."""

PORT_ATTEMPTS = 3
PORTS = range(20000, 32000)
"""Below the range of outgoing connections, so that a port is still free after its server was restarted."""


@dataclass(frozen=True)
class State:
    """What ``servers.json`` keeps between runs."""

    owner_password: str
    admin_password: str
    valkey_password: str
    postgres_port: int = 0
    valkey_port: int = 0


class LocalServers:
    """PostgreSQL and Valkey under ``home``, as a context manager or by `start` and `stop`.

    ``postgres_options`` override the cluster's settings (a test may turn fsync off). A server that is not
    wanted, because a URL is configured for it, is never started and has no URL here.
    """

    def __init__(
        self,
        home: Path,
        *,
        postgres_options: Mapping[str, str] | None = None,
        want_postgres: bool = True,
        want_valkey: bool = True,
    ) -> None:
        self.home = Path(home).expanduser().absolute()
        self._options = dict(postgres_options or {})
        self._want_postgres = want_postgres
        self._want_valkey = want_valkey
        self._postgres: Postgres | None = None
        self._valkey: Valkey | None = None
        self._lock: int | None = None
        self._place = self.home

    @classmethod
    def missing_from(cls, settings: Settings) -> LocalServers:
        """The servers for which the settings name no URL."""
        return cls(
            settings.home,
            want_postgres=not settings.database_url.get_secret_value(),
            want_valkey=not settings.redis_url.get_secret_value(),
        )

    @property
    def postgres(self) -> Postgres:
        """The PostgreSQL server; an error before `start`."""
        return _started(self._postgres, "PostgreSQL")

    @property
    def valkey(self) -> Valkey:
        """The Valkey server; an error before `start`."""
        return _started(self._valkey, "Valkey")

    @property
    def database_url(self) -> str:
        """``postgresql://socialq:…@127.0.0.1:PORT/socialq``, the login of the database's owner."""
        return self.postgres.url

    @property
    def redis_url(self) -> str:
        """``redis://:…@127.0.0.1:PORT/0``."""
        return self.valkey.url

    @property
    def pids(self) -> dict[str, int]:
        """The main process of each started server."""
        return {name: server.pid for name, server in self._servers().items()}

    @property
    def owned(self) -> bool:
        """Whether this object supervises the servers; a guest does not."""
        return self._lock is not None

    def start(self) -> Self:
        """Start, adopt or join the servers. Raises `LocalServersUnavailable`; then nothing stays behind."""
        self._make_home()
        self._lock = self._try_lock()
        try:
            self._build()
            if self.owned:
                self._start_all()
            else:
                self._join()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop what this object supervises, the broker first; a guest only forgets. Twice is harmless."""
        for server in (self._valkey, self._postgres):
            if server is not None and self.owned:
                server.stop()
        self._postgres = self._valkey = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def discard(self) -> None:
        """Stop the servers and delete their data. For tests and `down`-like commands."""
        owned, place = self.owned, self._place
        self.stop()
        if owned:
            for pattern in ("postgres-*", "valkey-*", "redis-*", "bin-*"):
                for folder in place.glob(pattern):
                    shutil.rmtree(folder, ignore_errors=True)
            if place != self.home:
                shutil.rmtree(place, ignore_errors=True)
                (self.home / "servers.place").unlink(missing_ok=True)

    def restart_postgres(self) -> None:
        """Stop and start PostgreSQL on the same port and data."""
        self.postgres.restart()

    def restart_valkey(self) -> None:
        """Stop and start Valkey on the same port and data."""
        self.valkey.restart()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _servers(self) -> dict[str, Server]:
        found = {"postgres": self._postgres, "valkey": self._valkey}
        return {name: server for name, server in found.items() if server is not None}

    def _make_home(self) -> None:
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            logs = self.home / "logs"
            logs.mkdir(exist_ok=True)
            own_like(self.home, logs)
        except OSError as error:
            raise LocalServersUnavailable(
                f"cannot write to {self.home}: {error.strerror}. Set SOCIALQ_HOME to another folder."
            ) from error

    def _try_lock(self) -> int | None:
        """The supervisor's lock, or None if another process has it. It writes its pid into the file."""
        path = self.home / "servers.lock"
        try:
            held = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LocalServersUnavailable(
                f"cannot open {path}: {error.strerror}. It belongs to another user: run as that user, "
                "or set SOCIALQ_HOME to another folder."
            ) from error
        own_like(self.home, path)
        if not try_lock(held):
            os.close(held)
            return None
        os.ftruncate(held, 0)
        os.pwrite(held, f"{os.getpid()}\n".encode(), 0)
        return held

    def _build(self) -> None:
        run_as = choose_user(self.home)
        place = self._place = choose_place(self.home, run_as)
        state = self._state()
        logs = self.home / "logs"
        if self._want_postgres:
            self._postgres = Postgres(
                binaries=find_postgres(),
                place=place,
                port=state.postgres_port,
                log_path=logs / "postgres.log",
                run_as=run_as,
                owner_password=state.owner_password,
                admin_password=state.admin_password,
                options=self._options,
            )
        if self._want_valkey:
            self._valkey = Valkey(
                binary=find_valkey(),
                place=place,
                port=state.valkey_port,
                log_path=logs / "valkey.log",
                run_as=run_as,
                password=state.valkey_password,
            )

    def _start_all(self) -> None:
        if self._postgres is not None:
            _adopt_or_start(self._postgres, self._postgres.find_running())
        if self._valkey is not None:
            _adopt_or_start(self._valkey, self._valkey.find_running())
        self._note()

    def _join(self) -> None:
        """Use the servers of the process that holds the lock."""
        if not wait_until(self._joined, seconds=GUEST_WAIT_SECONDS):
            holder = (self.home / "servers.lock").read_text(encoding="ascii").strip()
            raise LocalServersUnavailable(
                f"process {holder} supervises the servers in {self.home}, but they do not answer. "
                "Wait for it or end it, or set SOCIALQ_HOME to another folder."
            )

    def _joined(self) -> bool:
        if self._postgres is not None:
            self._postgres.adopt(self._postgres.find_running())
        if self._valkey is not None:
            self._valkey.port = self._state().valkey_port
            self._valkey.adopt(self._valkey.find_running())
        return all(self.pids.values())

    def _state(self) -> State:
        one, two, three = (secrets.token_urlsafe(24) for _ in range(3))
        fresh = State(owner_password=one, admin_password=two, valkey_password=three)
        try:
            return State(**json.loads(write_once(self.home / "servers.json", json.dumps(asdict(fresh)))))
        except (OSError, ValueError, TypeError) as error:
            raise LocalServersUnavailable(
                f"{self.home / 'servers.json'} cannot be used ({type(error).__name__}). It holds the "
                "passwords of the servers: restore it, or delete the whole folder to start afresh."
            ) from error

    def _note(self) -> None:
        """Keep the ports for the next start; written beside and renamed, so never half there."""
        state = self._state()
        if self._postgres is not None:
            state = replace(state, postgres_port=self._postgres.port)
        if self._valkey is not None:
            state = replace(state, valkey_port=self._valkey.port)
        draft = self.home / f"servers.json.{secrets.token_hex(4)}"
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(asdict(state)), encoding="utf-8")
        own_like(self.home, draft)
        draft.replace(self.home / "servers.json")


def free_port(preferred: int = 0) -> int:
    """A port of 127.0.0.1 on which nothing listens: the preferred one if possible."""
    candidates = [preferred] if preferred else []
    candidates += random.sample(PORTS, 200)
    for port in candidates:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise LocalServersUnavailable("no free TCP port on 127.0.0.1 between 20000 and 32000")


def _adopt_or_start(server: Server, running_pid: int) -> None:
    if running_pid:
        server.adopt(running_pid)
        return
    for attempt in range(PORT_ATTEMPTS):
        server.port = free_port(server.port)
        try:
            server.start()
            return
        except LocalServersUnavailable as error:
            # Another process took the port between our look and the server's start.
            if "Address already in use" not in str(error) or attempt + 1 == PORT_ATTEMPTS:
                raise


def _started(server: AnyServer | None, label: str) -> AnyServer:
    if server is None:
        raise LocalServersUnavailable(f"{label} is not started here")
    return server
