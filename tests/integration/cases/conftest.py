"""Fixtures of the public reports: those of the lanes, which have every hop as a worker has it."""

from tests.integration.lanes.conftest import (
    empty_all,
    empty_database,
    lanes,
    logs,
    make_wiring,
    owner,
    pipeline_database,
    valkey,
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
    "valkey",
    "wiring",
]
