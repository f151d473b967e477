"""Everything as a worker has it, on the hops' database and the simulated platforms."""

from __future__ import annotations

from tests.integration.lanes.conftest import (
    empty_all,
    empty_database,
    lanes,
    logs,
    make_wiring,
    owner,
    pipeline_database,
    wiring,
)

__all__ = [
    "empty_all",
    "empty_database",
    "lanes",
    "logs",
    "make_wiring",
    "owner",
    "pipeline_database",
    "wiring",
]
