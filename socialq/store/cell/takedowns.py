"""`takedowns`: tries to take a live part down, and what of a target is live as far as is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from socialq.store.cell.settlements import evidence_values

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from socialq.domain.outcomes import Evidence
    from socialq.store.sessions import Row, Session

# Every id that was ever seen for the target, copies too, the last part first, without what is down already.
_LIVE: Final = """
SELECT s.part_no, s.remote_id FROM cell.sightings s
WHERE s.target_id = %(target_id)s AND NOT EXISTS (
    SELECT FROM cell.takedowns d
    WHERE d.target_id = s.target_id AND d.remote_id = s.remote_id AND d.state = 'taken_down')
ORDER BY s.part_no DESC, s.first_seen_at DESC, s.remote_id
"""

# Whoever began and did not say how it ended for so long has died; asking again does no harm.
_BEGIN: Final = """
INSERT INTO cell.takedowns (tenant_id, id, target_id, part_no, remote_id, asked_by, reason)
SELECT %(tenant_id)s, %(id)s, %(target_id)s, %(part_no)s, %(remote_id)s, %(asked_by)s, %(reason)s
WHERE NOT EXISTS (
    SELECT FROM cell.takedowns
    WHERE target_id = %(target_id)s AND remote_id = %(remote_id)s AND state = 'in_flight'
      AND began_at > clock_timestamp() - %(life_seconds)s * interval '1 second')
"""

_LOST: Final = """
UPDATE cell.takedowns SET state = 'unknown', finished_at = clock_timestamp(), code = 'worker.lost',
       message = 'whoever asked stopped before the answer was recorded'
WHERE target_id = %(target_id)s AND remote_id = %(remote_id)s AND state = 'in_flight' AND id <> %(id)s
"""

_END: Final = """
UPDATE cell.takedowns
SET state = %(state)s, finished_at = clock_timestamp(), http_status = %(http_status)s, code = %(code)s,
    message = %(message)s, request_id = %(request_id)s
WHERE id = %(id)s
"""

_TOUCHED: Final = """
SELECT COALESCE(bool_or(state = 'taken_down'), false) AS taken_down,
       COALESCE(bool_or(state = 'in_flight' AND began_at > clock_timestamp() - %(life_seconds)s * interval '1 second'),
                false) AS in_flight
FROM cell.takedowns WHERE target_id = %(target_id)s
"""


def touched(session: Session, target_id: UUID, *, life_seconds: float = 120.0) -> tuple[bool, bool]:
    """Say whether a part of a target was taken down, and whether one is being taken down now."""
    row = session.one(_TOUCHED, {"target_id": target_id, "life_seconds": life_seconds})
    return (False, False) if row is None else (row["taken_down"], row["in_flight"])


def live(session: Session, target_id: UUID) -> list[Row]:
    """Read part_no and remote_id of everything of a target that is live as far as is known, the last part first."""
    return session.all(_LIVE, {"target_id": target_id})


def begin(session: Session, values: Mapping[str, Any], *, life_seconds: float) -> bool:
    """Begin a try; False: another one of the same id is under way, and younger than `life_seconds`."""
    begun = session.run(_BEGIN, {**values, "life_seconds": life_seconds}) == 1
    if begun:
        session.run(_LOST, values)
    return begun


def end(session: Session, takedown_id: UUID, *, state: str, evidence: Evidence) -> None:
    """Record how a try ended: `taken_down`, `unknown` or `failed`."""
    session.run(_END, {"id": takedown_id, "state": state, **evidence_values(evidence)})
