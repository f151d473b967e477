"""Connections, roles and transactions.

A `Database` is one PostgreSQL database seen through one role. It hands out two kinds of transaction:
`transaction(…)`, an ordinary block, and `pipelined(…)`, which sends the tenant's settings and the statements in
one round trip (what the publish path uses).

What must stay true: every connection runs as a role that can't bypass row security; the tenant is set per
transaction with `set_config(…, true)`, so that nothing of it is left on a pooled connection; no transaction is
open when a block of ours waits for a network.

SQLAlchemy's pool keeps the connections; statements go to psycopg and libpq as they stand, because only those
can pipeline them (`docs/decisions/0002-sql-as-text.md`).
"""

from __future__ import annotations

import select
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import psycopg
from psycopg import pq
from psycopg.rows import dict_row
from sqlalchemy import event, exc
from sqlalchemy.pool import QueuePool

from socialq.store.round_trip import RoundTrips

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

Row = dict[str, Any]
Params = Mapping[str, Any]
Statement = tuple[str, Params]

ROLE_APP: Final = "socialq_app"
ROLE_MACHINE: Final = "socialq_machine"
ROLE_CENTRAL: Final = "socialq_central"

_TRIPS: Final = "socialq.round_trips"
_BEGIN: Final = "BEGIN"
_SETTINGS: Final = (
    "SELECT set_config('socialq.tenant', %(tenant)s, true), set_config('socialq.actor', %(actor)s, true)"
)


class Session:
    """One open transaction. Statements are text with `%(name)s` parameters; rows are dicts."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def all(self, sql: str, params: Params | None = None) -> list[Row]:
        """Run `sql` and return every row."""
        cursor = self._connection.execute(sql, params)
        return cursor.fetchall()

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        """Run `sql` and return its first row, or None."""
        return self._connection.execute(sql, params).fetchone()

    def run(self, sql: str, params: Params | None = None) -> int:
        """Run `sql` and return how many rows it touched."""
        return self._connection.execute(sql, params).rowcount

    def many(self, sql: str, rows: Sequence[Params]) -> None:
        """Run `sql` once for each of `rows`, in one round trip."""
        with self._connection.cursor() as cursor:
            cursor.executemany(sql, rows)


class Database:
    """One PostgreSQL database through one role, with its pool."""

    def __init__(
        self,
        url: str,
        *,
        role: str,
        pool_size: int = 16,
        statement_timeout_seconds: float = 30.0,
        application_name: str = "socialq",
    ) -> None:
        """Build the pool; nothing is connected before first use."""
        self.role = role
        self._url = url
        self._application_name = application_name
        self._statement_timeout_seconds = statement_timeout_seconds
        # The pool alone, without an engine: an engine would ask new connections things that it never uses. No
        # overflow: a connection that is closed on its return costs the next one a fork, a login, and every plan.
        self._pool = QueuePool(
            cast("Any", self.connect),
            pool_size=pool_size,
            max_overflow=0,
            timeout=10,
            use_lifo=True,
            reset_on_return=None,
        )
        event.listen(self._pool, "checkout", _refuse_dead_connection)

    def connect(self) -> psycopg.Connection[Row]:
        """Open one direct connection of this role, outside the pool (windows and LISTEN use this)."""
        options = (
            f"-c role={self.role} -c TimeZone=UTC -c synchronous_commit=on"
            f" -c statement_timeout={int(self._statement_timeout_seconds * 1000)}"
            " -c idle_in_transaction_session_timeout=30000 -c plan_cache_mode=force_generic_plan -c jit=off"
        )
        return psycopg.Connection[Row].connect(
            self._url,
            autocommit=True,
            row_factory=cast("Any", dict_row),
            options=options,
            application_name=self._application_name,
            connect_timeout=5,
            keepalives_idle=15,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=20000,
        )

    @contextmanager
    def transaction(self, *, tenant: UUID | None = None, actor: str = "system") -> Iterator[Session]:
        """Open a transaction for `tenant` (None: no tenant's rows are visible to the app role)."""
        with self._pooled() as connection:
            with connection.pipeline():
                connection.execute(_BEGIN)
                connection.execute(_SETTINGS, _settings_of(tenant, actor))
            try:
                yield Session(connection)
            except BaseException:
                if not connection.closed:
                    connection.rollback()
                raise
            connection.commit()

    def pipelined(
        self, *statements: Statement, tenant: UUID | None = None, actor: str = "system"
    ) -> list[list[Row]]:
        """Run `statements` as one transaction in one round trip and return each one's rows.

        All of it happens or none: an error in any statement is raised after the rollback. There is no BEGIN
        and no COMMIT: what a pipeline holds up to its synchronisation point is one transaction, and
        `set_config(…, true)` lasts until its end. Were that ever not so, row security would show nothing.
        https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
        """
        with self._checked_out() as (fairy, connection):
            trips: RoundTrips | None = fairy.info.get(_TRIPS)
            if trips is None:
                trips = fairy.info[_TRIPS] = RoundTrips(connection)
            return trips.run([(_SETTINGS, _settings_of(tenant, actor)), *statements])[1:]

    def autocommit(self, sql: str, params: Params | None = None) -> list[Row]:
        """Run one statement as its own transaction, without a tenant."""
        with self._pooled() as connection:
            cursor = connection.execute(sql, params)
            return cursor.fetchall() if cursor.description else []

    def notify(self, channel: str, payload: str = "") -> None:
        """Wake whoever listens. Own transaction: inside a larger one it would serialise commits."""
        self.autocommit(
            "SELECT pg_notify(%(channel)s, %(payload)s)", {"channel": channel, "payload": payload}
        )

    def dispose(self) -> None:
        """Close every pooled connection that is not in use."""
        self._pool.dispose()

    @contextmanager
    def _pooled(self) -> Iterator[psycopg.Connection[Row]]:
        with self._checked_out() as (_, connection):
            yield connection

    @contextmanager
    def _checked_out(self) -> Iterator[tuple[PoolProxiedConnection, psycopg.Connection[Row]]]:
        fairy: PoolProxiedConnection = self._pool.connect()
        connection = cast("psycopg.Connection[Row]", fairy.driver_connection)
        try:
            yield fairy, connection
        finally:
            if connection.closed or connection.info.transaction_status != pq.TransactionStatus.IDLE:
                fairy.invalidate()
            fairy.close()


@dataclass(frozen=True, slots=True)
class CellDatabases:
    """A cell's database, through the tenant role and through the machine role."""

    name: str
    app: Database
    machine: Database


def _settings_of(tenant: UUID | None, actor: str) -> Params:
    return {"tenant": "" if tenant is None else str(tenant), "actor": actor}


def _refuse_dead_connection(
    dbapi_connection: DBAPIConnection, _entry: ConnectionPoolEntry, _proxy: PoolProxiedConnection
) -> None:
    """Notice a connection that the server closed while it was idle, without a round trip.

    An idle connection has nothing to read, since pooled ones never LISTEN; one that was cut has: the end of the
    file, or the server's goodbye. Raising `DisconnectionError` makes the pool open another.
    """
    connection = cast("psycopg.Connection[Any]", dbapi_connection)
    if connection.closed:
        raise exc.DisconnectionError
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    if poll.poll(0):
        raise exc.DisconnectionError
