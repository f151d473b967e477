"""`socialq webhook add|list|disable`: who is told of what becomes of an agency's posts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from socialq.cli.client import tenant_option
from socialq.cli.opening import actor, opened
from socialq.cli.output import cell, json_option, print_json, show, table

if TYPE_CHECKING:
    from uuid import UUID


@click.group(name="webhook")
def command() -> None:
    """Webhooks of an agency."""


@command.command("add")
@click.argument("url")
@tenant_option
@click.option(
    "--event", "events", multiple=True, help="Only this event, e.g. post.published; may be repeated."
)
@json_option
def add(*, url: str, tenant: str, events: tuple[str, ...], as_json: bool) -> None:
    """Tell URL (https://) of events, by POST. Prints the secret of its signatures, once."""
    from socialq.desk import tenants, webhooks

    with opened(require=("database", "encryption_key")) as wiring:
        made = webhooks.add(
            wiring.stores,
            wiring.vault,
            tenant=tenants.find(wiring.stores, tenant).id,
            url=url,
            events=events,
            plain_http=wiring.settings.allow_private_addresses,
            actor=actor(),
        )
    if as_json:
        print_json(made)
        return
    click.echo(f"Webhook {made.id} on {made.host} is told of {', '.join(made.events) or 'every event'}.")
    click.echo(f"secret: {made.secret}")
    click.echo(
        "Keep it: it is not shown again. Each POST is signed with it, in the header Socialq-Signature.",
        err=True,
    )


@command.command("list")
@tenant_option
@json_option
def list_all(*, tenant: str, as_json: bool) -> None:
    """List webhooks, and how what they are told of stands."""
    from socialq.desk import tenants, webhooks

    with opened() as wiring:
        found = webhooks.list_all(wiring.stores, tenant=tenants.find(wiring.stores, tenant).id)
    if as_json:
        print_json(found)
        return
    built = table("id!", "host", "events", "delivered", "waiting", "given up", "last failure")
    for row in found:
        off = " (off)" if row["disabled_at"] is not None else ""
        counts = (str(row["delivered"]), str(row["waiting"]), str(row["given_up"]))
        built.add_row(
            str(row["id"]),
            cell(row["host"] + off),
            ", ".join(row["events"]) or "all",
            *counts,
            cell(row["last_failure"]),
        )
    show(built, empty="There is no webhook.")


@command.command("disable")
@click.argument("webhook_id", type=click.UUID, metavar="WEBHOOK")
@tenant_option
@json_option
def disable(*, webhook_id: UUID, tenant: str, as_json: bool) -> None:
    """Switch a webhook off: it is told of nothing more."""
    from socialq.desk import tenants, webhooks

    with opened() as wiring:
        owner = tenants.find(wiring.stores, tenant).id
        webhooks.disable(wiring.stores, tenant=owner, webhook_id=webhook_id, actor=actor())
    if as_json:
        print_json({"webhook_id": webhook_id, "disabled": True})
    else:
        click.echo(f"Webhook {webhook_id} is off.")
