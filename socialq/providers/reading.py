"""What one reading of one post on a platform says: it is there and the account's own, or not, or nothing.

Whoever wrote a post arrives, as the platform names them; a `Reading` leaves.
What must stay true: a post is refuted only by the platform's own word, since a person is turned away by it; what
is not told refutes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.domain.outcomes import CannotTell, Evidence, NotStanding, Standing, Transient

if TYPE_CHECKING:
    from socialq.domain.outcomes import Reading
    from socialq.providers.base import AccountAccess


def by_author(author: object, account: AccountAccess, *, label: str) -> Reading:
    """Compare the author's id, as text, with the account's; `label` is what people call the platform."""
    if not isinstance(author, str) or not author:
        return unread(account.platform, f"{label} does not say whose post it is")
    if author == account.remote_user_id:
        return Standing()
    return NotStanding(problem=f"is a post of another account on {label}, not of {account.handle}")


def not_there(label: str) -> NotStanding:
    """Say that the platform has no such post."""
    return NotStanding(problem=f"names no post that is on {label}")


def unread(platform: str, message: str) -> CannotTell:
    """Say why nothing could be read."""
    return CannotTell(failure=Transient(evidence=Evidence(code=f"{platform}.unread", message=message)))
