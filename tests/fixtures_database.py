"""Databases for tests: one real PostgreSQL, one upgraded template in it, a fresh copy for each test.

The server is the one that SOCIALQ_TEST_DATABASE_URL names (a login that may create databases and roles), else
the bundled one, started for this run in a folder of its own. The template is made once per state of the
migrations, whichever of several test processes comes first. What must stay true: no test sees another's rows,
and nothing of a run is left but the template.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

import migrations
from socialq.local import LocalServers
from socialq.store import migrate
from socialq.store.stores import Stores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SERVER_VARIABLE = "SOCIALQ_TEST_DATABASE_URL"

_UNSAFE_BUT_FAST = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
"""A test's cluster is thrown away after the run, so it need not survive a power cut."""

_started: list[LocalServers] = []


def start_bundled_server() -> str:
    """Start PostgreSQL for this run and make it known to child processes; returns its URL."""
    home = Path(tempfile.mkdtemp(prefix="socialq-tests-"))
    servers = LocalServers(home, postgres_options=_UNSAFE_BUT_FAST, want_valkey=False).start()
    _started.append(servers)
    os.environ[SERVER_VARIABLE] = servers.database_url
    return servers.database_url


def stop_bundled_server() -> None:
    """Stop what this process started, and remove its data."""
    while _started:
        servers = _started.pop()
        servers.discard()
        shutil.rmtree(servers.home, ignore_errors=True)
        os.environ.pop(SERVER_VARIABLE, None)


def pytest_configure(config: pytest.Config) -> None:
    """With pytest-xdist, start the server before the workers, which inherit its address."""
    several = bool(getattr(config.option, "numprocesses", None)) and not hasattr(config, "workerinput")
    if several and not os.environ.get(SERVER_VARIABLE):
        start_bundled_server()


def pytest_unconfigure() -> None:
    """Stop the server in whichever process started it."""
    stop_bundled_server()


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The URL of a PostgreSQL server on which tests may make databases and roles."""
    return os.environ.get(SERVER_VARIABLE) or start_bundled_server()


@pytest.fixture(scope="session")
def template_database(postgres_server: str) -> str:
    """The name of a database at the newest schema, without rows, to copy from."""
    name = f"socialq_template_{_hash_of_migrations()}"
    with _one_process_at_a_time(name), _administer(postgres_server) as connection:
        if not _exists(connection, name):
            # Renamed when whole: a run that is killed in between leaves no half template behind.
            draft = f"{name}_{secrets.token_hex(4)}"
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(draft)))
            migrate.upgrade(_url_of(postgres_server, draft))
            connection.execute(
                sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(draft), sql.Identifier(name))
            )
    return name


@pytest.fixture
def make_database(postgres_server: str, template_database: str) -> Iterator[Callable[[], str]]:
    """A function that makes one more upgraded, empty database and returns its URL."""
    made: list[str] = []

    def make() -> str:
        name = f"socialq_test_{secrets.token_hex(6)}"
        with _administer(postgres_server) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                    sql.Identifier(name), sql.Identifier(template_database)
                )
            )
        made.append(name)
        return _url_of(postgres_server, name)

    yield make
    with _administer(postgres_server) as connection:
        for name in made:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def database_url(make_database: Callable[[], str]) -> str:
    """A fresh database at the newest schema: central store and default cell in one."""
    return make_database()


@pytest.fixture
def make_stores(database_url: str) -> Iterator[Callable[..., Stores]]:
    """A function that opens another `Stores` on the test's database, as another process would."""
    opened: list[Stores] = []

    def make(*, pool_size: int = 4) -> Stores:
        stores = Stores(
            central_url=database_url,
            decrypt_cell_url=lambda _cell, value: value,
            pool_size=pool_size,
            application_name="socialq-tests",
        )
        opened.append(stores)
        return stores

    yield make
    for stores in opened:
        stores.dispose()


@pytest.fixture
def stores(make_stores: Callable[..., Stores]) -> Stores:
    """The stores on the test's fresh database."""
    return make_stores()


def _hash_of_migrations() -> str:
    folder = Path(next(iter(migrations.__path__)))
    digest = hashlib.sha256()
    for path in [*sorted(folder.rglob("*.py")), Path(migrate.__file__)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _url_of(server: str, name: str) -> str:
    return make_url(server).set(database=name).render_as_string(hide_password=False)


@contextmanager
def _administer(server: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(server, autocommit=True) as connection:
        yield connection


def _exists(connection: psycopg.Connection[tuple[object, ...]], name: str) -> bool:
    found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
    return found is not None


@contextmanager
def _one_process_at_a_time(name: str) -> Iterator[None]:
    path = Path(tempfile.gettempdir()) / f"{name}.{os.getuid()}.lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
