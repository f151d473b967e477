"""Closes alarms that hops raised for a cause, once that cause is over: no rule finds it anew, so none closes them.

Arrives: the open alarms of four kinds. Leaves: an all-clear for each whose cause has ended, so that the next incident
is told again. What must stay true: a cause that can't be asked for stays open; an alarm that is raised while it is
looked at stays open; the rows of open alarms are read, and nothing else.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from socialq.pipeline.pausing import UNNAMED
from socialq.store import alarm_causes
from socialq.store.central import alarms, holds
from socialq.store.patience import PASSING
from socialq.store.stores import UnknownTenantError
from socialq.vault import VaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from socialq.store.sessions import CellDatabases, Row
    from socialq.store.stores import Stores

log = structlog.get_logger(__name__)

_MOST_OPENED: Final = 100
"""Accounts whose tokens are opened in one pass, in no order: each gets its turn."""
_QUIET_SECONDS: Final = 300.0
"""An application is not well again while it was refused so lately: some requests pass, others do not."""
_LOOKED_BACK_SECONDS: Final = 900.0
"""Acceptances this old were looked at by many passes before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Causes:
    """Asks whether the causes of open alarms have ended. Shared between threads; any number may ask at once."""

    stores: Stores
    can_open: Callable[[UUID, UUID], bool]
    """Whether an account's stored tokens (tenant, account) can be opened."""

    def close_ended(self) -> list[str]:
        """Close what is over; returns its keys."""
        open_now: defaultdict[str, list[Row]] = defaultdict(list)
        for row in alarms.open_of(self.stores.central, kinds=("prepare", "account", "vault", "ours")):
            open_now[row["key"].partition(":")[0]].append(row)
        ended = [
            *self._in_their_cells(open_now["prepare"], _slots_over),
            *self._in_their_cells(open_now["account"], _accounts_well),
            *self._readable(open_now["vault"]),
            *self._accepted_again(open_now["ours"]),
        ]
        return [
            row["key"]
            for row in ended
            if alarms.clear_unless_raised(self.stores.central, key=row["key"], times=row["times"])
        ]

    def _in_their_cells(
        self, rows: Sequence[Row], ended: Callable[[CellDatabases, dict[UUID, Row]], Iterable[Row]]
    ) -> Iterator[Row]:
        """Ask each cell once for all that is of it; one that can't be asked closes nothing."""
        by_cell: defaultdict[str, dict[UUID, Row]] = defaultdict(dict)
        for row in rows:
            try:
                by_cell[self.stores.cell_name_of(row["tenant_id"])][_id_in(row)] = row
            except UnknownTenantError:
                yield row  # nobody is left to be told
        for name, of_cell in by_cell.items():
            try:
                yield from ended(self.stores.cell(name), of_cell)
            except (*PASSING, VaultError) as error:
                log.warning("causes_unread", cell=name, error=type(error).__name__)

    def _readable(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Accounts whose tokens can be opened: stored anew, or under a key that is there again."""
        for row in random.sample(rows, min(len(rows), _MOST_OPENED)):
            try:
                if self.can_open(row["tenant_id"], _id_in(row)):
                    yield row
            except UnknownTenantError:
                yield row
            except PASSING as error:
                log.warning("causes_unread", key=row["key"], error=type(error).__name__)

    def _accepted_again(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Applications and platforms that are held no more, and through which something was accepted since."""
        for row in rows:
            _, scope, key = row["key"].split(":", 2)
            if row["age_seconds"] < _QUIET_SECONDS or holds.of(self.stores.central, scope=scope, key=key):
                continue
            seconds = min(row["age_seconds"], _LOOKED_BACK_SECONDS)
            named = ("unnamed", key.removeprefix(UNNAMED)) if key.startswith(UNNAMED) else (scope, key)
            if any(self._accepted(cell, seconds, *named) for cell in self.stores.cell_names()):
                yield row

    def _accepted(self, cell: str, seconds: float, scope: str, key: str) -> bool:
        try:
            return alarm_causes.accepted(self.stores.cell(cell), seconds=seconds, **{scope: key})
        except (*PASSING, VaultError) as error:
            log.warning("causes_unread", cell=cell, error=type(error).__name__)
            return False


def _slots_over(cell: CellDatabases, of_target: dict[UUID, Row]) -> Iterator[Row]:
    """Targets whose slot has come, that were edited or withdrawn: what was said of them before is over."""
    left = alarm_causes.still_prepared(cell, of_target)
    return (row for target_id, row in of_target.items() if target_id not in left)


def _accounts_well(cell: CellDatabases, of_account: dict[UUID, Row]) -> Iterator[Row]:
    """Accounts that work with a token they got since, and those that nobody waits for."""
    known = alarm_causes.accounts(cell, of_account)
    for account_id, row in of_account.items():
        account = known.get(account_id)
        if (
            account is None
            or account["status"] == "disabled"
            or (account["status"] == "active" and account["token_seconds"] < row["age_seconds"])
        ):
            yield row


def _id_in(row: Row) -> UUID:
    return UUID(row["key"].partition(":")[2])
