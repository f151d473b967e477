"""One transaction in one round trip: the statements of the publish path, spoken to libpq directly.

Statements (SQL text with `%(name)s` parameters) arrive; each one's rows leave. psycopg's cursors do the same
with five times the Python and a wait for each statement; this is what every target goes through several times,
so here libpq's pipeline is filled, flushed and read once. Values are adapted by psycopg's own transformer.

What must stay true: whatever one pipeline holds up to its synchronisation point is one transaction, all of it
or none (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING); a connection that
did not read all its answers is never used again.
"""

from __future__ import annotations

import itertools
import re
import select
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg import pq
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from psycopg.abc import Transformer as Adaptation
    from psycopg.pq.abc import PGconn, PGresult

    Row = dict[str, Any]
    Statement = tuple[str, Mapping[str, Any]]
    Key = tuple[str, tuple[int, ...]]
    _Expected = Key | Adaptation

_PARAMETER: Final = re.compile(r"%(?:\((?P<name>\w+)\)s|(?P<percent>%))")
_TEXT: Final = pq.Format.TEXT
_MOST_PREPARED: Final = 300
_STALE: Final = frozenset({"0A000", "26000"})
"""A prepared plan whose tables have changed, and a prepared statement that is gone (psycopg deallocates all that
there are after a rollback): nothing has been done, and a second time everything is prepared anew."""


class RoundTrips:
    """One connection's round trips, with the statements that it has prepared. Not for two threads at once."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        """Use a connection that is in autocommit and idle."""
        self._connection = connection
        self._pgconn: PGconn = connection.pgconn
        self._encoding = connection.info.encoding
        self._prepared: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self._names = itertools.count()
        self._poll = select.poll()
        self._descriptor = self._pgconn.socket

    def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run all as one transaction; raises psycopg's error of the first that failed, after the rollback."""
        try:
            return self._run(statements)
        except psycopg.Error as error:
            if error.sqlstate not in _STALE:
                raise
            self._prepared.clear()
        return self._run(statements)

    def _run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        self._pgconn.enter_pipeline_mode()
        expected: list[_Expected] = []
        for sql, parameters in statements:
            self._send(sql, parameters, expected)
        self._pgconn.pipeline_sync()
        rows, failed = self._read(expected)
        self._pgconn.exit_pipeline_mode()
        if failed is not None:
            raise failed
        return rows

    def _send(self, sql: str, parameters: Mapping[str, Any], expected: list[_Expected]) -> None:
        """Queue a statement, and its preparation where this connection has not seen it yet."""
        query, names = _positional(sql)
        transformer = Transformer(self._connection)
        values = transformer.dump_sequence([parameters[name] for name in names], [PyFormat.TEXT] * len(names))
        key: Key = (sql, transformer.types or ())
        name = self._prepared.get(key)
        if name is None and len(self._prepared) < _MOST_PREPARED:
            name = b"sq%d" % next(self._names)
            self._pgconn.send_prepare(name, query, key[1])
            # Taken for prepared at once, so that a statement that comes twice is not prepared twice.
            self._prepared[key] = name
            expected.append(key)
        if name is None:
            self._pgconn.send_query_params(query, values, key[1])
        else:
            self._pgconn.send_query_prepared(name, values)
        expected.append(transformer)

    def _read(self, expected: Sequence[_Expected]) -> tuple[list[list[Row]], psycopg.Error | None]:
        """Read an answer for everything that was sent, and the synchronisation point."""
        rows: list[list[Row]] = []
        failed: psycopg.Error | None = None
        for one in expected:
            result = self._next_result()
            if result.status == pq.ExecStatus.FATAL_ERROR:
                failed = failed or error_from_result(result, encoding=self._encoding)
            if isinstance(one, tuple):
                if result.status != pq.ExecStatus.COMMAND_OK:
                    del self._prepared[one]
            elif result.status == pq.ExecStatus.TUPLES_OK:
                rows.append(_rows_of(result, one, self._encoding))
            else:
                rows.append([])
            self._end_of_result()
        synchronised = self._next_result()
        if synchronised.status != pq.ExecStatus.PIPELINE_SYNC:
            raise psycopg.OperationalError(
                f"the pipeline ended with {pq.ExecStatus(synchronised.status).name}"
            )
        return rows, failed

    def _next_result(self) -> PGresult:
        self._wait()
        result = self._pgconn.get_result()
        if result is None:
            raise psycopg.OperationalError("the server's answer is missing")
        return result

    def _end_of_result(self) -> None:
        """Read past the end of one statement's results: libpq says it with an empty one."""
        self._wait()
        if self._pgconn.get_result() is not None:
            raise psycopg.OperationalError("one statement was answered twice")

    def _wait(self) -> None:
        """Write what is left to write, and wait until there is a whole result."""
        pgconn = self._pgconn
        while pgconn.is_busy():
            unsent = pgconn.flush()
            self._poll.register(self._descriptor, select.POLLIN | (select.POLLOUT if unsent else 0))
            if any(event & ~select.POLLOUT for _, event in self._poll.poll()):
                pgconn.consume_input()


def _rows_of(result: PGresult, transformer: Adaptation, encoding: str) -> list[Row]:
    if result.ntuples == 0:
        return []
    transformer.set_pgresult(result)
    names = [(result.fname(number) or b"").decode(encoding) for number in range(result.nfields)]
    return transformer.load_rows(0, result.ntuples, lambda values: dict(zip(names, values, strict=True)))


@lru_cache(maxsize=512)
def _positional(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Write `%(name)s` as `$n`, the same name always as the same number, and `%%` as `%`."""
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        if match["percent"]:
            return "%"
        return f"${numbers.setdefault(match['name'], len(numbers) + 1)}"

    return _PARAMETER.sub(number, sql).encode(), tuple(numbers)
