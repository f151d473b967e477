"""Hot tables are vacuumed early, and what keeps vacuum from its work raises an alarm that ends with it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from socialq.upkeep.vacuum_check import VacuumCheck
from tests.integration.pipeline.world import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.pipeline.world import World

HELD_SECONDS = 0.4

HOT_TABLES = {
    "central.publish_dispatch_index": {"fillfactor": "85", "autovacuum_vacuum_scale_factor": "0.02"},
    "central.heartbeats": {"fillfactor": "30", "autovacuum_vacuum_scale_factor": "0"},
    "cell.post_targets": {"fillfactor": "85", "autovacuum_vacuum_scale_factor": "0.02"},
    "cell.target_parts": {"fillfactor": "85", "autovacuum_vacuum_scale_factor": "0.02"},
    "cell.publishing_attempts": {"fillfactor": "85", "autovacuum_vacuum_scale_factor": "0.02"},
    "cell.outbox_events": {"fillfactor": "85", "autovacuum_vacuum_scale_factor": "0.02"},
}


def check(world: World) -> list[str]:
    found = VacuumCheck(stores=world.stores, held_seconds=HELD_SECONDS).check()
    return [holder.name for holder in found["default"]]


@contextmanager
def open_transaction(world: World, *, sql: str, name: str = "somebody") -> Iterator[None]:
    """A transaction of another session that stays open."""
    with psycopg.connect(world.url, application_name=name) as connection:
        connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.commit()
        connection.execute(sql)
        yield
        connection.rollback()


@pytest.mark.parametrize("table", HOT_TABLES)
def test_hot_tables_leave_room_on_their_pages_and_are_vacuumed_early(world: World, table: str):
    """What each row's updates need: free space beside it, and a vacuum long before a fifth of the table is dead."""
    [row] = world.arrange("SELECT reloptions FROM pg_class WHERE oid = %(table)s::regclass", table=table)
    options = dict(option.split("=", 1) for option in row["reloptions"])
    assert {name: options.get(name) for name in HOT_TABLES[table]} == HOT_TABLES[table]


@pytest.mark.parametrize(
    "sql", ["SELECT count(*) FROM cell.posts", "SELECT pg_current_xact_id()"], ids=["reads", "writes"]
)
def test_an_open_transaction_raises_the_alarm_and_its_end_clears_it(world: World, sql: str):
    """A snapshot that stays is as bad as a write that stays. The alarm names the session, and no query."""
    assert check(world) == []
    with open_transaction(world, sql=sql):
        (name,) = wait_until(lambda: check(world), what="the alarm")
        assert "(somebody)" in name
        (message,) = world.alarms()
        assert "somebody" in message
        assert "posts" not in message
        check(world)
        [row] = world.arrange("SELECT key, times FROM central.alarms WHERE resolved_at IS NULL")
        assert row["key"] == "oldest_xmin:default"
        assert row["times"] >= 2
    wait_until(lambda: check(world) == [], what="the all-clear")
    assert world.alarms() == []


def test_a_transaction_that_is_young_or_holds_nothing_raises_nothing(world: World):
    """Only time held counts: an hour is borne here, and an idle session holds nothing."""
    with open_transaction(world, sql="SELECT count(*) FROM cell.posts"), psycopg.connect(world.url):
        found = VacuumCheck(stores=world.stores, held_seconds=3600.0).check()
    assert found == {"default": []}
    assert world.alarms() == []


def test_the_check_remembers_where_the_count_of_transactions_stood(world: World):
    """Samples outlive the process that took them: the next check compares with them."""
    check(world)
    check(world)
    [row] = world.arrange("SELECT detail FROM central.heartbeats WHERE name = 'vacuum_check:default'")
    [[at, position], *_] = row["detail"]["samples"]
    assert position > 0
    assert at.startswith("20")


def test_the_machine_asks_through_the_owners_function_and_sees_no_query(world: World):
    """The function is the machine's alone, and returns no text of a query."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        world.stores.cell("default").app.autocommit("SELECT * FROM cell.vacuum_holders()")
    with open_transaction(world, sql="SELECT count(*) FROM cell.posts"):
        rows = world.stores.cell("default").machine.autocommit("SELECT * FROM cell.vacuum_holders()")
    assert [row["kind"] for row in rows if "(somebody)" in row["name"]] == ["transaction"]
    assert "posts" not in str(rows)


def test_a_cell_that_is_down_neither_raises_nor_clears(
    world: World, monkeypatch: pytest.MonkeyPatch, logs: Any
):
    """It is logged; the other cells are checked."""
    real = world.stores.cell

    def cell(name: str) -> Any:
        if name == "away":
            raise psycopg.OperationalError("no route")
        return real(name)

    world.arrange("INSERT INTO central.alarms (key, message) VALUES ('oldest_xmin:away', 'stays')")
    monkeypatch.setattr(world.stores, "cell_names", lambda: ["away", "default"])
    monkeypatch.setattr(world.stores, "cell", cell)
    assert list(VacuumCheck(stores=world.stores, held_seconds=600.0).check()) == ["default"]
    assert world.alarms() == ["stays"]
    assert [entry["cell"] for entry in logs.entries if entry["event"] == "vacuum_check_missed"] == ["away"]
