"""What there is to know of where a target is: in its cell, read as its tenant, and in the central database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from socialq.store.central import heartbeats

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import CellDatabases, Database, Row

_TARGET: Final = """
SELECT t.id, t.post_id, t.status, t.reason, t.detail, t.seq, t.next_kind, t.next_at, t.publish_at, t.publish_by,
       t.lease_until, t.lost_at, t.looks_done, t.attempt_count, t.published_at, t.account_id, t.platform,
       a.platform || ':' || a.handle AS account, a.provider_app_id, a.status AS account_status,
       a.status_reason AS account_reason, a.hold_until AS account_hold_until,
       s.status AS tenant_status, s.suspended_at, s.stopped_at, s.stop_reason,
       (SELECT max(h.at) FROM cell.target_history h WHERE h.target_id = t.id) AS moved_at,
       clock_timestamp() AS now
FROM cell.post_targets t
JOIN cell.accounts a ON a.id = t.account_id
JOIN cell.tenant_state s ON s.tenant_id = t.tenant_id
WHERE t.id = %(id)s
"""

_ATTEMPT: Final = """
SELECT attempt_no, part_no, state, worker, claimed_at, marked_at, finished_at, code, message
FROM cell.publishing_attempts WHERE target_id = %(id)s ORDER BY attempt_no DESC LIMIT 1
"""

_EVENT: Final = """
SELECT min(created_at) AS created_at, max(parked_at) AS parked_at, max(failure) AS failure
FROM cell.outbox_events WHERE target_id = %(id)s AND relayed_at IS NULL HAVING count(*) > 0
"""

_HOLDER: Final = """
SELECT o.id, o.status, o.updated_at FROM cell.post_targets t
JOIN cell.post_targets o ON o.account_id = t.account_id AND o.holds_account AND o.id <> t.id
WHERE t.id = %(id)s
"""

_INDEX: Final = """
SELECT seq, kind, status, due_at, ready_at, sends, enqueued_at, waits_for_account, account_id, platform,
       provider_app_id, now() AS now
FROM central.publish_dispatch_index WHERE target_id = %(id)s AND lane = 'main'
"""

_HOLDS: Final = """
SELECT scope, key, source, until, reason, set_by, set_at, holds_looks FROM central.holds
WHERE until > now() AND (scope, key) IN (
    ('account', %(account)s), ('app', %(app)s), ('platform', %(platform)s), ('cell', %(cell)s), ('tenant', %(tenant)s))
ORDER BY until DESC
"""

_OUT: Final = "SELECT count(*)::integer AS out FROM central.publish_dispatch_index WHERE status = 'enqueued'"


@dataclass(frozen=True, slots=True, kw_only=True)
class InCell:
    """What the cell knows."""

    target: Row
    attempt: Row | None
    event: Row | None
    """Changes that are not relayed."""
    holder: Row | None
    """Another target that has the account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InCentral:
    """What the central database knows."""

    index: Row | None
    holds: list[Row]
    ages: dict[str, float]
    """Seconds since each heartbeat."""
    out: int
    """Messages that are out to workers, of all targets."""


def in_cell(cell: CellDatabases, *, tenant_id: UUID, target_id: UUID) -> InCell | None:
    """Read what the cell knows; None where the tenant has no such target."""
    values = {"id": target_id}
    target, attempt, event, holder = cell.app.pipelined(
        *((sql, values) for sql in (_TARGET, _ATTEMPT, _EVENT, _HOLDER)), tenant=tenant_id, actor="why"
    )
    if not target:
        return None
    return InCell(
        target=target[0],
        attempt=attempt[0] if attempt else None,
        event=event[0] if event else None,
        holder=holder[0] if holder else None,
    )


def in_central(
    central: Database, *, tenant_id: UUID, target_id: UUID, cell: str, known: InCell | None
) -> InCentral:
    """Read what the central database knows; `known` tells account, application and platform, else the index does."""
    with central.transaction(actor="why") as session:
        index = session.one(_INDEX, {"id": target_id})
        place = known.target if known is not None else index or {}
        values = {
            "account": str(place.get("account_id")),
            "app": str(place.get("provider_app_id")),
            "platform": place.get("platform"),
            "cell": cell,
            "tenant": str(tenant_id),
        }
        holds = session.all(_HOLDS, values)
        out = session.one(_OUT) or {"out": 0}
        ages = {row["name"]: float(row["age_seconds"]) for row in heartbeats.read_all(session)}
    return InCentral(index=index, holds=holds, ages=ages, out=int(out["out"]))


def now_of(known: InCell | None, central: InCentral) -> datetime | None:
    """The databases' clock; None where neither knows the target."""
    if known is not None:
        now: datetime = known.target["now"]
        return now
    return None if central.index is None else central.index["now"]
