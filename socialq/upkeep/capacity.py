"""Are there enough connections and threads? By arithmetic, before a Monday morning finds out.

Arrives: settings, the cells and what the server allows. Leaves: a sentence for each thing there is too little of.
What must stay true: the arithmetic is that of `docs/operations.md`: each database is used through roles with a pool of
their own, each window holds one connection and one thread, and so does the one that waits to succeed it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from socialq.store.stores import Stores

_ROLES_OF_CELL: Final = 2
"""Of a tenant and of the machine; the central role comes on top where the cell is the central database."""
_WEB_THREADS: Final = 8
_FOR_COMMANDS: Final = 5
_BESIDE_WINDOWS: Final = 2
"""Threads of a control worker for sweeps, audits, pruning and the ticks themselves."""

_ALLOWED: Final = """
SELECT current_setting('max_connections')::integer
       - current_setting('superuser_reserved_connections')::integer AS allowed
"""


class Capacities(Protocol):
    """What the arithmetic needs of the settings."""

    @property
    def database_pool_size(self) -> int: ...
    @property
    def publishing_concurrency(self) -> int: ...
    @property
    def preparing_concurrency(self) -> int: ...
    @property
    def control_concurrency(self) -> int: ...


def control_threads(cells: int) -> int:
    """Say how many threads one control worker needs for this many cells.

    Two for each relay's window and its successor, two for the dispatcher's, and some for all the rest.
    """
    return 2 * (cells + 1) + _BESIDE_WINDOWS


def connections(settings: Capacities) -> int:
    """Say how many connections one process of each kind may hold to the central server at once."""
    pools = 1 + _ROLES_OF_CELL
    threads = (
        settings.publishing_concurrency,
        settings.preparing_concurrency,
        settings.control_concurrency,
        _WEB_THREADS,
    )
    pooled = sum(pools * min(count + 1, settings.database_pool_size) for count in threads)
    windows = 4
    return pooled + windows + _FOR_COMMANDS


def control_problem(threads: int, *, cells: int) -> str | None:
    """Say what is wrong with a control worker's number of threads, if anything is."""
    needed = control_threads(cells)
    if threads >= needed:
        return None
    return (
        f"SOCIALQ_CONTROL_CONCURRENCY: {threads} threads are too few for {cells} cells: each cell's relay holds two,"
        f" and nothing would be left for the sweep; set it to {needed} or more, and restart the control workers"
    )


def problems(stores: Stores, settings: Capacities) -> list[str]:
    """Name what there is too little of."""
    found = []
    if problem := control_problem(settings.control_concurrency, cells=len(stores.cell_names())):
        found.append(problem)
    allowed, needed = stores.central.autocommit(_ALLOWED)[0]["allowed"], connections(settings)
    if allowed < needed:
        found.append(
            f"PostgreSQL allows {allowed} connections, and one process of each kind may hold {needed}: raise its"
            " max_connections, or lower SOCIALQ_DATABASE_POOL_SIZE"
        )
    return found
