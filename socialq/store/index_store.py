"""The central dispatch index on PostgreSQL. Implements `socialq.pipeline.ports.Index`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, cast

import structlog

from socialq.domain.breaking import Troubles
from socialq.store.batches import Batches
from socialq.store.central import alarms, dispatch_index, holds, troubles
from socialq.store.patience import PASSING, with_patience

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.breaking import BreakerLimits, TroubleKind
    from socialq.domain.targets import Target
    from socialq.domain.work import Settled
    from socialq.store.central.holds import Scope, Source
    from socialq.store.stores import Stores

DISPATCH_CHANNEL: Final = dispatch_index.CHANNEL

_SOON: Final = timedelta(seconds=60)
_PATIENCE_SECONDS: Final = 3.0
_FINISHES_AT_ONCE: Final = 200

log = structlog.get_logger(__name__)


class PostgresIndex:
    """The index, holds and alarms of the central database.

    Nothing here is the truth, so nothing here may fail what has been settled in a cell: when the central
    database can't be reached, that is logged, and the sweep closes the gap.
    """

    def __init__(self, stores: Stores, *, batching: bool = False) -> None:
        """Use the central database of `stores`.

        With `batching`, finishes are collected while the one before them is under way, and written together by
        a thread of this process: the same answer, a little later, for a fraction of the round trips.
        """
        self._central = stores.central
        self._batches = Batches(self._finish_all, most=_FINISHES_AT_ONCE) if batching else None

    def finish(self, settled: Settled) -> None:
        """Mirror what a settle left; wake the dispatcher if somebody waits for the account."""
        if self._batches is None:
            self._finish_all([settled])
        else:
            self._batches.add(settled)

    def flush(self) -> None:
        """Wait until every finish so far is written, or given up."""
        if self._batches is not None:
            self._batches.flush()

    def _finish_all(self, settled: Sequence[Settled]) -> None:
        def step() -> None:
            [rows] = self._central.pipelined(dispatch_index.finish(settled))
            soon = rows[0]["read_at"] + _SOON
            if rows[0]["somebody_waits"] or any(one.next_at and one.next_at < soon for one in settled):
                self._central.notify(DISPATCH_CHANNEL)

        self._best_effort(step, "index.finish_missed", targets=str(len(settled)))

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

    def set_prepare(self, *, target: Target, message_seq: int, at: datetime | None) -> None:
        """Set the prepare lane's row."""
        statement = dispatch_index.repair(
            target_id=target.id,
            lane="prepare",
            seq=target.seq,
            message_seq=message_seq,
            kind=None if at is None else "prepare",
            due_at=at,
            publish_by=target.publish_by,
        )
        self._best_effort(
            lambda: self._central.pipelined(statement), "index.prepare_missed", target=str(target.id)
        )

    def hold(self, *, scope: str, key: str, until: datetime, reason: str) -> None:
        """Hold an account, an app, a platform or a tenant. One that lasts that long already costs one question."""
        sources: dict[str, Source] = {
            "monthly_limit": "monthly_limit",
            "restricted": "restricted",
            "circuit_breaker": "breaker",
        }
        source = sources.get(reason, "platform")
        held = cast("Scope", scope)

        def step() -> None:
            if holds.is_covered(self._central, scope=held, key=key, until=until, source=source):
                return
            holds.set_hold(
                self._central, scope=held, key=key, until=until, reason=reason, set_by="worker", source=source
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

    def trouble(
        self, *, account_id: UUID, platform: str, kind: TroubleKind, limits: BreakerLimits
    ) -> Troubles:
        """Count a failure; where that can't be done, it is as if there were none."""
        statement = troubles.count(
            account_id=account_id,
            platform=platform,
            kind=kind,
            window_seconds=limits.window_seconds,
            platform_window_seconds=limits.platform_window_seconds,
        )
        counted = Troubles(of_account=0, accounts_of_platform=0)

        def step() -> None:
            nonlocal counted
            [[row]] = self._central.pipelined(statement, actor="breaker")
            counted = Troubles(**row)

        self._best_effort(step, "index.trouble_missed", account=str(account_id))
        return counted

    def all_clear(self, *, key: str) -> None:
        """Close an alarm."""
        self._best_effort(lambda: alarms.clear(self._central, key=key), "all_clear_missed", key=key)

    @staticmethod
    def _best_effort(step: Callable[[], object], event: str, **fields: str) -> None:
        try:
            with_patience(step, seconds=_PATIENCE_SECONDS)
        except PASSING as error:
            log.warning(event, error=type(error).__name__, **fields)
