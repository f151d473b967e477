"""Fixtures of the tests of providers: an `Http` that may call loopback, and a stub platform."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from socialq.providers.http import Http
from tests.unit.providers.stub import Stub

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def stub() -> Iterator[Stub]:
    server = Stub()
    yield server
    server.close()


@pytest.fixture
def http() -> Iterator[Http]:
    with_loopback = Http(connect_timeout_seconds=2.0, allow_private_addresses=True)
    yield with_loopback
    with_loopback.close()
