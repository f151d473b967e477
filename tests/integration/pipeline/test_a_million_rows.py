"""With a million rows of the future, what is due costs what it cost without them: pages, not milliseconds.

The rows are written as the database's owner, past triggers and foreign keys, with the indexes made afterwards:
some fifteen seconds for both tables, once for all tests here.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from socialq.store.cell import claims, work
from socialq.store.central import dispatch_index, dispatch_pick
from socialq.store.stores import Stores
from tests.fixtures_database import _administer, _url_of
from tests.integration.pipeline.conftest import _LET_THE_OWNER_ARRANGE
from tests.integration.pipeline.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.store.sessions import Database

ROWS = 1_000_000
_AT_ONCE = 100_000
DUE = 20

_INDEX_ROWS = """
INSERT INTO central.publish_dispatch_index
    (target_id, tenant_id, cell, account_id, platform, seq, kind, due_at, ready_at, status)
SELECT id, lpad(to_hex(n %% 2000), 32, '0')::uuid, 'default', id, 'mastodon', 1, 'publish', at, at, 'pending'
FROM (SELECT n, lpad(to_hex(n), 32, '0')::uuid AS id, now() + n * interval '1 s' AS at
      FROM generate_series(%(first)s, %(last)s) n) s
"""

_TARGETS = """
INSERT INTO cell.post_targets
    (tenant_id, id, post_id, account_id, platform, version_id, status, seq, next_kind, next_at, publish_at, publish_by)
SELECT lpad(to_hex(n %% 2000), 32, '0')::uuid, id, id, id, 'mastodon', id, 'scheduled', 1, 'publish', at, at,
       at + interval '1 day'
FROM (SELECT n, lpad(to_hex(n), 32, '0')::uuid AS id, now() + n * interval '1 s' AS at
      FROM generate_series(%(first)s, %(last)s) n) s
"""


@pytest.fixture(scope="module")
def crowded(postgres_server: str, template_database: str) -> Iterator[World]:
    """A world among a million rows of the future in the dispatch index and as many in the cell."""
    name = f"socialq_test_{secrets.token_hex(6)}"
    with _administer(postgres_server) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                sql.Identifier(name), sql.Identifier(template_database)
            )
        )
    url = _url_of(postgres_server, name)
    stores = Stores(
        central_url=url,
        decrypt_cell_url=lambda _cell, value: value,
        pool_size=4,
        application_name="socialq-tests",
    )
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as owner:
        owner.execute(_LET_THE_OWNER_ARRANGE)
        fill(owner, "central", "publish_dispatch_index", _INDEX_ROWS)
        fill(owner, "cell", "post_targets", _TARGETS)
        yield World(stores, url, owner)
        stores.dispose()
    with _administer(postgres_server) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def fill(owner: psycopg.Connection[dict[str, Any]], schema: str, table: str, rows: str) -> None:
    """Write a million rows into a table: its plain indexes come afterwards."""
    indexes = owner.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = %s AND tablename = %s AND NOT EXISTS"
        " (SELECT FROM pg_constraint WHERE conname = indexname)",
        (schema, table),
    ).fetchall()
    place = sql.Identifier(schema, table)
    foreign_keys = owner.execute(
        "SELECT conname, pg_get_constraintdef(oid) AS text FROM pg_constraint"
        " WHERE conrelid = %s::regclass AND contype = 'f'",
        (f"{schema}.{table}",),
    ).fetchall()
    owner.execute("SET maintenance_work_mem = '256MB'")
    owner.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(place))
    for key in foreign_keys:
        owner.execute(
            sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(place, sql.Identifier(key["conname"]))
        )
    for index in indexes:
        owner.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(schema, index["indexname"])))
    # A transaction each: events of other tests' databases wait for the oldest one on the server.
    for first in range(60, 60 + ROWS, _AT_ONCE):
        owner.execute(rows, {"first": first, "last": first + _AT_ONCE - 1})
    for index in indexes:
        owner.execute(index["indexdef"])
    for key in foreign_keys:
        owner.execute(
            sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} {} NOT VALID").format(
                place, sql.Identifier(key["conname"]), sql.SQL(key["text"])
            )
        )
    owner.execute(sql.SQL("ALTER TABLE {} ENABLE TRIGGER USER").format(place))
    owner.execute(sql.SQL("ANALYZE {}").format(place))


def explained(database: Database, statement: tuple[str, Any], **scope: Any) -> dict[str, Any]:
    """Run a statement and say what it touched; its transaction is undone."""
    text, params = statement

    class UndoneError(Exception):
        pass

    plan: dict[str, Any] = {}
    try:
        with database.transaction(**scope) as session:
            row = session.one(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {text}", params)
            assert row is not None
            said = row["QUERY PLAN"]
            plan = (json.loads(said) if isinstance(said, str) else said)[0]["Plan"]
            raise UndoneError
    except UndoneError:
        return plan


def check(plan: dict[str, Any], table: str, *, most_pages: int) -> None:
    """It touched few pages, and read no table from end to end."""
    pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    assert pages < most_pages, f"{pages} pages: {json.dumps(plan)[:3000]}"
    assert not scans(plan, table), json.dumps(plan)[:3000]


def scans(plan: dict[str, Any], table: str) -> bool:
    """Whether a plan reads a table from end to end."""
    here = plan["Node Type"] == "Seq Scan" and plan.get("Relation Name") == table
    return here or any(scans(child, table) for child in plan.get("Plans", ()))


def test_a_pick_among_a_million(crowded: World):
    """Twenty rows are due: picking them, and asking for the next, touches them and not what waits."""
    for _ in range(DUE):
        crowded.post(account=crowded.new_account())
    while crowded.relay().scan():
        pass
    pick = dispatch_pick.pick(
        lane="main",
        limit=200,
        scan=1000,
        max_enqueued=2000,
        tenant_cap=1000,
        slow_cap=24,
        resend_seconds=15.0,
    )
    central = crowded.stores.central
    check(explained(central, pick), "publish_dispatch_index", most_pages=1500)
    check(explained(central, dispatch_pick.next_ready(lane="main")), "publish_dispatch_index", most_pages=15)
    crowded.dispatcher().scan()
    assert len(crowded.queue.take()) == DUE


def test_a_claim_and_what_is_around_it_among_a_million(crowded: World):
    """Loading, claiming and finishing one target touch its rows and a page or two of each index."""
    target = crowded.post(account=crowded.new_account())
    app = crowded.stores.cell("default").app
    scope = {"tenant": crowded.tenant, "actor": "test"}
    check(explained(app, work.load(target), **scope), "post_targets", most_pages=60)
    *_, claim = claims.claim(crowded.request(target, mark=True))
    check(explained(app, claim, **scope), "post_targets", most_pages=250)
    while crowded.relay().scan():
        pass
    assert crowded.publish(target) == "published"
    moved = crowded.targets.load(crowded.tenant, target)
    assert moved is not None
    repair = dispatch_index.repair(
        target_id=target, seq=99, message_seq=99, kind=None, due_at=None, publish_by=None
    )
    check(explained(crowded.stores.central, repair), "publish_dispatch_index", most_pages=80)


def test_a_sweep_among_a_million(crowded: World):
    """What is over is found by its index, however much is not over yet."""
    machine = crowded.stores.cell("default").machine
    from socialq.store import machine_store

    for statement in (machine_store._ENDED_LEASES, machine_store._PAST_PUBLISH_BY):
        check(explained(machine, (statement, {"limit": 500})), "post_targets", most_pages=60)
