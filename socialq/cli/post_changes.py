"""`socialq post reschedule|edit`: a post that has not gone out gets another time, or another text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from socialq.cli.naming import owner_of
from socialq.cli.opening import actor, opened
from socialq.cli.output import iso, json_option, print_json
from socialq.cli.writing import own_options, written_text
from socialq.domain.contents import COMMENT, role_of
from socialq.domain.errors import InputProblem, InputRefused
from socialq.domain.states import TERMINAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from socialq.desk.connect import Account
    from socialq.desk.content import PartInput
    from socialq.domain.local_time import Resolved
    from socialq.domain.targets import Target
    from socialq.store.view_rows import PostView, TargetView
    from socialq.wiring import Wiring

_tenant = click.option("--tenant", help="Name or id of the agency; without it all are searched.")
_zone = click.option("--tz", "zone", help="IANA zone of the time; without one the client's.")


@click.command("reschedule")
@click.argument("post_id", type=click.UUID, metavar="POST")
@click.option("--at", required=True, metavar="TIME", help="now, or 2027-03-22T09:00.")
@_zone
@_tenant
@json_option
def reschedule(*, post_id: UUID, at: str, zone: str | None, tenant: str | None, as_json: bool) -> None:
    """Give those targets of a post that wait for their time another one."""
    with opened() as wiring:
        owner = owner_of(wiring.stores, tenant=tenant, given_id=post_id, what="post")
        post = _shown(wiring, owner, post_id)
        planned = _of_status(post, "scheduled", "retry_scheduled")
        ready = _of_status(post, "ready")
        if not planned and not ready:
            raise _refused(
                post_id, f"has nothing that waits for its time ({post.sentence})", "see `socialq post show`"
            )
        now = datetime.now(UTC)
        resolved = _resolved(wiring, owner, post, at, zone, now=now)
        moved = _timed(wiring, owner, [target.line.id for target in planned], resolved, now=now, again=True)
        moved += _timed(wiring, owner, [target.line.id for target in ready], resolved, now=now, again=False)
    _say(post_id, moved, resolved, as_json=as_json)


@click.command("edit")
@click.argument("post_id", type=click.UUID, metavar="POST")
@click.option("--text", help="The new text; a line of three dashes divides it into a thread.")
@click.option(
    "--file",
    "text_file",
    type=click.File(encoding="utf-8"),
    help="Read it from a file; - for standard input.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another choice, see `post options`; NAME= takes one back. The others stay.",
)
@click.option(
    "--option-for",
    multiple=True,
    metavar="ACCOUNT:NAME=VALUE",
    help="Another choice on one account; NAME= for none there.",
)
@click.option("--at", metavar="TIME", help="Another time, too; without it the one it had.")
@_zone
@_tenant
@json_option
def edit(
    *,
    post_id: UUID,
    text: str | None,
    text_file: Any,
    options: tuple[str, ...],
    option_for: tuple[str, ...],
    at: str | None,
    zone: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    """Give a post another text or choice, approve that, and plan it again. Files, comment and own texts stay."""
    from socialq.desk import approve
    from socialq.desk import edit as editing

    rewritten = text is not None or text_file is not None
    if (text is not None and text_file is not None) or not (rewritten or options or option_for):
        raise click.UsageError("give --text or --file, or an --option or --option-for")
    with opened() as wiring:
        owner = owner_of(wiring.stores, tenant=tenant, given_id=post_id, what="post")
        post, now = _shown(wiring, owner, post_id), datetime.now(UTC)
        times = [target.line.publish_at for target in post.targets if target.line.publish_at is not None]
        asked = at or (iso(max(times)) if times else None)
        # What can be refused is refused before anything is changed.
        resolved = None if asked is None else _resolved(wiring, owner, post, asked, zone, now=now)
        content = post.versions[-1].content
        edited = editing.edit_post(
            wiring.stores,
            tenant=owner,
            post_id=post_id,
            parts=_rewritten(content, written_text(text, text_file))
            if rewritten
            else _given(content["parts"]),
            first_comment=_comment(content["parts"]),
            own={of: _given(value["parts"]) for of, value in _own(content).items() if "parts" in value},
            options=_chosen(wiring, owner, post, options),
            own_options=_chosen_for(wiring, owner, post, option_for),
            actor=actor(),
        )
        moved: list[Target] = []
        if edited.targets:
            approve.approve(
                wiring.stores,
                tenant=owner,
                post_id=post_id,
                version_id=edited.version_id,
                approved_by=actor(),
            )
            if resolved is not None:
                ids = [target.id for target in edited.targets]
                moved = _timed(wiring, owner, ids, resolved, now=now, again=False)
    if not edited.targets and not as_json:
        click.echo(f"Post {post_id} says that already; nothing is changed.")
        return
    _say(post_id, moved, resolved, as_json=as_json)


def _shown(wiring: Wiring, owner: UUID, post_id: UUID) -> PostView:
    from socialq.store import views

    with wiring.stores.cell_of(owner).app.transaction(tenant=owner) as session:
        post = views.show_post(session, post_id)
    if post is None:
        raise _refused(post_id, "there is no such post", "copy its id from `socialq targets list`")
    return post


def _of_status(post: PostView, *wanted: str) -> list[TargetView]:
    return [target for target in post.targets if target.line.status in wanted]


def _resolved(
    wiring: Wiring, owner: UUID, post: PostView, at: str, zone: str | None, *, now: datetime
) -> Resolved:
    """Read a time as `post create` does, and refuse one that is past."""
    from socialq.desk import clients
    from socialq.desk.schedule import slot_of
    from socialq.domain.local_time import resolve

    brand = clients.find(wiring.stores, tenant=owner, name_or_id=post.client)
    resolved = resolve(at, zone=zone, default_zone=brand.time_zone, now=now, field="--at", zone_field="--tz")
    slot_of(resolved, now=now, grace_minutes=wiring.settings.past_grace_minutes)
    return resolved


def _timed(
    wiring: Wiring, owner: UUID, ids: Sequence[UUID], resolved: Resolved, *, now: datetime, again: bool
) -> list[Target]:
    from socialq.desk import schedule

    if not ids:
        return []
    give = schedule.reschedule if again else schedule.schedule
    return give(
        wiring.stores,
        tenant=owner,
        target_ids=ids,
        resolved=resolved,
        now=now,
        grace_minutes=wiring.settings.past_grace_minutes,
        publish_by_hours=wiring.settings.publish_by_hours,
        actor=actor(),
    )


def _rewritten(content: Mapping[str, Any], text: str) -> list[PartInput]:
    """Divide the new text into parts; each keeps the files that the part of its number had."""
    from socialq.desk.content import parts_of_text

    parts = parts_of_text(text)
    for part, before in zip(parts, _given(content["parts"]), strict=False):
        part["media"] = before.get("media", [])
    return parts


def _given(stored: Sequence[Mapping[str, Any]]) -> list[PartInput]:
    """Spell stored parts as they were given, the first comment left out."""
    return [
        {"text": part["text"], "media": [UUID(item) for item in part.get("media", ())]}
        for part in stored
        if role_of(part) != COMMENT
    ]


def _chosen(wiring: Wiring, owner: UUID, post: PostView, given: Sequence[str]) -> dict[str, Any]:
    """Read the changed choices on top of those that the post has."""
    from socialq.desk.options import read_options
    from socialq.providers.registry import adapter_for

    adapters = [adapter_for(account.platform) for account in _accounts(wiring, owner, post)]
    return read_options(given, adapters=adapters, before=post.versions[-1].content.get("options", {}))


def _chosen_for(
    wiring: Wiring, owner: UUID, post: PostView, given: Sequence[str]
) -> dict[UUID, dict[str, Any]]:
    """Read the changed choices of single accounts on top of those that they have; where it is over none is left."""
    before = {of: value.get("options", {}) for of, value in _own(post.versions[-1].content).items()}
    over = {target.account_id for target in post.targets if target.line.status in TERMINAL}
    open_ones = [account for account in _accounts(wiring, owner, post) if account.id not in over]
    return own_options(given, accounts=open_ones, before=before)


def _accounts(wiring: Wiring, owner: UUID, post: PostView) -> list[Account]:
    from socialq.desk import connect

    ids = {target.account_id for target in post.targets}
    return [account for account in connect.list_accounts(wiring.stores, tenant=owner) if account.id in ids]


def _own(content: Mapping[str, Any]) -> dict[UUID, Mapping[str, Any]]:
    return {UUID(key): value for key, value in content.get("accounts", {}).items()}


def _comment(stored: Sequence[Mapping[str, Any]]) -> str | None:
    return next((part["text"] for part in stored if role_of(part) == COMMENT), None)


def _say(post_id: UUID, moved: Sequence[Target], resolved: Resolved | None, *, as_json: bool) -> None:
    if as_json:
        targets = [{"id": target.id, "status": target.status.value} for target in moved]
        due = moved[0].publish_at if moved else None
        print_json({"post_id": post_id, "publish_at": due, "targets": targets})
    elif moved and resolved is not None and moved[0].publish_at is not None:
        when = f"{resolved.local:%Y-%m-%d %H:%M:%S} {resolved.zone} ({iso(moved[0].publish_at)})"
        click.echo(f"Post {post_id} goes out at {when} on {len(moved)} accounts.")
        if resolved.note:
            click.echo(f"Note: {resolved.note}.", err=True)
    else:
        click.echo(f"Post {post_id} is edited and approved; it has no time yet: `socialq post reschedule`.")


def _refused(post_id: UUID, problem: str, way_out: str) -> InputRefused:
    return InputRefused([InputProblem(field="post", value=str(post_id), problem=problem, way_out=way_out)])
