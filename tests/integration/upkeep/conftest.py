"""Fixtures of upkeep's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import structlog

from tests.integration.pipeline.conftest import empty_all, owner, pipeline_database, pipeline_stores, world

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["empty_all", "owner", "pipeline_database", "pipeline_stores", "world"]


@pytest.fixture(autouse=True)
def logs() -> Iterator[structlog.testing.LogCapture]:
    """What was logged, instead of the screen."""
    captured = structlog.testing.LogCapture()
    structlog.configure(processors=[captured])
    yield captured
    structlog.reset_defaults()
