"""Refreshing a token, on the `accounts` row: leased and fenced like a publish.

Take the lease, ask the platform with no transaction open, then store the new pair while the lease is still
ours. A new pair is committed before anybody uses it. Tokens in and out of here are encrypted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import Statement

_TOKENS: Final = """
    id, platform, handle, base_url, remote_user_id, provider_app_id, status, status_reason, access_token,
    refresh_token, token_expires_at, refreshed_at, scopes, limits, hold_until
"""

# Compares the token that was seen: whoever comes second finds another one, and reads it instead.
_TAKE = f"""
UPDATE cell.accounts
SET refresh_lease = %(lease)s, refresh_lease_until = clock_timestamp() + %(lease_seconds)s * interval '1 second'
WHERE id = %(account_id)s AND status = 'active' AND refresh_token IS NOT NULL AND access_token = %(seen)s
  AND (refresh_lease_until IS NULL OR refresh_lease_until < clock_timestamp())
  AND (refreshed_at IS NULL OR refreshed_at < clock_timestamp() - %(interval_seconds)s * interval '1 second')
RETURNING {_TOKENS}, clock_timestamp() AS read_at
"""

_READ = f"SELECT {_TOKENS}, clock_timestamp() AS read_at FROM cell.accounts WHERE id = %(account_id)s"

_STORE = f"""
UPDATE cell.accounts
SET access_token = %(access_token)s, refresh_token = COALESCE(%(refresh_token)s, refresh_token),
    token_expires_at = %(expires_at)s, scopes = COALESCE(%(scopes)s, scopes), refreshed_at = clock_timestamp(),
    refresh_lease = NULL, refresh_lease_until = NULL, updated_at = now()
WHERE id = %(account_id)s AND refresh_lease = %(lease)s
RETURNING {_TOKENS}, clock_timestamp() AS read_at
"""

_RELEASE = """
UPDATE cell.accounts SET refresh_lease = NULL, refresh_lease_until = NULL
WHERE id = %(account_id)s AND refresh_lease = %(lease)s
"""

_LOST = """
UPDATE cell.accounts
SET status = 'needs_reconnect', status_reason = %(reason)s, refresh_lease = NULL, refresh_lease_until = NULL,
    updated_at = now()
WHERE id = %(account_id)s AND refresh_lease = %(lease)s AND refresh_token = %(spent)s
RETURNING id
"""


def take_lease(
    *, account_id: UUID, lease: UUID, seen: str, lease_seconds: float, interval_seconds: float
) -> Statement:
    """Build the lease of a refresh; no row: another one runs, has run, or has just run."""
    return _TAKE, {
        "account_id": account_id,
        "lease": lease,
        "seen": seen,
        "lease_seconds": lease_seconds,
        "interval_seconds": interval_seconds,
    }


def read(account_id: UUID) -> Statement:
    """Build the read of an account's tokens as they stand."""
    return _READ, {"account_id": account_id}


def store_pair(
    *,
    account_id: UUID,
    lease: UUID,
    access_token: str,
    refresh_token: str | None,
    expires_at: datetime | None,
    scopes: Sequence[str] | None,
) -> Statement:
    """Build the store of a new pair while the lease is ours; a missing refresh token keeps the stored one."""
    return _STORE, {
        "account_id": account_id,
        "lease": lease,
        "access_token": access_token,
        "refresh_token": refresh_token,
        "expires_at": expires_at,
        "scopes": None if scopes is None else list(scopes),
    }


def release(*, account_id: UUID, lease: UUID) -> Statement:
    """Build the end of a lease whose refresh came to nothing."""
    return _RELEASE, {"account_id": account_id, "lease": lease}


def lost(*, account_id: UUID, lease: UUID, spent: str, reason: str) -> Statement:
    """Build the end of an account whose refresh token is spent, while it is still the one that was used."""
    return _LOST, {"account_id": account_id, "lease": lease, "spent": spent, "reason": reason}
