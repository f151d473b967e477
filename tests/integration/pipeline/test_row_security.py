"""Row security: no tenant's query can touch another's rows, and the machine sees no more than it needs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from socialq.domain.ids import new_id
from socialq.store.sessions import ROLE_APP, ROLE_CENTRAL, ROLE_MACHINE, Database
from socialq.store.stores import Stores
from tests import factories
from tests.integration.pipeline.racing import race

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from tests.integration.pipeline.world import World

TABLES = (
    "SELECT table_name FROM information_schema.tables"
    " WHERE table_schema = 'cell' AND table_type = 'BASE TABLE' AND table_name <> 'alembic_version'"
    " ORDER BY table_name"
)


@pytest.fixture
def two(world: World) -> tuple[UUID, UUID]:
    """Two tenants, each with a row in every table of the cell."""
    other = factories.make_tenant(world.stores)
    for tenant in (world.tenant, other):
        client = factories.make_client(world.stores, tenant)
        account = factories.make_account(world.stores, tenant, client)
        made = factories.make_post(
            world.stores,
            tenant,
            client,
            [account],
            part_columns={"remote_id": f"r-{tenant}", "accepted_at": "now"},
        )
        _fill(world, tenant, client, account, made)
    return world.tenant, other


def _fill(world: World, tenant: UUID, client: UUID, account: UUID, made: Any) -> None:
    given = {
        "tenant": tenant,
        "client": client,
        "account": account,
        "target": made.target_id,
        "version": made.version_id,
        "id": new_id(),
        "key": str(new_id()),
    }
    for table in [row["table_name"] for row in world.arrange(TABLES)]:
        statement = {
            "media": "INSERT INTO cell.media (tenant_id, id, client_id, file_name, storage_key, mime_type, byte_size,"
            " sha256, status) VALUES (%(tenant)s, %(id)s, %(client)s, 'a', 'k', 'image/png', 1, 'x', 'ready')",
            "media_variants": "INSERT INTO cell.media_variants (tenant_id, media_id, recipe, problem)"
            " VALUES (%(tenant)s, %(id)s, 'clean', 'none')",
            "approvals": "INSERT INTO cell.approvals (tenant_id, version_id, client_id, content_hash, approved_by)"
            " VALUES (%(tenant)s, %(version)s, %(client)s, 'x', 't')",
            "post_schedules": "INSERT INTO cell.post_schedules (tenant_id, target_id, seq, publish_at, local_time,"
            " time_zone, scheduled_by) VALUES (%(tenant)s, %(target)s, 1, now(), now()::timestamp, 'UTC', 't')",
            "publishing_attempts": "INSERT INTO cell.publishing_attempts (tenant_id, target_id, attempt_no,"
            " idempotency_key, token, state, worker, part_no, due_at, claimed_at, finished_at) VALUES (%(tenant)s,"
            " %(target)s, 1, %(key)s, %(id)s, 'accepted', 'w', 1, now(), now(), now())",
            "publications": "INSERT INTO cell.publications (tenant_id, publication_key, target_id, version_id,"
            " key_instant, remote_id, published_at) VALUES (%(tenant)s, %(key)s, %(target)s, %(version)s, now(),"
            " 'r', now())",
            "sightings": "INSERT INTO cell.sightings (tenant_id, account_id, remote_id, target_id, part_no, source,"
            " first_seen_at) VALUES (%(tenant)s, %(account)s, 'r', %(target)s, 1, 'answer', now())",
            "takedowns": "INSERT INTO cell.takedowns (tenant_id, id, target_id, part_no, remote_id, asked_by, reason)"
            " VALUES (%(tenant)s, %(id)s, %(target)s, 1, 'r', 't', 'r')",
            "webhook_deliveries": "WITH hook AS (INSERT INTO cell.webhooks (tenant_id, id, url, secret, host,"
            " created_by) VALUES (%(tenant)s, %(id)s, 'u', 's', 'h', 't') RETURNING id) INSERT INTO"
            " cell.webhook_deliveries (tenant_id, webhook_id, event, event_key, history_id, target_id, post_id,"
            " happened_at) SELECT %(tenant)s, id, 'e', 'k', 1, %(target)s, %(id)s, now() FROM hook",
        }.get(table)
        if statement is not None:
            world.arrange(statement, **given)


def tables(world: World) -> list[str]:
    return [row["table_name"] for row in world.arrange(TABLES)]


@pytest.mark.usefixtures("two")
def test_every_table_has_rows_of_two_tenants_in_these_tests(world: World):
    """The loops below look at something: no table is empty, none has one tenant only."""
    for table in tables(world):
        rows = world.arrange(f"SELECT count(DISTINCT tenant_id) AS n FROM cell.{table}")
        assert rows[0]["n"] == 2, f"make a row of {table} in `_fill`"


@pytest.mark.usefixtures("two")
def test_without_a_tenant_nothing_is_seen_and_nothing_is_written(world: World):
    """A query that forgot its tenant reads no row and changes none, in any table."""
    app = world.stores.cell("default").app
    for table in tables(world):
        with app.transaction() as session:
            assert session.all(f"SELECT tenant_id FROM cell.{table}") == []
        [rows] = app.pipelined((f"SELECT tenant_id FROM cell.{table}", {}))
        assert rows == []
        assert app.autocommit(f"SELECT tenant_id FROM cell.{table}") == []


def test_no_tenant_sees_anothers_rows_in_any_table(world: World, two: tuple[UUID, UUID]):
    """Each tenant reads its own rows and only those, by both kinds of transaction."""
    app = world.stores.cell("default").app
    for tenant in two:
        for table in tables(world):
            with app.transaction(tenant=tenant) as session:
                seen = {row["tenant_id"] for row in session.all(f"SELECT tenant_id FROM cell.{table}")}
            assert seen == {tenant}, table
            [rows] = app.pipelined((f"SELECT tenant_id FROM cell.{table}", {}), tenant=tenant)
            assert {row["tenant_id"] for row in rows} == {tenant}, table


def test_no_tenant_changes_or_deletes_anothers_rows(world: World, two: tuple[UUID, UUID]):
    """An update or delete of everything touches one tenant's rows at most, or is not allowed at all."""
    ours, theirs = two
    app = world.stores.cell("default").app
    for table in tables(world):
        for sql in (
            f"UPDATE cell.{table} SET tenant_id = tenant_id WHERE tenant_id = %(theirs)s",
            f"DELETE FROM cell.{table} WHERE tenant_id = %(theirs)s",
        ):
            try:
                with app.transaction(tenant=ours) as session:
                    assert session.run(sql, {"theirs": theirs}) == 0, sql
            except psycopg.errors.InsufficientPrivilege:
                pass
        assert world.arrange(f"SELECT 1 FROM cell.{table} WHERE tenant_id = %(t)s", t=theirs)


def test_a_row_of_another_tenant_cannot_be_written(world: World, two: tuple[UUID, UUID]):
    """Neither inserting for another tenant nor giving a row away passes row security, in any table."""
    ours, theirs = two
    app = world.stores.cell("default").app
    for table in tables(world):
        columns = world.arrange(
            "SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) AS names"
            " FROM information_schema.columns WHERE table_schema = 'cell' AND table_name = %(table)s"
            " AND is_identity = 'NO' AND is_generated = 'NEVER' AND column_name <> 'tenant_id'",
            table=table,
        )[0]["names"]
        picked = columns and f"SELECT %(theirs)s::uuid, {columns} FROM cell.{table} LIMIT 1"
        names = f"tenant_id, {columns}" if columns else "tenant_id"
        with (
            pytest.raises(psycopg.errors.InsufficientPrivilege) as refused,
            app.transaction(tenant=ours) as session,
        ):
            session.run(f"INSERT INTO cell.{table} ({names}) {picked}", {"theirs": theirs})
        assert "row-level security" in str(refused.value), table
        with pytest.raises(psycopg.errors.InsufficientPrivilege), app.transaction(tenant=ours) as session:
            session.run(f"UPDATE cell.{table} SET tenant_id = %(theirs)s", {"theirs": theirs})


def test_a_row_cannot_point_at_another_tenants_row(world: World, two: tuple[UUID, UUID]):
    """Foreign keys carry the tenant: a target on another tenant's account is refused."""
    ours, theirs = two
    account = world.arrange("SELECT id FROM cell.accounts WHERE tenant_id = %(t)s LIMIT 1", t=theirs)[0]["id"]
    with (
        pytest.raises(psycopg.errors.ForeignKeyViolation),
        world.stores.cell("default").app.transaction(tenant=ours) as session,
    ):
        session.run("UPDATE cell.post_targets SET account_id = %(account)s", {"account": account})


@pytest.fixture
def one_connection(pipeline_database: str) -> Iterator[Stores]:
    """Stores whose every pool has a single connection."""
    stores = Stores(central_url=pipeline_database, decrypt_cell_url=lambda _cell, value: value, pool_size=1)
    for database in (stores.cell("default").app, stores.cell("default").machine):
        database._pool._max_overflow = 0
    yield stores
    stores.dispose()


def test_tenants_that_share_one_connection_do_not_meet(one_connection: Stores, two: tuple[UUID, UUID]):
    """Whatever was set for the tenant before, by whatever kind of transaction, is gone."""
    app = one_connection.cell("default").app
    query = ("SELECT DISTINCT tenant_id, pg_backend_pid() AS pid FROM cell.post_targets", {})
    pids = set()
    for _ in range(3):
        for tenant in two:
            with app.transaction(tenant=tenant) as session:
                rows = session.all(*query)
            [more] = app.pipelined(query, tenant=two[0] if tenant is two[1] else two[1])
            with app.transaction() as session:
                assert session.all(*query) == []
            assert app.autocommit(*query) == []
            assert [row["tenant_id"] for row in rows] == [tenant]
            assert [row["tenant_id"] for row in more] == [two[0] if tenant is two[1] else two[1]]
            pids |= {row["pid"] for row in [*rows, *more]}
    assert len(pids) == 1


def test_a_failed_transaction_leaves_no_tenant_on_its_connection(
    one_connection: Stores, two: tuple[UUID, UUID]
):
    """After an error, in either kind of transaction, the connection sees nothing."""
    app = one_connection.cell("default").app
    query = ("SELECT tenant_id FROM cell.post_targets", {})
    with pytest.raises(psycopg.errors.DivisionByZero), app.transaction(tenant=two[0]) as session:
        session.all("SELECT 1/0")
    assert app.autocommit(*query) == []
    with pytest.raises(psycopg.errors.DivisionByZero):
        app.pipelined(("SELECT 1/0", {}), tenant=two[0])
    assert app.autocommit(*query) == []
    [rows] = app.pipelined(query, tenant=two[1])
    assert [row["tenant_id"] for row in rows] == [two[1]]


def test_a_pipelined_transaction_is_all_or_nothing(one_connection: Stores, two: tuple[UUID, UUID]):
    """What stood before a failing statement in the same pipeline is not kept."""
    app = one_connection.cell("default").app
    change = ("UPDATE cell.accounts SET display_name = 'changed'", {})
    with pytest.raises(psycopg.errors.DivisionByZero):
        app.pipelined(change, ("SELECT 1/0", {}), tenant=two[0])
    [rows] = app.pipelined(("SELECT 1 FROM cell.accounts WHERE display_name = 'changed'", {}), tenant=two[0])
    assert rows == []


def test_threads_of_two_tenants_see_their_own_rows_only(world: World, two: tuple[UUID, UUID]):
    """Many short transactions of two tenants on a few shared connections: never a row of the other."""
    app = world.stores.cell("default").app
    wrong: list[object] = []
    stop = threading.Event()

    def read(tenant: UUID) -> None:
        for number in range(60):
            if stop.is_set():
                return
            if number % 2:
                [rows] = app.pipelined(("SELECT tenant_id FROM cell.post_targets", {}), tenant=tenant)
            else:
                with app.transaction(tenant=tenant) as session:
                    rows = session.all("SELECT tenant_id FROM cell.post_targets")
            if [row["tenant_id"] for row in rows] != [tenant]:
                wrong.append(rows)
                stop.set()

    results = race(*[lambda tenant=tenant: read(tenant) for tenant in two * 3])
    assert not [result for result in results if isinstance(result, Exception)]
    assert wrong == []


@pytest.mark.parametrize(
    "secret",
    [
        "SELECT content FROM cell.post_versions",
        "SELECT access_token FROM cell.accounts",
        "SELECT refresh_token FROM cell.accounts",
        "SELECT handle FROM cell.accounts",
        "SELECT remote_id FROM cell.target_parts",
        "SELECT permalink FROM cell.target_parts",
        "SELECT prepared FROM cell.target_parts",
        "SELECT * FROM cell.target_parts",
        "SELECT * FROM cell.sightings",
        "SELECT remote_id FROM cell.sightings",
        "SELECT url FROM cell.webhooks",
        "SELECT secret FROM cell.webhooks",
        "SELECT * FROM cell.publications",
        "SELECT * FROM cell.media",
        "SELECT * FROM cell.posts",
        "SELECT * FROM cell.clients",
        "SELECT detail FROM cell.target_history",
        "SELECT message FROM cell.publishing_attempts",
        "SELECT name FROM cell.tenant_state",
        "UPDATE cell.post_targets SET version_id = version_id",
        "UPDATE cell.post_targets SET tenant_id = tenant_id",
        "UPDATE cell.post_targets SET published_at = now()",
        "UPDATE cell.target_parts SET remote_id = 'x'",
        "UPDATE cell.accounts SET status = 'active'",
        "DELETE FROM cell.post_targets",
        "INSERT INTO cell.post_targets DEFAULT VALUES",
        "SELECT * FROM central.tenants",
    ],
)
@pytest.mark.usefixtures("two")
def test_the_machine_cannot_read_what_people_wrote_nor_what_platforms_gave(world: World, secret: str):
    """Relay and sweep see scheduling columns, nothing else: no text, no token, no remote id."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        world.stores.cell("default").machine.autocommit(secret)


@pytest.mark.usefixtures("two")
def test_the_machine_sees_scheduling_of_every_tenant(world: World):
    """That is what relay and sweep are for."""
    for table in ("post_targets", "outbox_events", "target_parts"):
        rows = world.stores.cell("default").machine.autocommit(f"SELECT DISTINCT tenant_id FROM cell.{table}")
        assert len(rows) == 2


def test_the_machine_deletes_nothing_that_is_not_relayed(world: World, two: tuple[UUID, UUID]):
    """Pruning the outbox can't lose an event: what waits stays, whatever the statement says."""
    machine = world.stores.cell("default").machine
    world.arrange("UPDATE cell.outbox_events SET relayed_at = now() WHERE tenant_id = %(t)s", t=two[0])
    machine.autocommit("DELETE FROM cell.outbox_events")
    left = world.arrange("SELECT DISTINCT tenant_id FROM cell.outbox_events WHERE relayed_at IS NULL")
    assert [row["tenant_id"] for row in left] == [two[1]]


@pytest.mark.parametrize("role", [ROLE_APP, ROLE_MACHINE, ROLE_CENTRAL])
def test_the_runtime_roles_cannot_bypass_row_security(world: World, role: str):
    """No runtime role is a superuser, may bypass row security, log in, or make roles and databases."""
    [row] = world.arrange(
        "SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb, rolinherit FROM pg_roles"
        " WHERE rolname = %(role)s",
        role=role,
    )
    assert set(row.values()) == {False}
    owned = world.arrange(
        "SELECT relname FROM pg_class WHERE relowner = (SELECT oid FROM pg_roles WHERE rolname = %(role)s)",
        role=role,
    )
    assert owned == []


def test_every_connection_runs_as_its_role(world: World):
    """Pooled and direct connections alike, before anything is asked of them."""
    for database, role in (
        (world.stores.cell("default").app, ROLE_APP),
        (world.stores.cell("default").machine, ROLE_MACHINE),
        (world.stores.central, ROLE_CENTRAL),
    ):
        assert database.autocommit("SELECT current_user AS role") == [{"role": role}]
        with database.connect() as connection:
            assert connection.execute("SELECT current_user AS role").fetchall() == [{"role": role}]


def test_row_security_is_forced_on_every_table_of_the_cell(world: World):
    """A table that somebody adds without it is found here."""
    rows = world.arrange(
        "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'cell' AND c.relkind IN ('r', 'p') AND relname <> 'alembic_version'"
        " AND NOT (relrowsecurity AND relforcerowsecurity)"
    )
    assert rows == []
    assert len(tables(world)) >= 15


def test_every_policy_of_the_app_asks_for_the_tenant(world: World):
    """Each table has exactly one policy for the app, for reading and for writing."""
    policies = world.arrange(
        "SELECT tablename, qual, with_check FROM pg_policies WHERE schemaname = 'cell' AND 'socialq_app' = ANY (roles)"
    )
    assert sorted(row["tablename"] for row in policies) == tables(world)
    for row in policies:
        for condition in (row["qual"], row["with_check"]):
            assert "tenant_id = " in condition
            assert "socialq.tenant" in condition


def test_every_view_of_the_cell_is_seen_with_the_readers_rights(world: World):
    """A view that ran with its owner's rights would show every tenant's rows."""
    views = world.arrange(
        "SELECT relname, reloptions FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'cell' AND c.relkind = 'v'"
    )
    assert views
    for view in views:
        assert "security_invoker=true" in (view["reloptions"] or []), view["relname"]


def test_what_is_a_record_cannot_be_rewritten_by_the_app(world: World, two: tuple[UUID, UUID]):
    """History, versions, approvals and publications are added to, never changed; nothing is deleted."""
    app = world.stores.cell("default").app
    for table in ("target_history", "post_versions", "approvals", "publications"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), app.transaction(tenant=two[0]) as session:
            session.run(f"UPDATE cell.{table} SET tenant_id = tenant_id")
    for table in tables(world):
        # Only a tenant that has nothing yet may leave: foreign keys keep one that has.
        refused_by = (
            psycopg.errors.ForeignKeyViolation
            if table == "tenant_state"
            else psycopg.errors.InsufficientPrivilege
        )
        with pytest.raises(refused_by), app.transaction(tenant=two[0]) as session:
            session.run(f"DELETE FROM cell.{table}")


def test_the_app_sees_nothing_of_the_central_database(world: World):
    """Where cell and central share a database, the tenant role has no way into the central tables."""
    for table in ("tenants", "publish_dispatch_index", "cells"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            world.stores.cell("default").app.autocommit(f"SELECT * FROM central.{table}")


def test_a_login_that_is_no_member_gets_no_role(world: World):
    """The role is taken at the start of the connection, so a wrong one fails before any query."""
    database = Database(world.url, role="socialq_nobody")
    with pytest.raises(psycopg.OperationalError):
        database.connect()
