"""`consents`: consents under way, from the address a person is sent to until they have picked their channels.

Secrets are stored as hashes where they only come back, encrypted where they are needed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from socialq.store.sessions import Database, Row, Session

_COLUMNS: Final = (
    "id, tenant_id, client_id, platform, base_url, provider_app_id, redirect_uri, code_verifier, expected_user,"
    " begun_by, expires_at, channels"
)

_INSERT: Final = """
INSERT INTO central.consents (id, tenant_id, client_id, platform, base_url, provider_app_id, redirect_uri,
                              state_hash, code_verifier, expected_user, begun_by, expires_at)
VALUES (%(id)s, %(tenant_id)s, %(client_id)s, %(platform)s, %(base_url)s, %(provider_app_id)s, %(redirect_uri)s,
        %(state_hash)s, %(code_verifier)s, %(expected_user)s, %(begun_by)s,
        now() + %(seconds)s * interval '1 second')
RETURNING expires_at
"""

_TAKE: Final = f"""
UPDATE central.consents SET returned_at = now()
WHERE state_hash = %(state_hash)s AND platform = %(platform)s AND returned_at IS NULL AND expires_at > now()
RETURNING {_COLUMNS}
"""

_KEEP_CHANNELS: Final = """
UPDATE central.consents SET pick_hash = %(pick_hash)s, channels = %(channels)s,
       expires_at = now() + %(seconds)s * interval '1 second'
WHERE id = %(id)s
"""

_TO_PICK: Final = f"""
SELECT {_COLUMNS} FROM central.consents WHERE pick_hash = %(pick_hash)s AND expires_at > now()
"""


def insert(session: Session, values: Mapping[str, Any], *, seconds: float) -> Row:
    """Insert a consent that is over in `seconds`; returns its `expires_at`."""
    row = session.one(_INSERT, {**values, "seconds": seconds})
    assert row is not None  # noqa: S101 - an INSERT without a condition returns its row
    return row


def take(database: Database, *, state_hash: str, platform: str) -> Row | None:
    """Take the consent that a state belongs to, once; None: unknown, taken, over, or of another platform."""
    rows = database.autocommit(_TAKE, {"state_hash": state_hash, "platform": platform})
    return rows[0] if rows else None


def keep_channels(
    session: Session, *, consent_id: UUID, pick_hash: str, channels: str, seconds: float
) -> None:
    """Keep what was granted (encrypted) until a person has picked, for `seconds` at most."""
    session.run(
        _KEEP_CHANNELS,
        {"id": consent_id, "pick_hash": pick_hash, "channels": channels, "seconds": seconds},
    )


def to_pick(database: Database, *, pick_hash: str) -> Row | None:
    """Read the consent whose channels may be picked with this; None: unknown, picked, or over."""
    rows = database.autocommit(_TO_PICK, {"pick_hash": pick_hash})
    return rows[0] if rows else None


def forget(session: Session, consent_id: UUID) -> None:
    """Delete a consent whose channels were picked: its tokens stand with their accounts now."""
    session.run("DELETE FROM central.consents WHERE id = %(id)s", {"id": consent_id})


def prune(session: Session) -> int:
    """Delete consents that are over; returns how many."""
    return session.run("DELETE FROM central.consents WHERE expires_at < now()")
