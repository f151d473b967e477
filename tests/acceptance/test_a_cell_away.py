"""A second cell on a server of its own, stopped, killed and started again under real processes."""

from __future__ import annotations

import os
import secrets
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from socialq.desk import cells, clients, tenants
from socialq.local import LocalServers
from tests.acceptance import steps
from tests.acceptance.harness import ACTOR

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from tests.acceptance.harness import Stack


@pytest.fixture(scope="module")
def second_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServers]:
    """A PostgreSQL server beside the stack's."""
    home = tmp_path_factory.mktemp("second-cell")
    with LocalServers(home, postgres_options={"fsync": "off"}, want_valkey=False) as started:
        yield started
        started.discard()


@pytest.fixture(scope="module")
def north(running_stack: Stack, second_server: LocalServers) -> str:
    """A cell on that server; it stays in the stack for the tests of this module."""
    name = f"north-{secrets.token_hex(3)}"
    cells.add(
        running_stack.stores,
        running_stack.wiring.vault,
        name=name,
        database_url=second_server.database_url,
        actor=ACTOR,
    )
    return name


def move_to(stack: Stack, cell: str) -> tuple[UUID, UUID]:
    """Let the scene go on with a tenant in `cell`; returns the tenant and client it had."""
    before = stack.tenant, stack.client
    stack.tenant = tenants.add(stack.stores, name=f"agency-{secrets.token_hex(3)}", cell=cell, actor=ACTOR).id
    stack.client = clients.add(
        stack.stores, tenant=stack.tenant, name="brand", time_zone="UTC", actor=ACTOR
    ).id
    return before


def strike(server: LocalServers, sig: signal.Signals) -> None:
    """Signal a PostgreSQL server: to stop it or let it go on takes its sessions, too."""
    pid = server.postgres._pid
    if sig is not signal.SIGKILL:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), sig)
    server.postgres.kill(sig)


@pytest.mark.parametrize("sig", [signal.SIGSTOP, signal.SIGKILL], ids=["stands still", "killed"])
def test_a_cell_that_goes_away_stalls_only_itself_and_comes_back(
    stack: Stack, north: str, second_server: LocalServers, sig: signal.Signals
):
    """While it is away the other cell's posts leave on time; when it is back its own leave, once each."""
    here = stack.account("here")
    home = move_to(stack, north)
    there = stack.account("there")
    (first,) = stack.schedule([there], ["Before"])
    steps.wait_published(stack, first)
    (waiting,) = stack.schedule([there], ["While away"], seconds=4)
    away = stack.tenant, stack.client

    strike(second_server, sig)
    try:
        stack.tenant, stack.client = home
        during = [stack.schedule([here], [f"Number {n}"], seconds=n + 1)[0] for n in range(8)]
        steps.wait_published(stack, *during)
        late = steps.lateness_seconds(stack)
        assert max(late.values()) < 5
        assert len(stack.sandbox.requests("there")) == 1
    finally:
        if sig is signal.SIGSTOP:
            strike(second_server, signal.SIGCONT)
        else:
            second_server.restart_postgres()
    stack.tenant, stack.client = away
    steps.wait_published(stack, waiting, seconds=60)

    assert [post["text"] for post in stack.sandbox.ledger("there")] == ["Before", "While away"]
    assert len(stack.sandbox.requests("there")) == 2
    assert len(stack.sandbox.ledger("here")) == len(stack.sandbox.requests("here")) == 8
