"""`late_evidence`: acceptances that could not be recorded in their cell, kept here until they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.hops import LateEvidence
    from socialq.store.sessions import Row, Session

_KEEP = """
INSERT INTO central.late_evidence (tenant_id, cell, target_id, part_no, attempt_no, publication_key, remote_id,
                                   permalink, remote_ref)
VALUES (%(tenant_id)s, %(cell)s, %(target_id)s, %(part_no)s, %(attempt_no)s, %(publication_key)s, %(remote_id)s,
        %(permalink)s, %(remote_ref)s)
ON CONFLICT (target_id, part_no, remote_id) DO NOTHING
"""

_COLUMNS = """
id, tenant_id, cell, target_id, part_no, attempt_no, publication_key, remote_id, permalink, remote_ref
"""

_OF_TARGET = f"""
SELECT {_COLUMNS} FROM central.late_evidence WHERE target_id = %(target_id)s AND applied_at IS NULL ORDER BY id
"""

_OF_CELL = f"""
SELECT {_COLUMNS} FROM central.late_evidence WHERE cell = %(cell)s AND applied_at IS NULL ORDER BY id LIMIT %(limit)s
"""

_APPLIED = "UPDATE central.late_evidence SET applied_at = now() WHERE id = ANY (%(ids)s)"

_APPLY_AGAIN = """
UPDATE central.late_evidence SET applied_at = NULL WHERE cell = %(cell)s AND applied_at >= %(since)s
"""


def keep(session: Session, evidence: LateEvidence, *, cell: str) -> None:
    """Keep one acceptance; the same one twice is kept once."""
    session.run(
        _KEEP,
        {
            "tenant_id": evidence.tenant_id,
            "cell": cell,
            "target_id": evidence.target_id,
            "part_no": evidence.part_no,
            "attempt_no": evidence.attempt_no,
            "publication_key": evidence.publication_key,
            "remote_id": evidence.remote_id,
            "permalink": evidence.permalink,
            "remote_ref": Jsonb(dict(evidence.remote_ref)),
        },
    )


def of_target(session: Session, target_id: UUID) -> list[Row]:
    """Read what waits for one target."""
    return session.all(_OF_TARGET, {"target_id": target_id})


def of_cell(session: Session, cell: str, *, limit: int) -> list[Row]:
    """Read what waits for a cell, oldest first."""
    return session.all(_OF_CELL, {"cell": cell, "limit": limit})


def apply_again(session: Session, *, cell: str, since: datetime) -> int:
    """Let what was recorded in a cell since an instant be recorded again: the cell has lost it. Returns how many."""
    return session.run(_APPLY_AGAIN, {"cell": cell, "since": since})


def mark_applied(session: Session, ids: Sequence[int]) -> None:
    """Note that these are recorded in their cell."""
    session.run(_APPLIED, {"ids": list(ids)})
