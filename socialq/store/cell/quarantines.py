"""After a restore: stopping tenants, and doubting what may have been sent since the recovery point.

Stops go through the machine role, for all tenants of the cell at once; doubts through each tenant's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from socialq.store.cell.post_targets import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import Database, Row, Session

REASON: Final = "restored"
"""The reason of a target that is looked for because its database was restored."""

_PLACE: Final = """
SELECT EXISTS (SELECT FROM cell.tenant_state WHERE origin <> cell.identity()) AS moved,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS position
"""

# The latest that the restored database knows of: what came after it is lost, or there was nothing.
_LAST_KNOWN: Final = """
SELECT COALESCE((SELECT created_at FROM cell.outbox_events ORDER BY id DESC LIMIT 1),
                clock_timestamp() - interval '1 day') AS at
"""

# Whoever is stopped by a person stays stopped by that person, with what they said.
_STOP: Final = """
UPDATE cell.tenant_state
SET stopped_at = COALESCE(stopped_at, clock_timestamp()), updated_at = now(),
    stop_reason = CASE WHEN stopped_by <@ '{quarantine}' THEN %(reason)s ELSE stop_reason END,
    stopped_by = array_remove(stopped_by, 'quarantine') || ARRAY['quarantine']
WHERE %(everybody)s OR origin <> cell.identity()
RETURNING tenant_id
"""

_COMPLETE: Final = """
UPDATE cell.tenant_state SET origin = cell.identity(), updated_at = now() WHERE tenant_id = ANY (%(tenants)s::uuid[])
"""

_RELEASE: Final = """
UPDATE cell.tenant_state
SET stopped_by = array_remove(stopped_by, 'quarantine'), updated_at = now(),
    stopped_at = CASE WHEN stopped_by <@ '{quarantine}' THEN NULL ELSE stopped_at END,
    stop_reason = CASE WHEN stopped_by <@ '{quarantine}' THEN NULL ELSE stop_reason END
WHERE 'quarantine' = ANY (stopped_by) AND origin = cell.identity()
  AND (%(tenant)s::uuid IS NULL OR tenant_id = %(tenant)s)
RETURNING tenant_id, stopped_at IS NOT NULL AS stays
"""

_STOPPED: Final = "SELECT count(*) AS stopped FROM cell.tenant_state WHERE 'quarantine' = ANY (stopped_by)"

_SEQS: Final = "SELECT id, tenant_id, seq, status FROM cell.post_targets WHERE id = ANY (%(ids)s::uuid[])"

_DOUBTFUL: Final = f"""
SELECT {COLUMNS} FROM cell.post_targets
WHERE reason IS DISTINCT FROM '{REASON}'
  AND (status IN ('publishing', 'unknown_outcome')
       OR status IN ('scheduled', 'retry_scheduled') AND (next_at <= clock_timestamp() OR id = ANY (%(ahead)s::uuid[])))
ORDER BY id LIMIT %(limit)s
FOR NO KEY UPDATE
"""

# One attempt more, which nobody has written down: its mark is from the recovery point, so that a look finds whatever
# was posted since. The key's instant freezes as it would have. Nobody holds the account: many may be doubted at once.
_DOUBT_FORM: Final = """
WITH doubted AS (
    UPDATE cell.post_targets t
    SET reason = 'restored', detail = %(detail)s, key_instant = COALESCE(t.key_instant, t.publish_at),
        attempt_count = t.attempt_count + 1, updated_at = now(), {moved}
    WHERE t.id = ANY (%(ids)s::uuid[]) {only}
    RETURNING t.tenant_id, t.id, t.version_id, t.seq, t.attempt_count, t.publish_at
), event AS (
    INSERT INTO cell.outbox_events (tenant_id, target_id, seq, kind)
    SELECT tenant_id, id, seq, 'target.doubted' FROM doubted
    ON CONFLICT (target_id, seq) DO NOTHING
), ended AS (
    UPDATE cell.publishing_attempts p
    SET state = 'unknown', finished_at = clock_timestamp(), code = 'restore.unknown', message = %(detail)s
    FROM doubted d WHERE p.target_id = d.id AND p.state = 'in_flight'
), marked AS (
    UPDATE cell.target_parts tp
    SET marked_at = CASE WHEN u.unresolved THEN tp.marked_at ELSE %(since)s END,
        marked_attempt = CASE WHEN u.unresolved THEN tp.marked_attempt ELSE d.attempt_count END,
        first_marked_at = COALESCE(tp.first_marked_at, %(since)s), mark_cleared = false,
        unknown_count = tp.unknown_count + CASE WHEN u.unresolved THEN 0 ELSE 1 END
    FROM doubted d, cell.target_parts o
    CROSS JOIN LATERAL (SELECT o.marked_at IS NOT NULL AND NOT o.mark_cleared AS unresolved) u
    WHERE tp.target_id = d.id AND o.target_id = tp.target_id AND o.part_no = tp.part_no AND tp.remote_id IS NULL
)
INSERT INTO cell.publishing_attempts (tenant_id, target_id, attempt_no, idempotency_key, token, state, worker,
                                      part_no, due_at, claimed_at, marked_at, finished_at, code, message)
SELECT d.tenant_id, d.id, d.attempt_count,
       encode(sha256(convert_to(
           d.tenant_id || ':' || d.id || ':' || d.version_id || ':' || d.attempt_count, 'UTF8')), 'hex'),
       gen_random_uuid(), 'unknown', 'restore',
       COALESCE((SELECT min(part_no) FROM cell.target_parts n WHERE n.target_id = d.id AND n.remote_id IS NULL), 1),
       COALESCE(d.publish_at, %(since)s), %(since)s, %(since)s, clock_timestamp(), 'restore.unknown', %(detail)s
FROM doubted d
RETURNING target_id
"""

_DOUBT: Final = _DOUBT_FORM.format(
    moved="""status = 'unknown_outcome', seq = t.seq + 1, next_kind = 'look',
        next_at = clock_timestamp() + %(first_look_seconds)s * interval '1 second', lease_token = NULL,
        lease_until = NULL, holds_account = false, lost_at = clock_timestamp(), looks_done = 0, looks_failed = 0""",
    only="",
)

# At rest with a person, who may have sent it since: what says "may be live" is a mark that nobody resolved.
_DOUBT_RESTING: Final = _DOUBT_FORM.format(
    moved="status = t.status, seq = t.seq + 1",
    only="AND t.status IN ('failed', 'needs_reconnect', 'needs_attention')",
)

# Not sent as far as this database knows, and planned since by somebody: said, for there is nothing to retry.
_NOTE: Final = """
UPDATE cell.post_targets SET status = status, reason = 'restored', detail = %(detail)s, updated_at = now()
WHERE id = ANY (%(ids)s::uuid[]) AND status IN ('draft', 'invalid', 'ready')
RETURNING id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a cell's database is, as far as it says."""

    moved: bool
    """It is not the database that its rows were last complete in: restored, promoted, or loaded from a dump."""
    position: int
    """Its server's count of transactions."""


def place(machine: Database) -> Place:
    """Read whether the database is another one than it was, and how far it has counted."""
    return Place(**machine.autocommit(_PLACE)[0])


def last_known(machine: Database) -> datetime:
    """Read the time of the last change that the database knows of: not after its recovery point."""
    at: datetime = machine.autocommit(_LAST_KNOWN)[0]["at"]
    return at


def stop(machine: Database, *, reason: str, everybody: bool) -> list[UUID]:
    """Stop the tenants whose rows come from another database, or everybody; returns who is stopped."""
    [rows] = machine.pipelined((_STOP, {"reason": reason, "everybody": everybody}), actor="quarantine")
    return sorted(row["tenant_id"] for row in rows)


def complete(machine: Database, tenants: Sequence[UUID]) -> None:
    """Note that what may have been lost of these tenants is being looked for: this is their database now."""
    machine.pipelined((_COMPLETE, {"tenants": list(tenants)}), actor="quarantine")


def release(machine: Database, *, tenant: UUID | None) -> list[UUID]:
    """Release one tenant, or all, whose quarantine is complete; returns who may publish again.

    Not whom a person stopped: that stop is not the quarantine's to lift.
    """
    [rows] = machine.pipelined((_RELEASE, {"tenant": tenant}), actor="quarantine")
    return sorted(row["tenant_id"] for row in rows if not row["stays"])


def stopped(machine: Database) -> int:
    """Count the tenants that a quarantine stops."""
    return int(machine.autocommit(_STOPPED)[0]["stopped"])


def seqs_of(machine: Database, ids: Sequence[UUID]) -> list[Row]:
    """Read id, tenant_id, seq and status of targets."""
    return machine.autocommit(_SEQS, {"ids": list(ids)})


def doubtful(session: Session, *, ahead: Sequence[UUID], limit: int) -> list[Row]:
    """Lock targets that may have been sent since the recovery point, in flight or due or `ahead` in the index."""
    return session.all(_DOUBTFUL, {"ahead": list(ahead), "limit": limit})


def doubt(
    session: Session, ids: Sequence[UUID], *, since: datetime, first_look_seconds: float, detail: str
) -> int:
    """Make locked targets unknown outcomes that are looked for; returns how many."""
    values: dict[str, Any] = {
        "ids": list(ids),
        "since": since,
        "first_look_seconds": first_look_seconds,
        "detail": detail,
    }
    return len(session.all(_DOUBT, values))


def doubt_resting(session: Session, ids: Sequence[UUID], *, since: datetime, detail: str) -> int:
    """Say of targets at rest whose change is lost that they may be live: a retry tells so; returns how many."""
    values: dict[str, Any] = {"ids": list(ids), "since": since, "detail": detail}
    return len(session.all(_DOUBT_RESTING, values)) + len(
        session.all(_NOTE, {"ids": list(ids), "detail": detail})
    )
