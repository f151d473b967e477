"""`socialq target show|retry|cancel|mark-published|take-down`: what a person decides about one target."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from socialq.cli.naming import owner_of
from socialq.cli.opening import actor, opened
from socialq.cli.output import cell, console, json_option, lateness_of, minute, print_json, status, table
from socialq.domain.contents import COMMENT
from socialq.domain.errors import InputProblem, InputRefused, shown
from socialq.domain.states import NextKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.domain.targets import Target
    from socialq.store.view_rows import TargetView

_target: Callable[[Any], Any] = click.argument("target_id", type=click.UUID, metavar="TARGET")
_tenant: Callable[[Any], Any] = click.option(
    "--tenant", help="Name or id of the agency; without it all are searched."
)


@click.group(name="target")
def command() -> None:
    """One target: one post on one account."""


@command.command("show")
@_target
@_tenant
@json_option
def show_one(*, target_id: UUID, tenant: str | None, as_json: bool) -> None:
    """Show a target with its parts, attempts and history."""
    from socialq.store import views

    with opened() as wiring:
        owner = owner_of(wiring.stores, tenant=tenant, given_id=target_id, what="target")
        with wiring.stores.cell_of(owner).app.transaction(tenant=owner) as session:
            target = views.show_target(session, target_id)
    if target is None:
        problem, way_out = "there is no such target", "copy its id from `socialq targets list`"
        raise InputRefused(
            [InputProblem(field="target", value=str(target_id), problem=problem, way_out=way_out)]
        )
    if as_json:
        print_json(target)
    else:
        _print(target)


@command.command("retry")
@_target
@_tenant
@click.option(
    "--without-looking", is_flag=True, help="Send it on your word: you have seen that it is not live."
)
@json_option
def retry(*, target_id: UUID, tenant: str | None, without_looking: bool, as_json: bool) -> None:
    """Send a target again, now; only this one. Where it can be, it is looked for first."""
    from socialq.desk import resolve

    with opened() as wiring:
        owner = owner_of(wiring.stores, tenant=tenant, given_id=target_id, what="target")
        moved = resolve.retry(
            wiring.stores,
            tenant=owner,
            target_id=target_id,
            now=datetime.now(UTC),
            publish_by_hours=wiring.settings.publish_by_hours,
            look_first=not without_looking,
            scheduled_looks=len(wiring.settings.look_delays_seconds),
            actor=actor(),
        )
    said = (
        f"Target {moved.id} is looked for; it goes out if it is not live."
        if moved.next_kind is NextKind.LOOK
        else f"Target {moved.id} is scheduled again and goes out at once."
    )
    _say(moved, said, as_json=as_json)


@command.command("cancel")
@_target
@_tenant
@click.option("--reason", required=True, help="Why; it stands in the history.")
@json_option
def cancel(*, target_id: UUID, tenant: str | None, reason: str, as_json: bool) -> None:
    """Withdraw a target. One that is in flight is withdrawn if it turns out not to have gone out."""
    from socialq.desk import resolve

    if not reason.strip():
        raise click.UsageError("--reason: there is no reason; say why, for whoever looks at it later")
    with opened() as wiring:
        owner = owner_of(wiring.stores, tenant=tenant, given_id=target_id, what="target")
        result = resolve.cancel(
            wiring.stores, tenant=owner, target_id=target_id, reason=reason, actor=actor()
        )
    if as_json:
        print_json({"target_id": target_id, "result": result})
    elif result is resolve.CancelResult.CANCELLED:
        click.echo(f"Target {target_id} is cancelled; nothing of it will be sent.")
    else:
        click.echo(f"Target {target_id} is in flight: it is cancelled if it has not gone out.")


@command.command("mark-published")
@_target
@click.argument("link_or_id")
@_tenant
@json_option
def mark_published(*, target_id: UUID, link_or_id: str, tenant: str | None, as_json: bool) -> None:
    """Record that a target is live: LINK_OR_ID is the link or id of its post on the platform.

    The platform is asked whether the post is there and the account's own. Where it can't be read, your word is taken.
    """
    from socialq.desk import resolve

    with opened() as wiring:
        owner = owner_of(wiring.stores, tenant=tenant, given_id=target_id, what="target")
        moved = resolve.mark_published(
            wiring.stores,
            tenant=owner,
            target_id=target_id,
            link_or_id=link_or_id,
            now=datetime.now(UTC),
            actor=actor(),
            reader=wiring.post_reader,
        )
    _say(moved, f"Target {moved.id} is published: {moved.detail}", as_json=as_json)


@command.command("take-down")
@_target
@_tenant
@click.option(
    "--only", metavar="ID", help="Only the part with this id on the platform, such as a second copy."
)
@click.option("--reason", required=True, help="Why; it stands in the history.")
@json_option
def take_down(*, target_id: UUID, tenant: str | None, only: str | None, reason: str, as_json: bool) -> int:
    """Take what is live of a target off the platform, the last part first."""
    if not reason.strip():
        raise click.UsageError("--reason: there is no reason; say why, for whoever looks at it later")
    with opened(require=("database", "encryption_key")) as wiring:
        owner = owner_of(wiring.stores, tenant=tenant, given_id=target_id, what="target")
        done = wiring.takedown.take_down(
            tenant_id=owner, target_id=target_id, only=only, reason=reason.strip(), actor=actor()
        )
    if as_json:
        print_json(done)
    else:
        for one in done:
            click.echo(_TAKEN[one.state].format(one=one), err=one.state != "taken_down")
    return 0 if all(one.state == "taken_down" for one in done) else 1


_TAKEN: Final = {
    "taken_down": "Part {one.part_no} ({one.remote_id}) is taken down.",
    "unknown": "Part {one.part_no} ({one.remote_id}) may be live still: {one.message}. Asking again does no harm.",
    "failed": "Part {one.part_no} ({one.remote_id}) is live still: {one.message}.",
}


def _say(moved: Target, sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "target_id": moved.id,
                "status": moved.status.value,
                "reason": moved.reason,
                "detail": moved.detail,
                "seq": moved.seq,
                "next_at": moved.next_at,
            }
        )
        return
    click.echo(sentence)
    if moved.detail:
        click.echo(f"Note: {moved.detail}.", err=True)


def _print(target: TargetView) -> None:
    out, line = console(), target.line
    out.print(
        status(line.status).append(f"  {shown(line.account)}, {shown(line.client)}", style="not bold default")
    )
    click.echo(f"target {line.id} of post {line.post_id}, due {minute(line.publish_at)} UTC")
    if line.detail:
        out.print(cell(line.detail, limit=400))
    if line.status == "publishing":
        since = max((attempt.claimed_at for attempt in target.attempts), default=None)
        click.echo(f"publishing since {minute(since)} UTC")
    elif line.next_at is not None:
        click.echo(f"next: {line.next_kind} at {minute(line.next_at)} UTC")
    click.echo(lateness_of(target.instants) or "no worker has claimed it yet")
    parts = table("part", "live since (UTC)!", "unknown", "link or id")
    for part in target.parts:
        where = part.permalink or part.remote_id
        parts.add_row(
            f"{part.part_no} comment" if part.role == COMMENT else str(part.part_no),
            minute(part.accepted_at),
            str(part.unknown_count or ""),
            cell(where, limit=120),
        )
    attempts = table("attempt", "part", "began (UTC)!", "outcome", "what was said")
    for attempt in target.attempts:
        said = " ".join(str(word) for word in (attempt.http_status, attempt.code, attempt.message) if word)
        attempts.add_row(
            str(attempt.attempt_no),
            str(attempt.part_no),
            minute(attempt.claimed_at),
            attempt.state,
            cell(said, limit=120),
        )
    takedowns = table("taken down", "part", "at (UTC)!", "by", "what was said")
    for one in target.takedowns:
        said = " ".join(str(word) for word in (one.http_status, one.code, one.message) if word)
        takedowns.add_row(
            one.state, str(one.part_no), minute(one.began_at), cell(one.asked_by), cell(said, limit=120)
        )
    history = table("at (UTC)!", "to!", "by", "why")
    for move in target.history:
        why = move.detail or move.reason
        history.add_row(minute(move.at), status(move.to_status), cell(move.actor), cell(why, limit=160))
    for built in (parts, attempts, takedowns, history):
        if built.row_count:
            click.echo()
            out.print(built)
