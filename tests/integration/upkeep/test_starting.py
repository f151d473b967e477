"""What a starting worker makes sure of: threads for its windows, and keys where the database can be asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from socialq.store.stores import Stores
from socialq.upkeep import capacity
from socialq.vault import Vault

if TYPE_CHECKING:
    import structlog


@pytest.fixture
def starting(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, imported where a worker's settings are."""
    monkeypatch.setenv("SOCIALQ_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("SOCIALQ_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY", "A" * 43 + "=")
    from socialq.worker import starting

    return starting


def consumer(*, threads: int, queue: str = "control") -> Any:
    """Celery's consumer, as far as is looked at."""
    return SimpleNamespace(
        hostname=f"{queue}@here",
        app=SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from={queue: object()}))),
        pool=SimpleNamespace(num_processes=threads),
    )


def alarms(stores: Stores) -> list[str]:
    rows = stores.central.autocommit("SELECT message FROM central.alarms WHERE resolved_at IS NULL")
    return [row["message"] for row in rows]


def test_a_control_worker_with_too_few_threads_says_so_until_it_has_enough(stores: Stores, starting: Any):
    """Two for each cell's relay, two for dispatch, and some for the rest; other workers need none of it."""
    wiring: Any = SimpleNamespace(stores=stores)
    starting.tell_of_few_threads(wiring, consumer(threads=1, queue="publishing"))
    starting.tell_of_few_threads(wiring, consumer(threads=6))
    assert alarms(stores) == []
    stores.central.autocommit("INSERT INTO central.cells (name) VALUES ('north')")
    starting.tell_of_few_threads(wiring, consumer(threads=6))
    (message,) = alarms(stores)
    assert "6 threads are too few for 2 cells" in message
    assert "set it to 8" in message
    starting.tell_of_few_threads(wiring, consumer(threads=8))
    assert alarms(stores) == []


def test_the_sums_are_those_of_the_operations_page():
    """What is written there is what is counted."""
    settings = SimpleNamespace(
        database_pool_size=16, publishing_concurrency=32, preparing_concurrency=8, control_concurrency=12
    )
    assert capacity.connections(settings) == 48 + 39 + 27 + 27 + 4 + 5
    assert [capacity.control_threads(cells) for cells in (1, 4)] == [6, 12]


def test_a_worker_starts_without_its_database_and_waits_for_it(
    logs: structlog.testing.LogCapture, starting: Any, monkeypatch: pytest.MonkeyPatch
):
    """That nobody can be asked about keys is no reason to end: it would take nothing anyway."""
    monkeypatch.setattr(starting, "_PATIENCE_SECONDS", 0.1)
    away = Stores(
        central_url="postgresql://nobody@127.0.0.1:1/none", decrypt_cell_url=lambda _cell, value: value
    )
    wiring: Any = SimpleNamespace(stores=away, vault=Vault({"k1": bytes(32)}, "k1"))
    starting.refuse_wrong_keys(wiring)
    assert [entry["event"] for entry in logs.entries] == ["keys_not_checked"]
