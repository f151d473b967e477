"""The hops' database, for the stateful tests too."""

from __future__ import annotations

from tests.integration.pipeline.conftest import (
    _silent_logs,
    empty_all,
    owner,
    pipeline_database,
    pipeline_stores,
)

__all__ = ["_silent_logs", "empty_all", "owner", "pipeline_database", "pipeline_stores"]
