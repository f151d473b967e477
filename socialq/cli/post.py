"""`socialq post create|reschedule|edit|show`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from socialq.cli import post_changes
from socialq.cli.client import tenant_option
from socialq.cli.naming import chosen_accounts, owner_of
from socialq.cli.opening import actor, opened
from socialq.cli.output import (
    cell,
    console,
    iso,
    json_option,
    lateness_of,
    minute,
    print_json,
    show,
    status,
    table,
)
from socialq.cli.writing import own_options, own_texts, refuse_content, stored, written_text
from socialq.domain.contents import COMMENT, options_of, parts_of, role_of
from socialq.domain.errors import InputProblem, InputRefused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from socialq.store.view_rows import PostView
    from socialq.wiring import Wiring


@click.group(name="post")
def command() -> None:
    """Posts."""


command.add_command(post_changes.reschedule)
command.add_command(post_changes.edit)


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
@click.option(
    "--media", multiple=True, type=click.Path(path_type=Path), help="An image or a video; may be repeated."
)
@click.option(
    "--alt", multiple=True, help="What the image shows, for those who can't see it; one for each --media."
)
@click.option("--first-comment", help="A comment that goes out under the post, on every account.")
@click.option(
    "--text-for",
    multiple=True,
    metavar="ACCOUNT=TEXT",
    help="Another text on one account, such as x:mill=Hello; may be repeated.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="A choice such as visibility=unlisted, see `post options`; may be repeated.",
)
@click.option(
    "--option-for",
    multiple=True,
    metavar="ACCOUNT:NAME=VALUE",
    help="Another choice on one account, such as x:mill:reply_settings=following; may be repeated.",
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
    first_comment: str | None,
    text_for: tuple[str, ...],
    options: tuple[str, ...],
    option_for: tuple[str, ...],
    labels: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a post, approve it and give it its time."""
    from socialq.desk import clients, connect, holds, plan, tenants
    from socialq.desk.content import parts_of_text
    from socialq.desk.options import read_options
    from socialq.desk.schedule import slot_of
    from socialq.desk.variations import own_text
    from socialq.domain.local_time import resolve
    from socialq.providers.registry import adapter_for

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
        own = own_texts(text_for, accounts=chosen)
        choices = read_options(options, adapters=[adapter_for(account.platform) for account in chosen])
        own_choices = own_options(option_for, accounts=chosen)
        refuse_content(
            written,
            media=media,
            accounts=chosen,
            first_comment=first_comment,
            own=own,
            options=choices,
            own_options=own_choices,
            links=wiring.link_signer is not None,
        )
        files = stored(wiring, tenant=agency.id, client=brand.id, media=media, alt=alt)
        parts = parts_of_text(written, media=files)
        own_parts = {account_id: own_text(parts, each) for account_id, each in own.items()}
        made = plan.plan_post(
            wiring.stores,
            tenant=agency.id,
            client=brand.id,
            account_ids=[account.id for account in chosen],
            parts=parts,
            first_comment=first_comment,
            own=own_parts,
            options=choices,
            own_options=own_choices,
            labels=labels,
            resolved=resolved,
            now=now,
            grace_minutes=grace,
            publish_by_hours=wiring.settings.publish_by_hours,
            actor=actor(),
        )
        # After the post is planned: what a platform says now is worth knowing and worth no delay.
        warnings = _warnings(
            wiring,
            tenant=agency.id,
            account_ids=[account.id for account in chosen],
            parts=parts,
            first_comment=first_comment,
            own=own_parts,
            options=choices,
            own_options=own_choices,
        )
        due = made.targets[0].publish_at or now
        held = holds.keeps_back(wiring.stores, tenant=agency, accounts=chosen, due=due)
    names = {account.id: account.name for account in chosen}
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
                "warnings": [*held, *(str(warning) for warning in warnings)],
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
    for warning in [*held, *warnings]:
        click.echo(f"Warning: {warning}", err=True)


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


@command.command("options")
@click.argument("platform", required=False)
@json_option
def list_options(*, platform: str | None, as_json: bool) -> None:
    """List what may be chosen for a post on PLATFORM, or on each."""
    from socialq.desk.connect import known_adapter
    from socialq.providers.registry import ADAPTERS, adapter_for

    names = sorted(ADAPTERS) if platform is None else [known_adapter(platform, adapter_for).platform]
    rows = [(name, option) for name in names for option in adapter_for(name).options]
    if as_json:
        print_json(
            [
                {"platform": name, "name": o.name, "kind": o.kind, "allowed": list(o.allowed), "says": o.says}
                for name, o in rows
            ]
        )
        return
    built = table("platform", "option", "values", "what it does")
    for name, option in rows:
        built.add_row(name, option.name, cell(", ".join(option.allowed) or option.kind), option.says)
    show(built, empty="Nothing may be chosen there.")


def _warnings(wiring: Wiring, **post: Any) -> list[InputProblem]:
    """Ask the platforms for advice; without the key that opens accounts' tokens nobody can."""
    from socialq.desk.advice import advise

    if not wiring.settings.encryption_keys():
        return []
    return advise(wiring.stores, wiring.vault, wiring.quick_http, **post)


def _print(post: PostView) -> None:
    out = console()
    out.print(status(post.status).append(f": {post.sentence}", style="not bold default"))
    labels = f", labels {', '.join(post.labels)}" if post.labels else ""
    click.echo(
        f"post {post.id} of {post.client}, written {minute(post.created_at)} UTC by {post.created_by}{labels}"
    )
    contents = {version.id: version.content for version in post.versions}
    content = post.versions[-1].content
    _print_parts(content["parts"])
    _print_options(content.get("options", {}))
    for target in post.targets:
        # What went out, or goes out, there: an edit may have come too late for it.
        its = contents.get(target.version_id, content)
        parts, options = parts_of(its, target.account_id), options_of(its, target.account_id)
        own_parts, own = parts != content["parts"], options != content.get("options", {})
        if own_parts or own:
            out.print(cell(f"on {target.line.account}:"))
        if own_parts:
            _print_parts(parts)
        if own:
            _print_options(options)
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
        lateness = lateness_of(target.instants)
        click.echo(f"target {target.line.id}  {target.line.account}" + (f": {lateness}" if lateness else ""))


def _print_options(options: Mapping[str, Any]) -> None:
    from socialq.desk.options import written_options

    if options:
        console().print(cell(f"with {', '.join(written_options(options))}", limit=400))


def _print_parts(parts: Sequence[Mapping[str, Any]]) -> None:
    for number, part in enumerate(parts, start=1):
        mark = f"[{number}] " if len(parts) > 1 else ""
        mark = "[comment] " if role_of(part) == COMMENT else mark
        images = f"  ({len(part['media'])} images)" if part.get("media") else ""
        console().print(cell(f"{mark}{' '.join(part['text'].split())}", limit=400).append(images))
