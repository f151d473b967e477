"""Rules that read a cell's schedule: posts that are late, posts that are there twice, accounts, parked changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from socialq.store import watching_facts
from socialq.store.cell import outbox_events
from socialq.upkeep.watching.findings import Finding, lasting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from socialq.store.sessions import Row
    from socialq.upkeep.watching.findings import Sight

_MOST: Final = 200
_ONE_BY_ONE: Final = 10
"""More late posts than this are one alarm of their cell: a thousand mails help nobody."""
_NAMED: Final = 3
_RECENT_SECONDS: Final = 900.0
"""Sightings this old were looked at by many passes before."""


def late(sight: Sight, cell: str) -> list[Finding]:
    """Slots that passed without publication or a stated reason."""
    databases = sight.stores.cell(cell)
    rows = watching_facts.late(databases, seconds=sight.limits.late_seconds, held=sight.held, limit=_MOST)
    if not rows:
        return []
    index = watching_facts.in_index(sight.stores.central, [row["target_id"] for row in rows])
    named = rows[: _ONE_BY_ONE if len(rows) <= _ONE_BY_ONE else _NAMED]
    names = sight.names_of(databases, named)
    said = {row["target_id"]: _lateness(row, names) for row in named}
    if len(rows) <= _ONE_BY_ONE:
        return [
            Finding(
                key=f"late:{row['target_id']}",
                message=f"{said[row['target_id']]}. {_first_step(row, index, cell)}",
                tenant_id=row["tenant_id"],
            )
            for row in rows
        ]
    count = f"{_MOST} posts or more" if len(rows) == _MOST else f"{len(rows)} posts"
    listed = "; ".join(said.values())
    message = f"cell {cell}: {count} are late, the oldest: {listed}. {_first_step(rows[0], index, cell)}"
    return [Finding(key=f"late:cell:{cell}", message=message)]


def _lateness(row: Row, names: Mapping[UUID, str]) -> str:
    account = names.get(row["account_id"], str(row["account_id"]))
    what = "a look for" if row["kind"] == "look" else "a claim of" if row["status"] == "publishing" else ""
    return (
        f"{what + ' ' if what else ''}post {row['post_id']} on {account} (target {row['target_id']})"
        f" is {lasting(row['late_seconds'])} late"
    )


def _first_step(row: Row, index: Mapping[UUID, Row], cell: str) -> str:
    """Say what to do first: by the hop that the target has not passed."""
    known = index.get(row["target_id"])
    target = f"`socialq why {row['target_id']}`"
    if row["status"] == "publishing":
        return f"Its worker is gone and no sweep has settled it: see that a control worker and a beat run; {target}"
    if known is None or known["seq"] < row["seq"] or known["status"] == "done":
        return f"The dispatch index does not have it: see that the relay of cell {cell} runs; {target}"
    if known["status"] == "enqueued":
        return f"Its message is out and nobody answers: see that publishing workers run; {target}"
    return (
        f"It is due and was not sent to a worker: see that a control worker runs and Redis answers; {target}"
    )


def twice(sight: Sight, cell: str) -> list[Finding]:
    """Parts with more than one id that was seen live: a post that is there twice."""
    known = [UUID(what) for what in sight.known_of("duplicate")]
    databases = sight.stores.cell(cell)
    rows = watching_facts.twice(databases, seconds=_RECENT_SECONDS, known=known, limit=_MOST)
    names = sight.names_of(databases, rows)
    return [finding for row in rows for finding in _doubled(sight, cell, row, names)]


def _doubled(sight: Sight, cell: str, row: Row, names: Mapping[UUID, str]) -> Iterable[Finding]:
    target = row["target_id"]
    copies = watching_facts.copies(sight.stores.cell(cell), tenant_id=row["tenant_id"], target_id=target)
    by_part: dict[int, list[Row]] = {}
    for copy in copies:
        by_part.setdefault(copy["part_no"], []).append(copy)
    doubled = [part for part in by_part.values() if len(part) > 1]
    if not doubled:
        return  # one of them was taken down
    links = " and ".join(copy["permalink"] or f"id {copy['remote_id']}" for copy in doubled[0])
    extra = doubled[0][-1]["remote_id"]
    yield Finding(
        key=f"duplicate:{target}",
        message=(
            f"post {row['post_id']} is on {names.get(row['account_id'], row['account_id'])} more than once: {links}."
            f" Look at both, then take one down: `socialq target take-down {target} --only {extra} --reason …`"
        ),
        tenant_id=row["tenant_id"],
    )


def reconnect(sight: Sight, cell: str) -> list[Finding]:
    """Accounts that must be connected again, and have a post before that."""
    databases = sight.stores.cell(cell)
    rows = watching_facts.unusable_accounts(
        databases, endless=sight.not_refreshing, ahead_seconds=sight.limits.ahead_seconds
    )
    posts = watching_facts.next_posts(sight.stores.central, [row["account_id"] for row in rows])
    concerned = [row for row in rows if _too_late(row, posts)]
    names = sight.names_of(databases, concerned)
    return [_to_reconnect(row, posts[row["account_id"]], names) for row in concerned]


def _too_late(row: Row, posts: Mapping[UUID, Row]) -> bool:
    waiting = posts.get(row["account_id"])
    if waiting is None:
        return False
    return row["status"] == "needs_reconnect" or bool(row["token_expires_at"] < waiting["next_at"])


def _to_reconnect(row: Row, waiting: Row, names: Mapping[UUID, str]) -> Finding:
    name = names.get(row["account_id"], str(row["account_id"]))
    ended = "its authorisation ended" if row["status"] == "needs_reconnect" else "its token ends before that"
    return Finding(
        key=f"reconnect:{row['account_id']}",
        message=(
            f"{name} must be connected again before its next post at {waiting['next_at']:%Y-%m-%d %H:%M} UTC"
            f" ({waiting['posts']} wait): {ended}. Have its owner connect it: `socialq account connect`"
        ),
        red=False,
        tenant_id=row["tenant_id"],
    )


def parked(sight: Sight, cell: str) -> list[Finding]:
    """Changes of targets that were set aside: their posts do not go out."""
    with sight.stores.cell(cell).machine.transaction(actor="watch") as session:
        rows = outbox_events.parked(session, limit=_MOST)
    return [
        Finding(
            key=f"parked:{row['target_id']}",
            message=(
                f"the changes of target {row['target_id']} were set aside ({row['failure']}): it does not go out as"
                " planned. See `socialq outbox parked`, mend it, then `socialq outbox unpark`"
            ),
            tenant_id=row["tenant_id"],
        )
        for row in rows
    ]
