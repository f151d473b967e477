"""Agencies and their clients: added, found, suspended, resumed."""

from __future__ import annotations

import pytest

from socialq.desk import clients, tenants
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from tests.factories import rows


def _states(stores, tenant):
    return rows(stores, tenant, "SELECT name, status, suspended_at, monthly_limit FROM cell.tenant_state")


def test_a_tenant_stands_centrally_and_in_its_cell(stores):
    """Adding a tenant writes both databases, with the same id and limit."""
    made = tenants.add(stores, name="north", monthly_limit=300, actor="test")
    assert tenants.find(stores, "north") == tenants.find(stores, str(made.id)) == made
    assert [(row["name"], row["monthly_limit"]) for row in _states(stores, made.id)] == [("north", 300)]
    assert [tenant.name for tenant in tenants.list_all(stores)] == ["north"]


@pytest.mark.parametrize("name", ["", "North", "a b", "-x", "ü", "x" * 64, "a\nb"])
def test_a_name_that_is_no_tenant_name_is_refused(stores, name):
    """The refusal names the field and says what a name may be."""
    with pytest.raises(InputRefused, match="is not a name for a tenant; take a to z"):
        tenants.add(stores, name=name, actor="test")
    assert tenants.list_all(stores) == []


def test_a_taken_name_and_an_unknown_cell_are_refused(stores):
    """Neither leaves a row behind in the cell."""
    made = tenants.add(stores, name="north", actor="test")
    with pytest.raises(InputRefused, match="belongs to another tenant"):
        tenants.add(stores, name="north", actor="test")
    with pytest.raises(InputRefused, match="no such cell; choose one of default"):
        tenants.add(stores, name="south", cell="moon", actor="test")
    assert [tenant.id for tenant in tenants.list_all(stores)] == [made.id]
    in_cell = stores.cell("default").machine.autocommit("SELECT tenant_id FROM cell.tenant_state")
    assert in_cell == [{"tenant_id": made.id}]


def test_suspending_reaches_the_cell_and_can_be_repeated(stores):
    """The moment of suspension is the same in both databases and survives a second call."""
    made = tenants.add(stores, name="north", actor="test")
    first = tenants.suspend(stores, tenant=made.id, reason="unpaid", actor="test")
    second = tenants.suspend(stores, tenant=made.id, reason="unpaid", actor="test")
    (state,) = _states(stores, made.id)
    assert first.status == state["status"] == "suspended"
    assert first.suspended_at == second.suspended_at == state["suspended_at"]
    assert first.suspended_at is not None


def test_a_suspension_that_reached_only_the_cell_is_completed_by_repeating_it(stores):
    """The cell is written first; the second call finishes what a crash in between left."""
    made = tenants.add(stores, name="north", actor="test")
    with stores.cell("default").app.transaction(tenant=made.id) as session:
        session.run("UPDATE cell.tenant_state SET status = 'suspended', suspended_at = now()")
    assert tenants.find(stores, "north").status == "active"
    after = tenants.suspend(stores, tenant=made.id, reason="unpaid", actor="test")
    assert (after.status, after.suspended_at) == ("suspended", _states(stores, made.id)[0]["suspended_at"])


def test_resuming_makes_a_tenant_active_in_both_databases(stores):
    """No trace of the suspension stays."""
    made = tenants.add(stores, name="north", actor="test")
    tenants.suspend(stores, tenant=made.id, reason="unpaid", actor="test")
    assert tenants.resume(stores, tenant=made.id, actor="test") == made
    (state,) = _states(stores, made.id)
    assert (state["status"], state["suspended_at"]) == ("active", None)


def test_an_unknown_tenant_is_refused_without_naming_others(stores):
    """Other agencies' names are nobody's business."""
    tenants.add(stores, name="north", actor="test")
    with pytest.raises(InputRefused, match="there is no such tenant") as refused:
        tenants.find(stores, "south")
    assert "north" not in str(refused.value)
    for act in (
        lambda: tenants.suspend(stores, tenant=new_id(), reason="x", actor="test"),
        lambda: tenants.resume(stores, tenant=new_id(), actor="test"),
        lambda: clients.add(stores, tenant=new_id(), name="x", time_zone="UTC", actor="test"),
    ):
        with pytest.raises(InputRefused, match="there is no such tenant"):
            act()


def test_suspending_without_a_reason_is_refused(stores):
    """Whoever resumes the tenant must know why it was suspended."""
    made = tenants.add(stores, name="north", actor="test")
    with pytest.raises(InputRefused, match="there is no reason"):
        tenants.suspend(stores, tenant=made.id, reason=" ", actor="test")
    assert tenants.find(stores, "north").status == "active"


def test_a_client_is_found_by_name_and_id_and_its_zone_is_spelled_out(stores):
    """The zone is kept in its own spelling, whatever the case it was written in."""
    tenant = tenants.add(stores, name="north", actor="test").id
    made = clients.add(
        stores, tenant=tenant, name="  Blumen Müller ", time_zone="europe/berlin", actor="test"
    )
    assert (made.name, made.time_zone) == ("Blumen Müller", "Europe/Berlin")
    assert clients.find(stores, tenant=tenant, name_or_id="Blumen Müller") == made
    assert clients.find(stores, tenant=tenant, name_or_id=str(made.id)) == made


@pytest.mark.parametrize(
    ("name", "zone", "reason"),
    [
        ("", "UTC", "is not a name for a client"),
        ("a\nb", "UTC", "is not a name for a client"),
        ("x" * 121, "UTC", "is not a name for a client"),
        ("a\x00b", "UTC", "characters that nobody can see"),
        ("Flora", "Berlin", "did you mean Europe/Berlin"),
        ("Flora", "PST", "abbreviation"),
    ],
)
def test_a_bad_client_is_refused(stores, name, zone, reason):
    """Nothing is written."""
    tenant = tenants.add(stores, name="north", actor="test").id
    with pytest.raises(InputRefused, match=reason):
        clients.add(stores, tenant=tenant, name=name, time_zone=zone, actor="test")
    assert rows(stores, tenant, "SELECT 1 FROM cell.clients") == []


def test_two_tenants_may_have_clients_of_one_name_and_one_tenant_may_not(stores):
    """Names are unique within a tenant; another tenant's client can't be found."""
    north = tenants.add(stores, name="north", actor="test").id
    south = tenants.add(stores, name="south", actor="test").id
    made = clients.add(stores, tenant=north, name="Flora", time_zone="UTC", actor="test")
    clients.add(stores, tenant=south, name="Flora", time_zone="UTC", actor="test")
    with pytest.raises(InputRefused, match="belongs to another client of this tenant"):
        clients.add(stores, tenant=north, name="Flora", time_zone="UTC", actor="test")
    with pytest.raises(InputRefused, match="no such client; choose one of Flora"):
        clients.find(stores, tenant=south, name_or_id=str(made.id))
