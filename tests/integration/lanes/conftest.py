"""Fixtures of the tests of lanes, tokens, holds and cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import structlog

from socialq.local import LocalServers
from socialq.local.dev_keys import development_settings
from socialq.settings import load_settings
from socialq.wiring import Wiring
from tests.integration.lanes.world import Lanes
from tests.integration.pipeline.conftest import empty_all, owner, pipeline_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    import psycopg

    from tests.fixtures_sandbox import RunningSandbox

__all__ = ["empty_all", "owner", "pipeline_database"]

NOBODY_LISTENS = "redis://127.0.0.1:1/0"


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServers]:
    """A real Valkey for this process's tests."""
    servers = LocalServers(tmp_path_factory.mktemp("valkey"), want_postgres=False).start()
    yield servers
    servers.discard()


@pytest.fixture
def empty_database(pipeline_database: str, owner: psycopg.Connection[dict[str, Any]], empty_all: str) -> str:
    """The run's database, emptied: central store and default cell."""
    owner.execute(empty_all)
    owner.execute("TRUNCATE cell.outbox_events")
    return pipeline_database


@pytest.fixture
def make_wiring(tmp_path: Path) -> Iterator[Callable[..., Wiring]]:
    """A function that builds a worker's wiring on a database, as another process would."""
    made: list[Wiring] = []

    def make(database_url: str, *, redis_url: str = NOBODY_LISTENS, **more: str) -> Wiring:
        wiring = Wiring(
            load_settings(
                {
                    "SOCIALQ_DATABASE_URL": database_url,
                    "SOCIALQ_REDIS_URL": redis_url,
                    "SOCIALQ_HOME": str(tmp_path),
                    "SOCIALQ_ALLOW_PRIVATE_ADDRESSES": "true",
                    "SOCIALQ_DATABASE_POOL_SIZE": "10",
                    **development_settings(tmp_path),
                    **more,
                }
            )
        )
        made.append(wiring)
        return wiring

    yield make
    for wiring in made:
        wiring.stores.dispose()


@pytest.fixture
def wiring(make_wiring: Callable[..., Wiring], empty_database: str) -> Wiring:
    """A worker's wiring on the run's database."""
    return make_wiring(empty_database)


@pytest.fixture
def lanes(wiring: Wiring, sandbox: RunningSandbox) -> Lanes:
    """An agency, and every hop as a worker has it."""
    return Lanes(wiring, sandbox)


@pytest.fixture(autouse=True)
def logs() -> Iterator[structlog.testing.LogCapture]:
    """What was logged, instead of the screen."""
    captured = structlog.testing.LogCapture()
    structlog.configure(processors=[captured])
    yield captured
    structlog.contextvars.clear_contextvars()
    structlog.reset_defaults()
