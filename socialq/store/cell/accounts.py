"""`accounts`: the channels of clients, each with its encrypted token.

Nothing here returns a token: only the publish path reads it (`work.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import Database, Row, Session

COLUMNS: Final = (
    "tenant_id, id, client_id, platform, handle, base_url, remote_user_id, display_name, provider_app_id, status,"
    " status_reason, token_expires_at, scopes, limits, hold_until, flagged_at, flag_reason, created_at"
)

_INSERT = f"""
INSERT INTO cell.accounts (tenant_id, id, client_id, platform, handle, base_url, remote_user_id, display_name,
                           access_token, refresh_token, token_expires_at, provider_app_id, granted_by, scopes,
                           limits)
VALUES (%(tenant_id)s, %(id)s, %(client_id)s, %(platform)s, %(handle)s, %(base_url)s, %(remote_user_id)s,
        %(display_name)s, %(access_token)s, %(refresh_token)s, %(token_expires_at)s, %(provider_app_id)s,
        %(granted_by)s, %(scopes)s, %(limits)s)
RETURNING {COLUMNS}
"""

# A person who connects an account anew has seen what was wrong with it: its flag goes as well. A refresh of the
# old tokens that is under way loses its lease, so that its answer can't replace the new ones.
_RECONNECT = f"""
UPDATE cell.accounts
SET handle = %(handle)s, base_url = %(base_url)s, display_name = %(display_name)s,
    access_token = %(access_token)s, refresh_token = COALESCE(%(refresh_token)s, refresh_token),
    token_expires_at = %(token_expires_at)s, provider_app_id = COALESCE(%(provider_app_id)s, provider_app_id),
    granted_by = %(granted_by)s, connected_at = now(),
    refreshed_at = NULL, refresh_lease = NULL, refresh_lease_until = NULL,
    scopes = %(scopes)s, limits = %(limits)s,
    status = 'active', status_reason = NULL, flagged_at = NULL, flag_reason = NULL, updated_at = now()
WHERE id = %(id)s
RETURNING {COLUMNS}
"""

_SWITCH = f"""
UPDATE cell.accounts SET status = %(status)s, status_reason = %(reason)s, updated_at = now()
WHERE id = %(id)s AND status = ANY (%(sources)s::text[])
RETURNING {COLUMNS}
"""

# What is connected since the person withdrew their consent is connected by another one. An account that is switched
# off stays so; its tokens are as dead.
_WITHDRAW = f"""
UPDATE cell.accounts
SET status = CASE WHEN status = 'disabled' THEN status ELSE 'needs_reconnect' END, status_reason = %(reason)s,
    refresh_lease = NULL, refresh_lease_until = NULL, updated_at = now()
WHERE id = %(id)s AND connected_at <= %(before)s
RETURNING {COLUMNS}
"""

_FORGET_PERSON = """
UPDATE cell.accounts
SET access_token = %(access_token)s, refresh_token = NULL, token_expires_at = NULL, granted_by = NULL,
    display_name = '', limits = '{}', updated_at = now()
WHERE id = %(id)s AND connected_at <= %(before)s
"""

# By the machine's role: which tenants a person has granted something is known to nobody else.
_GRANTED_BY = """
SELECT tenant_id, id FROM cell.accounts
WHERE provider_app_id = ANY (%(app_ids)s::uuid[]) AND (granted_by = %(user_id)s OR remote_user_id = %(user_id)s)
ORDER BY tenant_id, id
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


def switch(
    session: Session, account_id: UUID, *, status: str, reason: str | None, sources: Sequence[str]
) -> Row | None:
    """Switch an account that is in one of `sources`; None: it is not, or there is none."""
    values = {"id": account_id, "status": status, "reason": reason, "sources": list(sources)}
    return session.one(_SWITCH, values)


def lock_same(
    session: Session, *, platform: str, handle: str, base_url: str, remote_user_id: str
) -> list[Row]:
    """Lock the accounts that have this name, or that are this user: at most one of each."""
    return session.all(
        _SAME,
        {"platform": platform, "handle": handle, "base_url": base_url, "remote_user_id": remote_user_id},
    )


def withdraw(session: Session, account_id: UUID, *, before: datetime, reason: str) -> Row | None:
    """Mark an account whose consent was withdrawn; None: it was connected anew after `before` (aware)."""
    return session.one(_WITHDRAW, {"id": account_id, "before": before, "reason": reason})


def forget_person(session: Session, account_id: UUID, *, access_token: str, before: datetime) -> None:
    """Replace an account's tokens by `access_token` (encrypted, of no use), and drop what it says of a person.

    Not where it was connected again after `before`: those tokens are another consent's.
    """
    session.run(_FORGET_PERSON, {"id": account_id, "access_token": access_token, "before": before})


def granted_by(machine: Database, *, app_ids: Sequence[UUID], user_id: str) -> list[tuple[UUID, UUID]]:
    """Find what a person has granted to applications in one cell: (tenant, account)."""
    rows = machine.autocommit(_GRANTED_BY, {"app_ids": list(app_ids), "user_id": user_id})
    return [(row["tenant_id"], row["id"]) for row in rows]


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
