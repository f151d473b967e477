"""Settling: hop 5's statements. An answer is recorded while its claim's token holds, in one transaction.

`accepted` is the hot one: the last part is live, so target, part, attempt, sighting and publication change in
one statement. Everything else locks the row, lets a pure decision be made on it, and applies that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from socialq.store.cell import outbox_events, post_targets, target_parts

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.outcomes import Accepted, Evidence
    from socialq.domain.settlement import Decision
    from socialq.domain.targets import PartState, Target
    from socialq.store.sessions import Session, Statement

_ACCEPTED = """
WITH target AS (
    UPDATE cell.post_targets t
    SET status = 'published', reason = NULL, detail = NULL, published_at = clock_timestamp(),
        lease_token = NULL, lease_until = NULL, holds_account = false, seq = t.seq + 1,
        next_kind = CASE WHEN %(look_again_seconds)s::float8 IS NOT NULL THEN 'look' END,
        next_at = clock_timestamp() + %(look_again_seconds)s::float8 * interval '1 second',
        updated_at = now()
    WHERE t.id = %(target_id)s AND t.status = 'publishing' AND t.lease_token = %(token)s
    RETURNING t.tenant_id, t.id, t.account_id, t.version_id, t.seq, t.attempt_count, t.key_instant,
              t.next_kind, t.next_at, t.published_at
), part AS (
    UPDATE cell.target_parts tp
    SET remote_id = %(remote_id)s, permalink = %(permalink)s, remote_ref = %(remote_ref)s,
        accepted_at = clock_timestamp(), first_seen_at = clock_timestamp()
    FROM target t
    WHERE tp.target_id = t.id AND tp.part_no = %(part_no)s AND tp.remote_id IS NULL
    RETURNING tp.target_id
), attempt AS (
    UPDATE cell.publishing_attempts p
    SET state = 'accepted', finished_at = clock_timestamp(), http_status = %(http_status)s, code = %(code)s,
        message = %(message)s, request_id = %(request_id)s
    FROM target t
    WHERE p.target_id = t.id AND p.attempt_no = t.attempt_count
), sighting AS (
    INSERT INTO cell.sightings (tenant_id, account_id, remote_id, target_id, part_no, source, first_seen_at)
    SELECT tenant_id, account_id, %(remote_id)s, id, %(part_no)s, 'answer', clock_timestamp() FROM target
    ON CONFLICT (account_id, remote_id) DO NOTHING
    RETURNING remote_id
), publication AS (
    INSERT INTO cell.publications (tenant_id, publication_key, target_id, version_id, key_instant, remote_id,
                                   permalink, published_at)
    SELECT tenant_id, %(publication_key)s, id, version_id, key_instant, %(first_remote_id)s,
           %(first_permalink)s, published_at
    FROM target
    ON CONFLICT DO NOTHING
), event AS (
    INSERT INTO cell.outbox_events (tenant_id, target_id, seq, kind)
    SELECT tenant_id, id, seq, 'target.published' FROM target WHERE next_kind IS NOT NULL
)
SELECT t.seq, t.next_kind, t.next_at,
       EXISTS (SELECT FROM sighting) AND EXISTS (SELECT FROM part) AS first_seen
FROM target t
"""

_LOCK = f"""
SELECT {post_targets.COLUMNS}, clock_timestamp() AS read_at
FROM cell.post_targets WHERE id = %(target_id)s FOR NO KEY UPDATE
"""

_PART_ACCEPTED = """
WITH held AS (
    UPDATE cell.post_targets
    SET lease_until = clock_timestamp() + %(lease_seconds)s * interval '1 second', updated_at = now()
    WHERE id = %(target_id)s AND status = 'publishing' AND lease_token = %(token)s
    RETURNING tenant_id, id, account_id
), part AS (
    UPDATE cell.target_parts tp
    SET remote_id = %(remote_id)s, permalink = %(permalink)s, remote_ref = %(remote_ref)s,
        accepted_at = clock_timestamp(), first_seen_at = clock_timestamp()
    FROM held h
    WHERE tp.target_id = h.id AND tp.part_no = %(part_no)s AND tp.remote_id IS NULL
    RETURNING tp.target_id
), sighting AS (
    INSERT INTO cell.sightings (tenant_id, account_id, remote_id, target_id, part_no, source, first_seen_at)
    SELECT tenant_id, account_id, %(remote_id)s, id, %(part_no)s, 'answer', clock_timestamp() FROM held
    ON CONFLICT (account_id, remote_id) DO NOTHING
    RETURNING remote_id
)
SELECT EXISTS (SELECT FROM sighting) AND EXISTS (SELECT FROM part) AS first_seen FROM held
"""

_END_ATTEMPT = """
UPDATE cell.publishing_attempts
SET state = %(state)s, finished_at = clock_timestamp(), http_status = %(http_status)s, code = %(code)s,
    message = %(message)s, request_id = %(request_id)s
WHERE target_id = %(target_id)s AND attempt_no = %(attempt_no)s AND state IN ('in_flight', 'unknown')
"""

# The machine role sees neither the platform's status nor its request id.
_END_ATTEMPT_OF_LOST_WORKER = """
UPDATE cell.publishing_attempts
SET state = %(state)s, finished_at = clock_timestamp(), code = %(code)s, message = %(message)s
WHERE target_id = %(target_id)s AND attempt_no = %(attempt_no)s AND state = 'in_flight'
"""

_ACCOUNT_EFFECT = """
UPDATE cell.accounts
SET status = COALESCE(%(status)s, status),
    status_reason = CASE WHEN %(status)s::text IS NOT NULL THEN %(reason)s ELSE status_reason END,
    hold_until = GREATEST(hold_until, %(hold_until)s),
    token_expires_at = CASE WHEN %(token_is_over)s THEN LEAST(token_expires_at, now()) ELSE token_expires_at END,
    flagged_at = CASE WHEN %(flag)s::text IS NOT NULL THEN now() ELSE flagged_at END,
    flag_reason = COALESCE(%(flag)s, flag_reason), updated_at = now()
WHERE id = %(account_id)s
"""

_SEE = """
INSERT INTO cell.sightings (tenant_id, account_id, remote_id, target_id, part_no, source, first_seen_at)
VALUES (%(tenant_id)s, %(account_id)s, %(remote_id)s, %(target_id)s, %(part_no)s, %(source)s, clock_timestamp())
ON CONFLICT (account_id, remote_id) DO NOTHING
"""

_SEEN = """
SELECT target_id, part_no FROM cell.sightings
WHERE account_id = %(account_id)s AND remote_id = %(remote_id)s
"""

_PUBLISH = """
INSERT INTO cell.publications (tenant_id, publication_key, target_id, version_id, key_instant, remote_id,
                               permalink, published_at)
VALUES (%(tenant_id)s, %(publication_key)s, %(target_id)s, %(version_id)s, %(key_instant)s, %(remote_id)s,
        %(permalink)s, %(published_at)s)
ON CONFLICT DO NOTHING
"""

_SIGHTINGS_OF_PART = """
SELECT s.remote_id FROM cell.sightings s
WHERE s.target_id = %(target_id)s AND s.part_no = %(part_no)s AND NOT EXISTS (
    SELECT FROM cell.takedowns d
    WHERE d.target_id = s.target_id AND d.remote_id = s.remote_id AND d.state = 'taken_down')
ORDER BY s.remote_id
"""


def accepted(
    *,
    target_id: UUID,
    token: UUID,
    part_no: int,
    answer: Accepted,
    first: tuple[str, str | None],
    publication_key: str,
    look_again_seconds: float | None,
) -> Statement:
    """Build the settle of a last part that is live: returns seq, next work, first_seen; no row: claim lost."""
    return _ACCEPTED, {
        "target_id": target_id,
        "token": token,
        "part_no": part_no,
        "remote_id": answer.remote_id,
        "permalink": answer.permalink,
        "remote_ref": Jsonb(answer.remote_ref),
        "first_remote_id": first[0],
        "first_permalink": first[1],
        "publication_key": publication_key,
        "look_again_seconds": look_again_seconds,
        **evidence_values(answer.evidence),
    }


def part_accepted(
    *, target_id: UUID, token: UUID, part_no: int, answer: Accepted, lease_seconds: float
) -> Statement:
    """Build the statement for a part that is live with more to follow: no row, the claim is lost."""
    return _PART_ACCEPTED, {
        "target_id": target_id,
        "token": token,
        "part_no": part_no,
        "remote_id": answer.remote_id,
        "permalink": answer.permalink,
        "remote_ref": Jsonb(answer.remote_ref),
        "lease_seconds": lease_seconds,
    }


def lock(session: Session, target_id: UUID) -> tuple[Target, list[PartState], datetime] | None:
    """Lock a target and read it, its parts, and the cell's clock."""
    row = session.one(_LOCK, {"target_id": target_id})
    if row is None:
        return None
    read_at = row.pop("read_at")
    return post_targets.target_of(row), target_parts.scheduling_parts(session, target_id), read_at


def apply(
    session: Session, target: Target, part: PartState, decision: Decision, *, by_machine: bool = False
) -> Target | None:
    """Apply a decision to a locked target and its part; None when the row changed meanwhile."""
    moved = post_targets.apply(session, target, decision.move)
    if moved is None:
        return None
    if decision.clear_mark or decision.count_unknown:
        target_parts.resolve_mark(
            session,
            target_id=target.id,
            part_no=part.part_no,
            clear=decision.clear_mark,
            count_unknown=decision.count_unknown,
        )
    effect = decision.account
    if effect is not None and not by_machine:
        session.run(
            _ACCOUNT_EFFECT,
            {
                "account_id": target.account_id,
                "status": effect.status,
                "reason": effect.reason or None,
                "hold_until": effect.hold_until if effect.hold_scope == "account" else None,
                "flag": effect.flag,
                "token_is_over": effect.token_is_over,
            },
        )
    return moved


def end_attempt(
    session: Session,
    *,
    target_id: UUID,
    attempt_no: int,
    state: str,
    evidence: Evidence,
    by_machine: bool = False,
) -> None:
    """Record how an attempt ended; one that has ended stays as it is."""
    values = {"target_id": target_id, "attempt_no": attempt_no, "state": state, **evidence_values(evidence)}
    session.run(_END_ATTEMPT_OF_LOST_WORKER if by_machine else _END_ATTEMPT, values)


def see(session: Session, *, target: Target, part_no: int, remote_id: str, source: str) -> bool:
    """Record that `remote_id` was seen for a part; True unless another target or part owns it already."""
    values = {
        "tenant_id": target.tenant_id,
        "account_id": target.account_id,
        "remote_id": remote_id,
        "target_id": target.id,
        "part_no": part_no,
        "source": source,
    }
    session.run(_SEE, values)
    owner = session.one(_SEEN, values)
    return owner is not None and owner["target_id"] == target.id and owner["part_no"] == part_no


def sightings_of(session: Session, *, target_id: UUID, part_no: int) -> list[str]:
    """List the remote ids seen for one part and not taken down; more than one is the duplicate alarm."""
    rows = session.all(_SIGHTINGS_OF_PART, {"target_id": target_id, "part_no": part_no})
    return [row["remote_id"] for row in rows]


def publish(session: Session, *, target: Target, publication_key: str, first: PartState) -> None:
    """Record the publication of a target as it was sent; the same key twice keeps the first."""
    session.run(
        _PUBLISH,
        {
            "tenant_id": target.tenant_id,
            "publication_key": publication_key,
            "target_id": target.id,
            "version_id": target.version_id,
            "key_instant": target.key_instant,
            "remote_id": first.remote_id,
            "permalink": first.permalink,
            "published_at": target.published_at,
        },
    )


def leave_event(session: Session, target: Target, *, kind: str) -> None:
    """Leave an outbox event for the target's present seq."""
    outbox_events.leave(session, tenant_id=target.tenant_id, target_id=target.id, seq=target.seq, kind=kind)


def evidence_values(evidence: Evidence) -> dict[str, Any]:
    """Spell evidence as columns of an attempt."""
    return {
        "http_status": evidence.http_status,
        "code": evidence.code or None,
        "message": (evidence.message or None) and evidence.message[:500],
        "request_id": evidence.request_id,
    }
