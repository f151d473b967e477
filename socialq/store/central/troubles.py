"""`troubles`: failures that get accounts banned, counted within a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.sessions import Session, Statement

# What is inserted is not seen by the same statement: it counts as the one more.
_COUNT: Final = """
WITH added AS (
    INSERT INTO central.troubles (account_id, platform, kind) VALUES (%(account_id)s, %(platform)s, %(kind)s)
)
SELECT 1 + (SELECT count(*) FROM central.troubles
            WHERE account_id = %(account_id)s AND at > clock_timestamp() - %(window)s * interval '1 second')::integer
           AS of_account,
       1 + (SELECT count(DISTINCT account_id) FROM central.troubles
            WHERE platform = %(platform)s AND account_id <> %(account_id)s
              AND at > clock_timestamp() - %(platform_window)s * interval '1 second')::integer AS accounts_of_platform
"""

_FORGET_ACCOUNT: Final = "DELETE FROM central.troubles WHERE {column} = %(key)s"
_COLUMN_OF_SCOPE: Final = {"account": "account_id", "platform": "platform"}
_PRUNE: Final = "DELETE FROM central.troubles WHERE at < clock_timestamp() - interval '1 day'"


def count(
    *, account_id: UUID, platform: str, kind: str, window_seconds: float, platform_window_seconds: float
) -> Statement:
    """Build the statement that adds one, and returns of_account and accounts_of_platform within their windows."""
    return _COUNT, {
        "account_id": account_id,
        "platform": platform,
        "kind": kind,
        "window": window_seconds,
        "platform_window": platform_window_seconds,
    }


def forget(session: Session, *, scope: str, key: str) -> None:
    """Count anew: a person has looked."""
    if scope in _COLUMN_OF_SCOPE:
        session.run(_FORGET_ACCOUNT.format(column=_COLUMN_OF_SCOPE[scope]), {"key": key})


def prune(session: Session) -> int:
    """Delete what no window counts any more; returns how many."""
    return session.run(_PRUNE)
