"""Cancelling: a person withdraws a target, or asks for it while a worker has it.

A target's id and a reason arrive; what it came to, or a refusal, leaves. What must stay true: what is live already
is never called cancelled without saying so.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from socialq.desk.refusals import no_target, refusal
from socialq.desk.resolve.locked import applied
from socialq.desk.tenants import cell_of
from socialq.domain.states import CANCELLABLE, TargetStatus
from socialq.domain.targets import Move
from socialq.store.cell import post_targets, target_parts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.domain.targets import PartState
    from socialq.store.stores import Stores

S = TargetStatus

_LONGEST_REASON: Final = 500


class CancelResult(StrEnum):
    """What cancelling came to."""

    CANCELLED = "cancelled"
    """Nothing of it will be sent."""
    REQUESTED = "requested"
    """It is in flight: it is cancelled if it turns out not to have gone out."""


def cancel(stores: Stores, *, tenant: UUID, target_id: UUID, reason: str, actor: str) -> CancelResult:
    """Withdraw a target, or, while it is in flight, note that it is to be withdrawn if it hasn't gone out."""
    why = reason.strip()[:_LONGEST_REASON]
    with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
        target = post_targets.lock(session, target_id)
        if target is None:
            raise no_target(target_id)
        if target.status in CANCELLABLE:
            parts = target_parts.full_parts(session, target_id)
            move = Move(
                to=S.CANCELLED,
                reason="cancelled",
                detail=_cancel_detail(why, parts),
                event="target.cancelled",
            )
            applied(post_targets.apply(session, target, move))
            return CancelResult.CANCELLED
        match target.status:
            case S.PUBLISHING | S.UNKNOWN_OUTCOME:
                post_targets.request_cancel(session, target_id, reason=why or "cancel requested")
                return CancelResult.REQUESTED
            case S.PUBLISHED:
                problem = "is published, and can't be called back"
                raise refusal("target", target_id, problem, "take it down: `socialq target take-down`")
            case S.CANCELLED:
                raise refusal("target", target_id, "is cancelled already", "nothing is left to do")
            case S.INVALID:
                problem = "was never accepted for sending"
                raise refusal("target", target_id, problem, "edit its post, or leave it")
            case _:
                raise AssertionError(f"{target.status} is cancellable")


def _cancel_detail(why: str, parts: Sequence[PartState]) -> str | None:
    live = sum(part.live for part in parts)
    said = [why] if why else []
    if live:
        said.append(f"{live} of {len(parts)} parts are live already and stay")
    elif any(part.unresolved for part in parts):
        said.append("it may be live: the answer to its request was lost")
    return "; ".join(said) or None
