"""The central dispatch index on PostgreSQL. Implements `socialq.pipeline.ports.Index`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

import structlog

from socialq.store.central import alarms, dispatch_index, holds
from socialq.store.patience import PASSING, with_patience

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.domain.targets import Target
    from socialq.domain.work import Settled
    from socialq.store.central.holds import Scope
    from socialq.store.stores import Stores

DISPATCH_CHANNEL: Final = "socialq_dispatch"
"""Notified on the central database when a row may be ready earlier than the dispatcher thinks."""

_SOON: Final = timedelta(seconds=60)
_PATIENCE_SECONDS: Final = 3.0

log = structlog.get_logger(__name__)


class PostgresIndex:
    """The index, holds and alarms of the central database.

    Nothing here is the truth, so nothing here may fail what has been settled in a cell: when the central
    database can't be reached, that is logged, and the sweep closes the gap.
    """

    def __init__(self, stores: Stores) -> None:
        """Use the central database of `stores`."""
        self._central = stores.central

    def finish(self, settled: Settled) -> None:
        """Mirror what a settle left; wake the dispatcher if somebody waits for the account."""
        kind = None if settled.next_kind is None else settled.next_kind.value
        statement = dispatch_index.finish(
            target_id=settled.target_id,
            account_id=settled.account_id,
            new_seq=settled.seq,
            kind=kind,
            due_at=settled.next_at,
        )

        def step() -> None:
            [rows] = self._central.pipelined(statement)
            soon = settled.next_at is not None and settled.next_at < datetime.now(UTC) + _SOON
            if rows[0]["somebody_waits"] or soon:
                self._central.notify(DISPATCH_CHANNEL)

        self._best_effort(step, "index.finish_missed", target=str(settled.target_id))

    def repair(
        self,
        *,
        target: Target,
        message_seq: int,
        not_before: datetime | None = None,
        waits_for_account: bool = False,
    ) -> None:
        """Set a row from the cell's truth."""
        statement = dispatch_index.repair(
            target_id=target.id,
            seq=target.seq,
            message_seq=message_seq,
            kind=None if target.next_kind is None else target.next_kind.value,
            due_at=target.next_at,
            publish_by=target.publish_by,
            not_before=not_before,
            waits_for_account=waits_for_account,
        )

        def step() -> None:
            self._central.pipelined(statement)
            self._central.notify(DISPATCH_CHANNEL)

        self._best_effort(step, "index.repair_missed", target=str(target.id))

    def hold(self, *, scope: str, key: str, until: datetime, reason: str) -> None:
        """Hold an account, an app or a platform."""

        def step() -> None:
            holds.set_hold(
                self._central,
                scope=cast("Scope", scope),
                key=key,
                until=until,
                reason=reason,
                set_by="worker",
            )

        self._best_effort(step, "index.hold_missed", scope=scope, key=key)

    def alarm(self, *, key: str, message: str, tenant_id: UUID | None) -> None:
        """Raise an alarm."""
        log.error("alarm", key=key, message=message)
        self._best_effort(
            lambda: alarms.raise_alarm(self._central, key=key, message=message, tenant_id=tenant_id),
            "alarm_missed",
            key=key,
        )

    @staticmethod
    def _best_effort(step: Callable[[], None], event: str, **fields: str) -> None:
        try:
            with_patience(step, seconds=_PATIENCE_SECONDS)
        except PASSING as error:
            log.warning(event, error=type(error).__name__, **fields)
