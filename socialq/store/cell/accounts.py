"""`accounts`: the channels of clients, each with its encrypted token.

Nothing here returns a token: only the publish path reads it (`work.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from socialq.store.sessions import Row, Session

COLUMNS: Final = (
    "tenant_id, id, client_id, platform, handle, base_url, remote_user_id, display_name, provider_app_id, status,"
    " status_reason, token_expires_at, scopes, limits, hold_until, flagged_at, flag_reason, created_at"
)

_INSERT = f"""
INSERT INTO cell.accounts (tenant_id, id, client_id, platform, handle, base_url, remote_user_id, display_name,
                           access_token, refresh_token, token_expires_at, provider_app_id, scopes, limits)
VALUES (%(tenant_id)s, %(id)s, %(client_id)s, %(platform)s, %(handle)s, %(base_url)s, %(remote_user_id)s,
        %(display_name)s, %(access_token)s, %(refresh_token)s, %(token_expires_at)s, %(provider_app_id)s, %(scopes)s,
        %(limits)s)
RETURNING {COLUMNS}
"""

# A person who connects an account anew has seen what was wrong with it: its flag goes as well. A refresh of the
# old tokens that is under way loses its lease, so that its answer can't replace the new ones.
_RECONNECT = f"""
UPDATE cell.accounts
SET handle = %(handle)s, base_url = %(base_url)s, display_name = %(display_name)s,
    access_token = %(access_token)s, refresh_token = COALESCE(%(refresh_token)s, refresh_token),
    token_expires_at = %(token_expires_at)s, provider_app_id = COALESCE(%(provider_app_id)s, provider_app_id),
    refreshed_at = NULL, refresh_lease = NULL, refresh_lease_until = NULL,
    scopes = %(scopes)s, limits = %(limits)s,
    status = 'active', status_reason = NULL, flagged_at = NULL, flag_reason = NULL, updated_at = now()
WHERE id = %(id)s
RETURNING {COLUMNS}
"""

_SAME = f"""
SELECT {COLUMNS} FROM cell.accounts
WHERE platform = %(platform)s
  AND (handle = %(handle)s OR (base_url = %(base_url)s AND remote_user_id = %(remote_user_id)s))
ORDER BY id
FOR NO KEY UPDATE
"""


def insert(session: Session, values: Mapping[str, Any]) -> Row:
    """Insert an account from the columns of the table; its tokens are encrypted already."""
    row = session.one(_INSERT, _written(values))
    assert row is not None  # noqa: S101 - an INSERT without a condition returns its row
    return row


def reconnect(session: Session, values: Mapping[str, Any]) -> Row | None:
    """Give the account `id` new tokens, and what the platform says of it now; one that is None stays."""
    return session.one(_RECONNECT, _written(values))


def lock_same(
    session: Session, *, platform: str, handle: str, base_url: str, remote_user_id: str
) -> list[Row]:
    """Lock the accounts that have this name, or that are this user: at most one of each."""
    return session.all(
        _SAME,
        {"platform": platform, "handle": handle, "base_url": base_url, "remote_user_id": remote_user_id},
    )


def by_ids(session: Session, ids: Sequence[UUID]) -> list[Row]:
    """Read accounts by id; what isn't this tenant's is not there."""
    return session.all(
        f"SELECT {COLUMNS} FROM cell.accounts WHERE id = ANY(%(ids)s::uuid[])", {"ids": list(ids)}
    )


def list_all(session: Session) -> list[Row]:
    """Read every account of the tenant, by platform and handle."""
    return session.all(f"SELECT {COLUMNS} FROM cell.accounts ORDER BY platform, handle")


def _written(values: Mapping[str, Any]) -> dict[str, Any]:
    return {**values, "scopes": sorted(values["scopes"]), "limits": Jsonb(dict(values["limits"]))}
