"""The bundled PostgreSQL: a cluster under the home folder, on a TCP port of 127.0.0.1.

Arrives: binaries, a data folder, a port, two passwords. Leaves: a running server with the database `socialq`,
owned by the login role `socialq`. What must stay true: a crash at any moment leaves a usable cluster; the
owner is no superuser, so that what works here works on a managed server.
"""

from __future__ import annotations

import re
import secrets
import shutil
import signal
import time
from typing import TYPE_CHECKING, ClassVar

import psycopg
from psycopg import sql

from socialq.local.process import (
    STEP_SECONDS,
    Server,
    process_runs,
    wait_until,
)
from socialq.local.run_as import own_like, readable_copy
from socialq.local.unavailable import LocalServersUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from socialq.local.binaries import PostgresBinaries
    from socialq.local.run_as import RunAs

OWNER = "socialq"
DATABASE = "socialq"
ADMIN = "postgres"

BUILTIN_LOCALE_SINCE = 17
START_SECONDS = 60.0
"""Recovery after a crash takes its time; an exit of the process ends the wait at once."""

CREATE_OWNER = sql.SQL(
    "CREATE ROLE {} LOGIN CREATEROLE CREATEDB PASSWORD {} IN ROLE pg_monitor, pg_signal_backend"
)
CREATE_DATABASE = sql.SQL("CREATE DATABASE {} OWNER {}")

OPTIONS: Mapping[str, str] = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "fsync": "on",
    "password_encryption": "scram-sha-256",
    "idle_in_transaction_session_timeout": "60s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_destination": "stderr",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}


class Postgres(Server):
    """PostgreSQL as a `Server`. ``url`` is the owner's login, ``admin_url`` the superuser's."""

    label: ClassVar = "PostgreSQL"
    stop_signals: ClassVar = ((signal.SIGINT, 15.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))

    def __init__(
        self,
        *,
        binaries: PostgresBinaries,
        place: Path,
        port: int,
        log_path: Path,
        run_as: RunAs,
        owner_password: str,
        admin_password: str,
        options: Mapping[str, str],
    ) -> None:
        super().__init__(port=port, log_path=log_path, run_as=run_as)
        self.data = place / f"postgres-{binaries.major}"
        self._binaries = binaries
        self._place = place
        self._owner_password = owner_password
        self._admin_password = admin_password
        self._options = {**OPTIONS, **options}

    @property
    def url(self) -> str:
        """Login of the database's owner, which may create roles and databases."""
        return self._url(OWNER, self._owner_password, DATABASE)

    @property
    def admin_url(self) -> str:
        """Login of the superuser; for setting up and for tests only."""
        return self._url(ADMIN, self._admin_password, "postgres")

    def start(self) -> None:
        """Make the cluster if there is none, launch, wait until it answers, see to role and database."""
        program = readable_copy(
            self._binaries.needs, self._binaries.folder / "postgres", run_as=self._run_as, place=self._place
        )
        if not self.data.exists():
            self._init(program.parent / "initdb")
        self._launch_until_ready(program)
        self._ensure_owner()

    def find_running(self) -> int:
        """The pid of a server that already runs on our data, 0 if none does. Takes its port over."""
        pid, port = self._postmaster()
        if not pid or not process_runs(pid):
            return 0
        configured, self.port = self.port, port
        if wait_until(self._is_ours, seconds=5):
            return pid
        self.port = configured
        return 0

    def _url(self, user: str, password: str, database: str) -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def _postmaster(self) -> tuple[int, int]:
        """Pid and port out of postmaster.pid (lines 1 and 4); zeros if it is missing or unfinished."""
        try:
            lines = (self.data / "postmaster.pid").read_text(encoding="ascii", errors="replace").splitlines()
            return int(lines[0]), int(lines[3])
        except (OSError, IndexError, ValueError):
            return 0, 0

    def _is_ours(self) -> bool:
        try:
            with psycopg.connect(self.admin_url, connect_timeout=2) as connection:
                row = connection.execute("SHOW data_directory").fetchone()
        except psycopg.Error:
            return False
        return row is not None and row[0] == str(self.data)

    def _init(self, initdb: Path) -> None:
        """Run initdb beside the final name, then rename: a half-made cluster never has that name."""
        draft = self.data.with_name(f"{self.data.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        self._run_as.make_folder(draft)
        password_file = self._place / f"initdb.{secrets.token_hex(4)}"
        password_file.touch(mode=0o600)
        password_file.write_text(self._admin_password, encoding="ascii")
        self._run_as.give(password_file)
        command = [
            str(initdb),
            "-D",
            str(draft),
            "-U",
            ADMIN,
            "-A",
            "scram-sha-256",
            f"--pwfile={password_file}",
        ]
        try:
            for locale in self._locales():
                ran = self._run_as.run([*command, "-E", "UTF8", *locale])
                if ran.returncode == 0:
                    draft.rename(self.data)
                    return
        finally:
            password_file.unlink()
            shutil.rmtree(draft, ignore_errors=True)
        raise LocalServersUnavailable(
            f"initdb could not make a PostgreSQL cluster:\n{ran.stderr.strip()[-2000:]}"
        )

    def _locales(self) -> list[list[str]]:
        """Locale options of initdb, best first. Plain C would break upper('é'); C.UTF-8 is not everywhere."""
        if self._binaries.major >= BUILTIN_LOCALE_SINCE:
            return [["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]]
        return [["--locale=C.UTF-8"], ["--locale=en_US.UTF-8"], ["--locale=C"]]

    def _launch_until_ready(self, program: Path) -> None:
        options = {**self._options, "port": str(self.port)}
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        deadline = time.monotonic() + START_SECONDS
        while True:
            log_start = self.log_path.stat().st_size if self.log_path.exists() else 0
            self._launch([str(program), "-D", str(self.data), *arguments])
            own_like(self.log_path.parent, self.log_path)
            if self._wait_ready(deadline):
                return
            if not self._predecessor_lingers(log_start) or time.monotonic() > deadline:
                raise self._failure("did not start:")
            time.sleep(STEP_SECONDS * 5)

    def _wait_ready(self, deadline: float) -> bool:
        """True once it answers, False if the process ended. Raises on a wrong password or when it is late."""
        while self.alive():
            try:
                psycopg.connect(self.admin_url, connect_timeout=2).close()
            except psycopg.OperationalError as error:
                if "password authentication failed" in str(error):
                    self.stop()
                    raise LocalServersUnavailable(
                        f"{self.data} was made with another password than the one in servers.json. "
                        "Restore that file, or move the data folder away to start afresh."
                    ) from None
            else:
                return True
            if time.monotonic() > deadline:
                self.stop()
                raise self._failure(f"did not answer within {START_SECONDS:g} s:")
            time.sleep(STEP_SECONDS)
        return False

    def _predecessor_lingers(self, log_start: int) -> bool:
        """After kill -9 its backends hold shared memory for a moment, and a new server refuses to start."""
        with self.log_path.open("rb") as log:
            log.seek(log_start)
            said = log.read().decode("utf-8", errors="replace")
        return bool(re.search(r"pre-existing shared memory block|lock file .* already exists", said))

    def _ensure_owner(self) -> None:
        """Role and database, if a crash after initdb left them out. Only the password's verifier travels."""
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            if not _exists(connection, "SELECT FROM pg_roles WHERE rolname = %s", OWNER):
                verifier = connection.pgconn.encrypt_password(
                    self._owner_password.encode(), OWNER.encode(), b"scram-sha-256"
                ).decode()
                connection.execute(CREATE_OWNER.format(sql.Identifier(OWNER), sql.Literal(verifier)))
            if not _exists(connection, "SELECT FROM pg_database WHERE datname = %s", DATABASE):
                connection.execute(CREATE_DATABASE.format(sql.Identifier(DATABASE), sql.Identifier(OWNER)))


def _exists(connection: psycopg.Connection[tuple[object, ...]], query: str, name: str) -> bool:
    return connection.execute(query.encode(), (name,)).fetchone() is not None
