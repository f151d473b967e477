"""`socialq post create|show`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from socialq.cli.client import tenant_option
from socialq.cli.naming import chosen_accounts, owner_of
from socialq.cli.opening import actor, opened
from socialq.cli.output import cell, console, iso, json_option, minute, print_json, status, table
from socialq.cli.writing import refuse_content, stored, written_text
from socialq.domain.errors import InputProblem, InputRefused

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.view_rows import PostView


@click.group(name="post")
def command() -> None:
    """Posts."""


@command.command("create")
@tenant_option
@click.option("--client", required=True, help="Name or id of the brand.")
@click.option("--accounts", required=True, help="Accounts with commas between: names or ids.")
@click.option("--text", help="The text; a line of three dashes divides it into a thread.")
@click.option(
    "--file",
    "text_file",
    type=click.File(encoding="utf-8"),
    help="Read the text from a file; - for standard input.",
)
@click.option(
    "--at", required=True, metavar="TIME", help="now, or 2027-03-22T09:00, with or without an offset."
)
@click.option("--tz", "zone", help="IANA zone of the time; without one the client's.")
@click.option("--media", multiple=True, type=click.Path(path_type=Path), help="An image; may be repeated.")
@click.option(
    "--alt", multiple=True, help="What the image shows, for those who can't see it; one for each --media."
)
@click.option("--label", "labels", multiple=True, help="A label; may be repeated.")
@json_option
def create(
    *,
    tenant: str,
    client: str,
    accounts: str,
    text: str | None,
    text_file: Any,
    at: str,
    zone: str | None,
    media: tuple[Path, ...],
    alt: tuple[str, ...],
    labels: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a post, approve it and give it its time."""
    from socialq.desk import clients, connect, plan, tenants
    from socialq.desk.content import parts_of_text
    from socialq.desk.schedule import slot_of
    from socialq.domain.local_time import resolve

    if text is not None and text_file is not None:
        raise click.UsageError("give --text or --file, not both")
    if text is None and text_file is None and not media:
        raise click.UsageError("give --text, --file or --media")
    if len(alt) > len(media):
        raise click.UsageError("there are more --alt than --media")
    with opened() as wiring:
        agency = tenants.find(wiring.stores, tenant)
        brand = clients.find(wiring.stores, tenant=agency.id, name_or_id=client)
        now = datetime.now(UTC)
        resolved = resolve(
            at, zone=zone, default_zone=brand.time_zone, now=now, field="--at", zone_field="--tz"
        )
        chosen = chosen_accounts(connect.list_accounts(wiring.stores, tenant=agency.id), accounts)
        written = written_text(text, text_file)
        grace = wiring.settings.past_grace_minutes
        # Whatever can be refused is refused before a file is stored: nothing stays behind half-written.
        slot_of(resolved, now=now, grace_minutes=grace)
        refuse_content(written, media=media, accounts=chosen)
        files = stored(wiring, tenant=agency.id, client=brand.id, media=media, alt=alt)
        made = plan.plan_post(
            wiring.stores,
            tenant=agency.id,
            client=brand.id,
            account_ids=[account.id for account in chosen],
            parts=parts_of_text(written, media=files),
            labels=labels,
            resolved=resolved,
            now=now,
            grace_minutes=grace,
            publish_by_hours=wiring.settings.publish_by_hours,
            actor=actor(),
        )
    names = {account.id: account.name for account in chosen}
    due = made.targets[0].publish_at or now
    if as_json:
        targets = [
            {"id": t.id, "account": names[t.account_id], "status": t.status.value} for t in made.targets
        ]
        print_json(
            {
                "post_id": made.post_id,
                "version_id": made.version_id,
                "publish_at": due,
                "local_time": resolved.local,
                "time_zone": resolved.zone,
                "note": resolved.note,
                "targets": targets,
            }
        )
        return
    click.echo(f"Post {made.post_id}")
    click.echo(f"goes out at {resolved.local:%Y-%m-%d %H:%M:%S} {resolved.zone} ({iso(due)}) on")
    for target in made.targets:
        click.echo(f"  {names[target.account_id]}  (target {target.id})")
    if resolved.note:
        click.echo(f"Note: {resolved.note}.", err=True)


@command.command("show")
@click.argument("post_id", type=click.UUID)
@click.option("--tenant", help="Name or id of the agency; without it all are searched.")
@json_option
def show_one(*, post_id: UUID, tenant: str | None, as_json: bool) -> None:
    """Show a post: how it stands, its text, its targets."""
    from socialq.store import views

    with opened() as wiring:
        owner = owner_of(wiring.stores, tenant=tenant, given_id=post_id, what="post")
        with wiring.stores.cell_of(owner).app.transaction(tenant=owner) as session:
            post = views.show_post(session, post_id)
    if post is None:
        problem, way_out = "there is no such post", "copy its id from `socialq targets list`"
        raise InputRefused([InputProblem(field="post", value=str(post_id), problem=problem, way_out=way_out)])
    if as_json:
        print_json(post)
    else:
        _print(post)


def _print(post: PostView) -> None:
    out = console()
    out.print(status(post.status).append(f": {post.sentence}", style="not bold default"))
    labels = f", labels {', '.join(post.labels)}" if post.labels else ""
    click.echo(
        f"post {post.id} of {post.client}, written {minute(post.created_at)} UTC by {post.created_by}{labels}"
    )
    for number, part in enumerate(post.versions[-1].content["parts"], start=1):
        mark = f"[{number}] " if len(post.versions[-1].content["parts"]) > 1 else ""
        images = f"  ({len(part['media'])} images)" if part.get("media") else ""
        out.print(cell(f"{mark}{' '.join(part['text'].split())}", limit=400).append(images))
    click.echo()
    built = table("account", "status!", "due (UTC)!", "what is known")
    for target in post.targets:
        line = target.line
        known = line.permalink or line.detail
        built.add_row(
            cell(line.account), status(line.status), minute(line.publish_at), cell(known, limit=120)
        )
    out.print(built)
    for target in post.targets:
        click.echo(f"target {target.line.id}  {target.line.account}")
