"""The fixtures themselves: what other tests take for granted."""

from __future__ import annotations

from tests.factories import make_account, make_client, make_post, make_tenant, read_target, rows


def test_a_made_post_is_scheduled_and_has_its_event(stores):
    """`make_post` leaves a scheduled target with its part and its outbox event."""
    tenant = make_tenant(stores)
    client = make_client(stores, tenant)
    made = make_post(stores, tenant, client, [make_account(stores, tenant, client)], texts=["one", "two"])
    assert read_target(stores, tenant, made.target_id)["status"] == "scheduled"
    assert len(rows(stores, tenant, "SELECT 1 FROM cell.target_parts")) == 2
    assert [row["seq"] for row in rows(stores, tenant, "SELECT seq FROM cell.outbox_events")] == [1]


def test_each_test_has_a_database_of_its_own(stores):
    """Nothing of the test above is here."""
    with stores.central.transaction() as session:
        assert session.all("SELECT 1 FROM central.tenants") == []
