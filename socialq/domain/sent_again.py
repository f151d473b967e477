"""A person's retry: what is looked for first, and what is sent at once. Pure.

Arrives: a target's row and parts as they stand locked. Leaves: the move. What must stay true: what may be live is
sent again only after it was looked for, or because a person says so, and then the history tells it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.domain.states import NextKind, TargetStatus
from socialq.domain.targets import Move

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from socialq.domain.targets import PartState, Target

S = TargetStatus

RETRIED = "retried"
"""The reason of a target that a person retries, for as long as it is looked for."""


def to_look_for(target: Target, parts: Sequence[PartState]) -> PartState | None:
    """Return the part that may be live after all; None: nothing was asked of the platform that could be.

    Platforms refuse what they have published all the same (gitroomhq/postiz-app PR 1681), so a refusal is looked
    after, too. That the authorisation had ended is no such refusal.
    """
    missing = next((part for part in parts if not part.live), None)
    if missing is None or missing.marked_at is None or target.key_instant is None:
        return None
    return missing if missing.unresolved or target.status is S.FAILED else None


def looked_for_first(
    target: Target, sought: PartState, *, now: datetime, last_moment: datetime, scheduled_looks: int
) -> Move:
    """Look at once, then send what is proven absent. `scheduled_looks` prove absence; after a refusal one does.

    The account is held until the first look is done, so this can't be where another target holds it.
    """
    # Until it was looked for once, another post of the same words could be taken for it.
    holds_account = True
    match target.status:
        case S.FAILED:
            looks_done = scheduled_looks - 1
        case S.UNKNOWN_OUTCOME:
            # A look that comes early takes no scheduled one's place.
            looks_done = max(target.looks_done - 1, min(target.looks_done, 1))
            holds_account = target.holds_account
        case _:
            looks_done = 0
    return Move(
        to=S.UNKNOWN_OUTCOME,
        reason=RETRIED,
        detail="a person retries it: it is looked for first, and sent again if it is not live",
        next_kind=NextKind.LOOK,
        next_at=now,
        changes={
            **_anew(target, now=now, last_moment=last_moment),
            "lost_at": target.lost_at or sought.marked_at,
            "looks_done": looks_done,
            "holds_account": holds_account,
        },
        event="target.retry",
    )


def at_once(target: Target, unresolved: Sequence[PartState], *, now: datetime, last_moment: datetime) -> Move:
    """Send without a look; `unresolved` parts may be live, and the detail says so."""
    return Move(
        to=S.SCHEDULED,
        reason=RETRIED,
        detail=_warning(unresolved),
        next_kind=NextKind.PUBLISH,
        next_at=now,
        changes={**_anew(target, now=now, last_moment=last_moment), "lost_at": None, "looks_done": 0},
        event="target.retry",
    )


def _anew(target: Target, *, now: datetime, last_moment: datetime) -> dict[str, object]:
    overdue = target.publish_by is None or target.publish_by <= now
    return {
        "tries_spent": 0,
        "publish_at": target.publish_at or now,
        "publish_by": last_moment if overdue else target.publish_by,
        "cancel_requested": False,
        "looks_failed": 0,
    }


def _warning(unresolved: Sequence[PartState]) -> str | None:
    if not unresolved:
        return None
    numbers = ", ".join(str(part.part_no) for part in unresolved)
    since = min(part.marked_at for part in unresolved if part.marked_at is not None)
    return (
        f"sent again by a person's decision: the answer for part {numbers}, sent at"
        f" {since:%Y-%m-%d %H:%M} UTC, was lost; if it is live already, the post is there twice"
    )
