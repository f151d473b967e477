"""Read-only queries for the command line and the web: each returns records of `view_rows`.

Every function takes a session with the tenant set, save `list_tenants`, which takes one of the central
database. A page of a list follows from the last target of the page before, so that it costs the same however
far down it is.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeVar

import regex

from socialq.store.view_rows import (
    AttemptView,
    InstantsView,
    MoveView,
    PartView,
    PostView,
    ScheduleView,
    TakedownView,
    TargetLine,
    TargetView,
    TenantLine,
    VersionView,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from uuid import UUID

    from socialq.store.sessions import Row, Session

_Record = TypeVar("_Record")

_EXCERPT: Final = 80
_READ: Final = 12 * _EXCERPT
"""Code points read for an excerpt: a family emoji has eleven."""
_GRAPHEME: Final = regex.compile(r"\X")

# What goes out on the target's account: its own parts, else everybody's (`domain.contents.parts_of`).
_PARTS_OF_ACCOUNT: Final = (
    "COALESCE(v.content #> ARRAY['accounts', t.account_id::text, 'parts'], v.content -> 'parts')"
)

_LINE: Final = f"""
SELECT t.id, t.post_id, c.name AS client, c.time_zone, a.platform || ':' || a.handle AS account, t.status, t.reason,
       t.detail,
       left({_PARTS_OF_ACCOUNT} -> 0 ->> 'text', {_READ}) AS text,
       p.parts, p.parts_live, t.publish_at, t.next_kind, t.next_at, t.published_at, t.attempt_count,
       t.cancel_requested, p.permalink, t.account_id, t.version_id, t.seq, t.publish_by
FROM cell.post_targets t
JOIN cell.accounts a ON a.id = t.account_id
JOIN cell.clients c ON c.id = a.client_id
JOIN cell.post_versions v ON v.id = t.version_id
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS parts, count(tp.remote_id)::integer AS parts_live,
           max(tp.permalink) FILTER (WHERE tp.part_no = 1) AS permalink
    FROM cell.target_parts tp WHERE tp.target_id = t.id
) p
"""

# A list begins with what goes out next; then what has no time yet; then what is past, the latest of it first. Each
# section walks the index on (tenant_id, publish_at, id) from the place where the page before ended.
_SECTIONS: Final = (
    (
        "t.publish_at >= now() AND (%(from_start)s OR (t.publish_at, t.id) > (%(publish_at)s, %(id)s))",
        "t.publish_at, t.id",
    ),
    ("t.publish_at IS NULL AND (%(from_start)s OR t.id > %(id)s)", "t.id"),
    (
        "t.publish_at < now() AND (%(from_start)s OR (t.publish_at, t.id) < (%(publish_at)s, %(id)s))",
        "t.publish_at DESC, t.id DESC",
    ),
)

_LAST: Final = """
SELECT id, publish_at, CASE WHEN publish_at IS NULL THEN 1 WHEN publish_at >= now() THEN 0 ELSE 2 END AS section
FROM cell.post_targets WHERE id = %(id)s
"""

_OF_POST: Final = "WHERE t.post_id = %(post_id)s ORDER BY a.platform, a.handle, t.id"

_POST: Final = """
SELECT p.id, c.name AS client, p.labels, p.created_by, p.created_at, p.approved_version_id, s.status
FROM cell.posts p
JOIN cell.clients c ON c.id = p.client_id
JOIN cell.post_statuses s ON s.post_id = p.id
WHERE p.id = %(post_id)s
"""

_VERSIONS: Final = """
SELECT v.id, v.number, v.content, v.content_hash, v.created_by, v.created_at, a.approved_by, a.approved_at
FROM cell.post_versions v
LEFT JOIN cell.approvals a ON a.version_id = v.id
WHERE v.post_id = %(post_id)s ORDER BY v.number
"""

_PARTS: Final = f"""
SELECT tp.target_id, tp.part_no, COALESCE({_PARTS_OF_ACCOUNT} -> (tp.part_no - 1) ->> 'role', 'post') AS role,
       tp.marked_at, tp.mark_cleared, tp.unknown_count, tp.remote_id, tp.permalink, tp.accepted_at,
       tp.first_seen_at
FROM cell.target_parts tp
JOIN cell.post_targets t ON t.id = tp.target_id
JOIN cell.post_versions v ON v.id = t.version_id
WHERE tp.target_id = ANY(%(ids)s::uuid[]) ORDER BY tp.part_no
"""

_ATTEMPTS: Final = """
SELECT target_id, attempt_no, part_no, state, due_at, claimed_at, marked_at, finished_at, http_status, code,
       message
FROM cell.publishing_attempts WHERE target_id = ANY(%(ids)s::uuid[]) ORDER BY attempt_no
"""

_TAKEDOWNS: Final = """
SELECT target_id, part_no, remote_id, state, asked_by, reason, began_at, finished_at, http_status, code, message
FROM cell.takedowns WHERE target_id = ANY(%(ids)s::uuid[]) ORDER BY began_at, id
"""

_INSTANTS: Final = """
SELECT target_id, slot_at, claimed_at, accepted_at, first_seen_at,
       extract(epoch FROM claimed_at - slot_at)::float8 AS slot_to_claim_seconds,
       extract(epoch FROM accepted_at - claimed_at)::float8 AS claim_to_acceptance_seconds,
       extract(epoch FROM first_seen_at - accepted_at)::float8 AS acceptance_to_seen_seconds
FROM cell.target_instants WHERE target_id = ANY(%(ids)s::uuid[])
"""

_HISTORY: Final = """
SELECT target_id, at, actor, from_status, to_status, reason, detail
FROM cell.target_history WHERE target_id = ANY(%(ids)s::uuid[]) ORDER BY id
"""

_SCHEDULES: Final = """
SELECT target_id, publish_at, local_time, time_zone, scheduled_by, scheduled_at
FROM cell.post_schedules WHERE target_id = ANY(%(ids)s::uuid[]) ORDER BY seq
"""


def list_targets(
    session: Session, *, status: str | None = None, limit: int = 50, after: UUID | None = None
) -> list[TargetLine]:
    """List targets: what is due next first, then those without a time, then the past, the latest first.

    `after` is the last target of the page before.
    """
    last = None if after is None else session.one(_LAST, {"id": after})
    begin = 0 if last is None else last.pop("section")
    place = last or {"id": None, "publish_at": None}
    found: list[Row] = []
    for number, (condition, order) in enumerate(_SECTIONS[begin:]):
        if len(found) == limit:
            break
        sql = f"{_LINE} WHERE (%(status)s::text IS NULL OR t.status = %(status)s) AND {condition} ORDER BY {order}"
        values = {"status": status, "from_start": last is None or number > 0, **place}
        found += session.all(f"{sql} LIMIT %(limit)s", {**values, "limit": limit - len(found)})
    return [_line(row) for row in found]


def show_target(session: Session, target_id: UUID) -> TargetView | None:
    """Show one target with its parts, attempts and history; None where this tenant has none of that id."""
    rows = session.all(_LINE + "WHERE t.id = %(id)s", {"id": target_id})
    views = _target_views(session, rows)
    return views[0] if views else None


def show_post(session: Session, post_id: UUID) -> PostView | None:
    """Show a post with its versions and targets; None where this tenant has none of that id."""
    post = session.one(_POST, {"post_id": post_id})
    if post is None:
        return None
    targets = _target_views(session, session.all(_LINE + _OF_POST, {"post_id": post_id}))
    return PostView(
        **{**post, "labels": tuple(post["labels"])},
        sentence=sentence_of(standing_of(target.line) for target in targets),
        versions=tuple(VersionView(**row) for row in session.all(_VERSIONS, {"post_id": post_id})),
        targets=tuple(targets),
    )


def list_tenants(session: Session) -> list[TenantLine]:
    """List every tenant by name; the session is one of the central database."""
    rows = session.all(
        "SELECT id, name, cell, status, suspended_at, monthly_limit, created_at"
        " FROM central.tenants ORDER BY name"
    )
    return [TenantLine(**row) for row in rows]


def counts(session: Session) -> dict[str, int]:
    """Count the tenant's targets by status; a status without any is left out."""
    rows = session.all("SELECT status, count(*) AS n FROM cell.post_targets GROUP BY status ORDER BY status")
    return {row["status"]: row["n"] for row in rows}


def standing_of(line: TargetLine) -> str:
    """Return a target's status, with how much of it is live where that is only a part: no "failed" hides a post."""
    if not line.parts_live or line.parts_live == line.parts:
        return line.status
    return f"{line.status} with {line.parts_live} of {line.parts} parts live"


def sentence_of(statuses: Iterable[str]) -> str:
    """Say how a post stands, for people: "published on 8 of 10, 2 failed". Cancelled targets are left out.

    `statuses` are those of its targets, or what `standing_of` says of each.
    """
    found = list(statuses)
    counted = Counter(status for status in found if status != "cancelled")
    total = counted.total()
    if not total:
        return "cancelled" if found else "on no account"
    published = sum(number for status, number in counted.items() if status.startswith("published"))
    del counted["published"]
    rest = [f"{number} {status.replace('_', ' ')}" for status, number in sorted(counted.items())]
    return ", ".join([f"published on {published} of {total}", *rest])


def _target_views(session: Session, rows: Sequence[Row]) -> list[TargetView]:
    """Read what belongs to the targets of `rows`, one statement a table however many they are."""
    ids = [row["id"] for row in rows]
    instants = _by_target(session, _INSTANTS, ids, InstantsView)
    parts = _by_target(session, _PARTS, ids, PartView)
    attempts = _by_target(session, _ATTEMPTS, ids, AttemptView)
    takedowns = _by_target(session, _TAKEDOWNS, ids, TakedownView)
    history = _by_target(session, _HISTORY, ids, MoveView)
    schedules = _by_target(session, _SCHEDULES, ids, ScheduleView)
    return [
        TargetView(
            line=_line(row),
            account_id=row["account_id"],
            version_id=row["version_id"],
            seq=row["seq"],
            publish_by=row["publish_by"],
            instants=instants[row["id"]][0],
            parts=tuple(parts.get(row["id"], ())),
            attempts=tuple(attempts.get(row["id"], ())),
            takedowns=tuple(takedowns.get(row["id"], ())),
            history=tuple(history.get(row["id"], ())),
            schedules=tuple(schedules.get(row["id"], ())),
        )
        for row in rows
    ]


def _by_target(
    session: Session, sql: str, ids: Sequence[UUID], record: Callable[..., _Record]
) -> Mapping[UUID, list[_Record]]:
    found: dict[UUID, list[_Record]] = {}
    for row in session.all(sql, {"ids": list(ids)}) if ids else ():
        found.setdefault(row.pop("target_id"), []).append(record(**row))
    return found


def _line(row: Row) -> TargetLine:
    hidden = ("account_id", "version_id", "seq", "publish_by")
    shown = {name: value for name, value in row.items() if name not in hidden}
    return TargetLine(**{**shown, "text": _excerpt(row["text"] or "")})


def _excerpt(text: str) -> str:
    """Return the beginning of a text on one line, cut between what a reader sees as characters."""
    characters = _GRAPHEME.findall(" ".join(text.split()))
    if len(characters) <= _EXCERPT:
        return "".join(characters)
    return "".join(characters[: _EXCERPT - 1]) + "…"
