"""`socialq client add|list`."""

from __future__ import annotations

import click

from socialq.cli.opening import actor, opened
from socialq.cli.output import cell, json_option, print_json, show, table

tenant_option = click.option("--tenant", required=True, help="Name or id of the agency.")


@click.group(name="client")
def command() -> None:
    """Brands of an agency."""


@command.command("add")
@click.argument("name")
@tenant_option
@click.option(
    "--time-zone",
    "--tz",
    default="UTC",
    show_default=True,
    help="IANA name: times without a zone are read in it.",
)
@json_option
def add(*, name: str, tenant: str, time_zone: str, as_json: bool) -> None:
    """Add a brand."""
    from socialq.desk import clients, tenants

    with opened() as wiring:
        agency = tenants.find(wiring.stores, tenant)
        made = clients.add(wiring.stores, tenant=agency.id, name=name, time_zone=time_zone, actor=actor())
    if as_json:
        print_json(made)
    else:
        click.echo(
            f"Added client {made.name} of {agency.name}, on the clocks of {made.time_zone} ({made.id})."
        )


@command.command("list")
@tenant_option
@json_option
def list_all(*, tenant: str, as_json: bool) -> None:
    """List an agency's brands."""
    from socialq.desk import clients, tenants
    from socialq.store.cell import clients as table_of_clients

    with opened() as wiring:
        agency = tenants.find(wiring.stores, tenant)
        with wiring.stores.cell_of(agency.id).app.transaction(tenant=agency.id) as session:
            names = table_of_clients.names(session)
        found = [clients.find(wiring.stores, tenant=agency.id, name_or_id=name) for name in names]
    if as_json:
        print_json(found)
        return
    built = table("name", "time zone!", "since", "id!")
    for client in found:
        built.add_row(cell(client.name), client.time_zone, f"{client.created_at:%Y-%m-%d}", str(client.id))
    show(built, empty=f"{agency.name} has no client yet: `socialq client add NAME --tenant {agency.name}`.")
