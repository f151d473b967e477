"""A person says that a target is live: when that can be, and what becomes of it. Pure.

Arrives: a target's row and parts as they stand locked. Leaves: the move. What must stay true: nothing that never
went out is marked as published; of a thread it is told which parts nobody has checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from socialq.domain.states import TargetStatus
from socialq.domain.targets import Move

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from socialq.domain.targets import PartState, Target

S = TargetStatus

NEVER_SENT: Final = frozenset({S.DRAFT, S.INVALID, S.READY, S.SCHEDULED})
"""Without an attempt nothing of these can be on the platform: marking one would lose a post that never went out."""


def published_move(target: Target, parts: Sequence[PartState], *, now: datetime, said: str) -> Move:
    """Return the move to published; `said` is what the history is told, and what was not checked is added."""
    unseen = [part.part_no for part in parts if part.part_no > 1 and not part.live]
    detail = said
    if unseen:
        numbers = ", ".join(str(number) for number in unseen)
        detail += f"; part {numbers} of {len(parts)} was not checked"
    return Move(
        to=S.PUBLISHED,
        reason="marked_published",
        detail=detail,
        changes={"published_at": now, "key_instant": target.key_instant or target.publish_at or now},
        event="target.published",
    )
