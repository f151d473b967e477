"""What has just grown is analysed within seconds: a plan that was made for an empty table reads all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.upkeep.statistics import Statistics
from tests.integration.pipeline.world import wait_until

if TYPE_CHECKING:
    from tests.integration.pipeline.world import World

NEW_TENANTS = (
    "INSERT INTO cell.tenant_state (tenant_id, name)"
    " SELECT gen_random_uuid(), 'tenant ' || gen_random_uuid() FROM generate_series(1, %(count)s::int)"
    " RETURNING 1 AS one"
)


# Autovacuum reads the same counts and may come first: then there is nothing left to gather, or to count.
LEFT_ALONE = "ALTER TABLE cell.tenant_state SET (autovacuum_enabled = false)"


def analysed_rows(world: World) -> float:
    [row] = world.arrange("SELECT reltuples FROM pg_class WHERE oid = 'cell.tenant_state'::regclass")
    return float(row["reltuples"])


def test_a_table_that_grew_at_once_is_analysed_without_waiting_for_autovacuum(world: World):
    """A few hundred rows since the last time, and half of the table at least; then nothing until it grows again."""
    world.arrange(LEFT_ALONE)
    world.arrange(NEW_TENANTS, count=400)
    statistics = Statistics(stores=world.stores)
    # What a session changed is told to the statistics a moment after its transaction.
    wait_until(lambda: statistics.gather() > 0 and analysed_rows(world) >= 400)
    wait_until(lambda: statistics.gather() == 0)


def changed_rows(world: World) -> int:
    [row] = world.arrange(
        "SELECT n_mod_since_analyze AS changed FROM pg_stat_user_tables WHERE relid = 'cell.tenant_state'::regclass"
    )
    return int(row["changed"])


def test_a_table_of_which_little_changed_is_left_to_autovacuum(world: World):
    """A hundred new rows beside a thousand are no reason."""
    statistics = Statistics(stores=world.stores)
    world.arrange(LEFT_ALONE)
    world.arrange(NEW_TENANTS, count=1000)
    wait_until(lambda: statistics.gather() > 0)
    wait_until(lambda: statistics.gather() == 0 and changed_rows(world) == 0)
    world.arrange(NEW_TENANTS, count=100)
    # An idle session tells what it wrote up to ten seconds late: rows of the world's making may come on top.
    changed = wait_until(lambda: (count := changed_rows(world)) >= 100 and count)
    assert statistics.gather() == 0
    assert changed_rows(world) >= changed
