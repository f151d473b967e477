"""Refreshing a token, on the `accounts` row: leased and fenced like a publish.

Take the lease, ask the platform with no transaction open, then store the new pair while the lease is still
ours. A new pair is committed before anybody uses it. Tokens in and out of here are encrypted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
SET refresh_lease = %(lease)s, refresh_lease_until = clock_timestamp() + %(lease_seconds)s * interval '1 second',
    refresh_tried_at = clock_timestamp()
WHERE id = %(account_id)s AND status = 'active' AND (refresh_token IS NOT NULL OR %(renews_itself)s)
  AND access_token = %(seen)s
  AND (refresh_lease_until IS NULL OR refresh_lease_until < clock_timestamp())
  AND (refreshed_at IS NULL OR refreshed_at < clock_timestamp() - %(interval_seconds)s * interval '1 second')
  AND GREATEST(refreshed_at, connected_at) <= clock_timestamp() - %(least_age_seconds)s * interval '1 second'
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
WHERE id = %(account_id)s AND refresh_lease = %(lease)s AND COALESCE(refresh_token, access_token) = %(spent)s
RETURNING id
"""


# By the machine role: no token, just when. What was connected on one day does not end on one day: each account
# has its own place in the second half of the time before its end.
_DUE = """
SELECT a.tenant_id, a.id FROM cell.accounts a
CROSS JOIN LATERAL (SELECT (%(aheads)s::jsonb ->> a.platform)::float8 * interval '1 second' AS ahead) p
WHERE a.status = 'active' AND p.ahead IS NOT NULL AND a.token_expires_at IS NOT NULL
  AND (a.refresh_tried_at IS NULL OR a.refresh_tried_at < clock_timestamp() - %(again_seconds)s * interval '1 second')
  AND (a.token_expires_at - p.ahead * (0.5 + (hashtextextended(a.id::text, 0) & 1023) / 2048.0) < clock_timestamp()
       AND a.token_expires_at > clock_timestamp()
       OR GREATEST(a.refreshed_at, a.connected_at) < clock_timestamp() - %(idle_seconds)s * interval '1 second')
ORDER BY a.refresh_tried_at NULLS FIRST, a.token_expires_at LIMIT %(limit)s
"""

_TRIED = "UPDATE cell.accounts SET refresh_tried_at = clock_timestamp() WHERE id = %(account_id)s"


def due_ahead(
    *, aheads: Mapping[str, float], again_seconds: float, idle_seconds: float, limit: int
) -> Statement:
    """Build the search for accounts whose tokens want care before anybody needs them: tenant_id, id.

    `aheads`: seconds before a token's end, by platform; only these platforms are searched. `idle_seconds`: after
    this long without a refresh one is due, although nothing is published: refresh tokens end, too. Nothing that
    was tried within `again_seconds`.
    """
    return _DUE, {
        "aheads": Jsonb(dict(aheads)),
        "again_seconds": again_seconds,
        "idle_seconds": idle_seconds,
        "limit": limit,
    }


def tried(account_id: UUID) -> Statement:
    """Build the note that an account was looked after without a refresh."""
    return _TRIED, {"account_id": account_id}


def take_lease(
    *,
    account_id: UUID,
    lease: UUID,
    seen: str,
    lease_seconds: float,
    interval_seconds: float,
    renews_itself: bool,
    least_age_seconds: float = 0.0,
) -> Statement:
    """Build the lease of a refresh; no row: another one runs, has run, or has just run."""
    return _TAKE, {
        "account_id": account_id,
        "lease": lease,
        "seen": seen,
        "lease_seconds": lease_seconds,
        "interval_seconds": interval_seconds,
        "renews_itself": renews_itself,
        "least_age_seconds": least_age_seconds,
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
    """Build the end of an account whose token is spent, while it is still the one that was traded."""
    return _LOST, {"account_id": account_id, "lease": lease, "spent": spent, "reason": reason}
