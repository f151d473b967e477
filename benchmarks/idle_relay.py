"""How many statements one turn of an idle relay window sends, read off the wire.

libpq writes down every message (https://www.postgresql.org/docs/current/libpq-control.html#LIBPQ-PQTRACE); what
asks the server to run something is `Query` or `Execute`. A wiring of its own is used, whose connections are all
traced, and a turn is what the window does each time it looks: scan, show that it is alive, beat.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from psycopg import pq

from socialq.store.sessions import Database
from socialq.wiring import Wiring

if TYPE_CHECKING:
    from psycopg import Connection

    from socialq.settings import Settings

_TURNS = 20
_RUNS = re.compile(rb"^F\t\d+\t(?:Query|Execute)\b", re.MULTILINE)


def statements_per_turn(settings: Settings, *, cell: str) -> float:
    """Return the mean number of statements of a turn with nothing to relay, on every database together."""
    opened = Database.connect
    with tempfile.TemporaryDirectory(prefix="socialq-trace-") as folder:
        files: list[Any] = []

        def traced(database: Database) -> Connection[Any]:
            connection = opened(database)
            files.append((Path(folder) / str(len(files))).open("wb", buffering=0))
            connection.pgconn.trace(files[-1].fileno())
            connection.pgconn.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
            return connection

        def sent() -> int:
            return sum(len(_RUNS.findall(Path(file.name).read_bytes())) for file in files)

        wiring = Wiring(settings)
        try:
            with patch.object(Database, "connect", traced):
                window = wiring.relay_window(cell)
                # The first turn asks once for each window whether the database was restored.
                window.scan()
                before = sent()
                for _ in range(_TURNS):
                    window.scan()
                    window.beat()
                return (sent() - before) / _TURNS
        finally:
            wiring.stores.dispose()
            for file in files:
                file.close()
