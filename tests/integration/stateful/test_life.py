"""Whatever happens to targets, in whatever order: each goes out once, and what is live is known.

SOCIALQ_STATEFUL_EXAMPLES (100) says how many lives are tried; `make soak` tries many more.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.integration.pipeline.world import World
from tests.integration.stateful.life import Life

if TYPE_CHECKING:
    import psycopg

    from socialq.store.stores import Stores

EXAMPLES = int(os.environ.get("SOCIALQ_STATEFUL_EXAMPLES", "100"))


@pytest.mark.timeout(120 + EXAMPLES * 6)
def test_each_goes_out_once_and_what_is_live_is_known(
    pipeline_stores: Stores,
    pipeline_database: str,
    owner: psycopg.Connection[dict[str, Any]],
    empty_all: str,
):
    """Several targets on two accounts: scheduled, relayed, dispatched, delivered twice, stopped, killed, looked for,
    cancelled, moved, retried, marked as published, answered late."""

    def make_world() -> World:
        owner.execute(empty_all)
        owner.execute("TRUNCATE cell.outbox_events")
        return World(pipeline_stores, pipeline_database, owner)

    class OnThisDatabase(Life):
        pass

    OnThisDatabase.make_world = staticmethod(make_world)
    run_state_machine_as_test(
        OnThisDatabase,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=30,
            deadline=None,
            database=None,
            derandomize=True,
            print_blob=True,
            phases=[Phase.generate, Phase.shrink] if EXAMPLES <= 300 else [Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
