"""One stack of real processes for all acceptance tests; each test is a scene of its own on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance import steps
from tests.acceptance.harness import Stack

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = {
    # Long enough that a busy machine gets everything into flight before a request gives up.
    "publish_deadline_seconds": 6,
    "drain_seconds": 8,
    "lease_seconds": 18,
    # Several windows fit into a scene.
    "window_seconds": 10,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Allow for the stack's start on a busy machine, and for leases that must end."""
    for item in items:
        if item.path.parent.name == "acceptance" and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def running_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack, started once; tests take `stack`."""
    with Stack(tmp_path_factory.mktemp("acceptance"), settings=SETTINGS) as running:
        yield running


@pytest.fixture
def stack(running_stack: Stack) -> Iterator[Stack]:
    """The stack as a scene: all processes alive, no faults, an empty ledger, a tenant of its own."""
    with steps.scene(running_stack) as ready:
        yield ready
