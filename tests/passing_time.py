"""Time that passes in a database without anybody waiting: every instant that counts for next work lies earlier."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.clock import SystemClock

if TYPE_CHECKING:
    import psycopg

_TIME_PASSES: Final = (
    """UPDATE cell.post_targets SET next_at = next_at - %(by)s, lost_at = lost_at - %(by)s,
       lease_until = lease_until - %(by)s, publish_by = publish_by - %(by)s""",
    "UPDATE cell.target_parts SET marked_at = marked_at - %(by)s WHERE marked_at IS NOT NULL",
    "UPDATE cell.accounts SET hold_until = hold_until - %(by)s WHERE hold_until IS NOT NULL",
    """UPDATE central.publish_dispatch_index SET due_at = due_at - %(by)s, ready_at = ready_at - %(by)s,
       resend_at = resend_at - %(by)s, publish_by = publish_by - %(by)s""",
    "UPDATE central.holds SET until = until - %(by)s",
)


class PassingClock(SystemClock):
    """The machine's clock, on which time passes as it does for the rows."""

    passed_seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.passed_seconds


def let_pass(
    seconds: float, *, owner: psycopg.Connection[dict[str, Any]], clock: PassingClock | None = None
) -> None:
    """Let so many seconds pass, for the rows as the database's owner and for a clock."""
    with owner.transaction():
        for statement in _TIME_PASSES:
            owner.execute(statement, {"by": timedelta(seconds=seconds)})
    if clock is not None:
        clock.passed_seconds += seconds
