"""No tenant touches another's rows: not by id, not through a shared connection, not without a tenant."""

from __future__ import annotations

import psycopg
import pytest

from socialq.desk.bulk_import import import_file
from socialq.desk.compose import create_post
from socialq.desk.resolve import cancel, mark_published, retry
from socialq.desk.schedule import reschedule, schedule, unschedule
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from socialq.store import views
from socialq.store.sessions import ROLE_APP, Database
from tests.integration.desk.conftest import NOW, at

TABLES = (
    "tenant_state",
    "clients",
    "accounts",
    "posts",
    "post_versions",
    "approvals",
    "post_targets",
    "post_schedules",
    "target_parts",
    "target_history",
    "outbox_events",
)


@pytest.fixture
def single(database_url):
    """The cell's database through a pool of exactly one connection."""
    database = Database(database_url, role=ROLE_APP, pool_size=1)
    yield database
    database.dispose()


def test_another_tenants_ids_are_refused_everywhere(stores, agency, other_agency, storage, tmp_path):
    """Each act says that there is no such thing, and changes nothing of the other's."""
    made = other_agency.plan()
    target_id = made.targets[0].id
    before = (other_agency.target(target_id), other_agency.everything())
    mine = {"tenant": agency.tenant, "actor": "test"}
    timed = {"target_ids": [target_id], "resolved": at("2027-03-05T09:00"), "now": NOW}
    acts = [
        lambda: schedule(stores, **mine, **timed),
        lambda: reschedule(stores, **mine, **timed),
        lambda: unschedule(stores, **mine, target_ids=[target_id]),
        lambda: cancel(stores, **mine, target_id=target_id, reason="x"),
        lambda: retry(stores, **mine, target_id=target_id, now=NOW),
        lambda: mark_published(stores, **mine, target_id=target_id, link_or_id="1", now=NOW),
        lambda: create_post(
            stores, **mine, client=other_agency.client, account_ids=agency.accounts, parts=[{"text": "x"}]
        ),
        lambda: create_post(
            stores, **mine, client=agency.client, account_ids=other_agency.accounts, parts=[{"text": "x"}]
        ),
        lambda: import_file(
            stores, storage, **mine, client=other_agency.client, data=b"", base_folder=tmp_path, now=NOW
        ),
    ]
    for act in acts:
        with pytest.raises(InputRefused, match="there is no such"):
            act()
    assert (other_agency.target(target_id), other_agency.everything()) == before
    assert agency.count("posts") == 0


def test_a_query_with_no_tenant_sees_nothing(stores, agency):
    """Forgetting to set the tenant shows no rows rather than all of them."""
    agency.plan()
    with stores.cell("default").app.transaction() as session:
        for table in TABLES:
            assert session.all(f"SELECT 1 FROM cell.{table}") == [], table
    assert all(agency.count(table) for table in TABLES)


def test_nothing_can_be_written_for_another_tenant(stores, agency, other_agency):
    """The database refuses the row, whatever the statement says."""
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        stores.cell("default").app.transaction(tenant=agency.tenant) as session,
    ):
        session.run(
            "INSERT INTO cell.clients (tenant_id, id, name, time_zone) VALUES (%(tenant)s, %(id)s, 'x', 'UTC')",
            {"tenant": other_agency.tenant, "id": new_id()},
        )


def test_two_tenants_interleaved_on_one_connection_see_their_own(single, agency, other_agency):
    """The tenant is set for a transaction, so nothing of it is left on the pooled connection."""
    agency.plan(), agency.plan(texts=("Other",))
    other_agency.plan()
    pids = set()
    for tenant, expected in [(agency, 2), (other_agency, 1), (None, 0)] * 3:
        with single.transaction(tenant=tenant and tenant.tenant) as session:
            pids.add(session.one("SELECT pg_backend_pid() AS pid")["pid"])
            assert session.one("SELECT count(*) AS n FROM cell.posts")["n"] == expected
            assert len(views.list_targets(session)) == expected
        assert (
            len(single.pipelined(("SELECT 1 FROM cell.posts", {}), tenant=tenant and tenant.tenant)[0])
            == expected
        )
    assert len(pids) == 1


def test_a_failed_transaction_leaves_no_tenant_behind(single, agency):
    """An error in the middle is rolled back with its setting."""
    agency.plan()
    with pytest.raises(psycopg.errors.DivisionByZero), single.transaction(tenant=agency.tenant) as session:
        session.one("SELECT 1 / 0")
    with single.transaction() as session:
        assert session.all("SELECT 1 FROM cell.posts") == []
