"""People who go on working while everything breaks: they cancel, move, retry, and connect accounts anew.

Arrives: the plan's acts, and accounts whose tokens ended. Leaves: counts, and which targets were cancelled. What
must stay true: they only use the desk; a refusal is an answer, and the database's absence makes them try again.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, assert_never

import requests

from benchmarks.chaos.cast import ACTOR
from benchmarks.chaos.disturbing import patiently
from socialq.desk import resolve as resolve_target
from socialq.desk.schedule import reschedule
from socialq.domain.errors import InputRefused
from socialq.domain.local_time import resolve

if TYPE_CHECKING:
    from uuid import UUID

    from benchmarks.chaos.cast import Cast
    from benchmarks.chaos.plan import Act, PlannedAccount

_CARE_SECONDS: Final = 1.0

_TO_RECONNECT: Final = "SELECT id FROM cell.accounts WHERE status = 'needs_reconnect'"
_TO_RETRY: Final = "SELECT tenant_id, id FROM cell.post_targets WHERE status = 'needs_reconnect'"


@dataclass(slots=True, kw_only=True)
class People:
    """One person who acts by the plan, and one who looks after accounts, each a thread."""

    cast: Cast
    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    cancelled: set[UUID] = field(default_factory=set)
    """Targets that somebody asked to cancel, whatever came of it."""
    _unnoticed: dict[UUID, float] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self, began: float) -> None:
        """Begin; `began` on the monotonic clock."""
        for work in (lambda: self._act_all(began), self._care):
            thread = threading.Thread(target=work, name="person", daemon=True)
            thread.start()
            self._threads.append(thread)

    def wait_acted(self) -> None:
        """Return once every act of the plan was tried."""
        self._threads[0].join(timeout=180)

    def stop(self) -> None:
        """End the care for accounts."""
        self._ended.set()
        for thread in self._threads:
            thread.join(timeout=60)

    def revoked(self, account: PlannedAccount, seconds: float) -> None:
        """Note that an account lost its token; nobody notices for so long."""
        self._unnoticed[self.cast.accounts[account.number]] = time.monotonic() + seconds

    def _act_all(self, began: float) -> None:
        for act in self.cast.plan.acts:
            time.sleep(max(0.0, began + act.at_seconds - time.monotonic()))
            target = self.cast.targets.get((act.post, act.account))
            if target is not None:
                self._try(act.kind, lambda act=act, target=target: self._act(act, target))

    def _try(self, name: str, act: object) -> None:
        assert callable(act)
        try:
            patiently(act)
            self.done[name] += 1
        except InputRefused:
            self.refused[name] += 1
        except Exception as error:  # noqa: BLE001 - told at the end
            self.problems.append(f"a person could not {name}: {type(error).__name__}: {error}")

    def _act(self, act: Act, target: UUID) -> None:
        stores = self.cast.wiring.stores
        tenant = self.cast.tenants[self.cast.plan.posts[act.post].tenant]
        now = datetime.now(UTC)
        match act.kind:
            case "cancel":
                self.cancelled.add(target)
                resolve_target.cancel(
                    stores, tenant=tenant, target_id=target, reason="second thoughts", actor=ACTOR
                )
            case "move":
                at = now + timedelta(seconds=act.by_seconds)
                resolved = resolve(at.isoformat(), zone=None, default_zone="UTC", now=now)
                reschedule(
                    stores, tenant=tenant, target_ids=[target], resolved=resolved, now=now, actor=ACTOR
                )
            case "retry":
                resolve_target.retry(stores, tenant=tenant, target_id=target, now=now, actor=ACTOR)
            case _:
                assert_never(act.kind)

    def _care(self) -> None:
        """Connect again what lost its token, and retry what waited for it."""
        while not self._ended.wait(_CARE_SECONDS):
            try:
                self._care_once()
            except (requests.RequestException, InputRefused) as error:
                self.refused["care"] += 1
                if not isinstance(error, InputRefused):
                    self.problems.append(f"the sandbox did not answer a person: {error}")
            except Exception:  # noqa: BLE001 - the database is away: a person looks again in a moment
                self.refused["care"] += 1

    def _care_once(self) -> None:
        planned = {self.cast.accounts[account.number]: account for account in self.cast.plan.accounts}
        machine = self.cast.wiring.stores.cell_of(self.cast.tenants[0]).machine
        for row in machine.autocommit(_TO_RECONNECT):
            noticed_at = self._unnoticed.get(row["id"], 0.0)
            if row["id"] in planned and time.monotonic() >= noticed_at:
                self.cast.connect(planned[row["id"]])
                self.done["reconnect"] += 1
        for row in machine.autocommit(_TO_RETRY):
            try:
                resolve_target.retry(
                    self.cast.wiring.stores,
                    tenant=row["tenant_id"],
                    target_id=row["id"],
                    now=datetime.now(UTC),
                    actor=ACTOR,
                )
                self.done["retry_after_reconnect"] += 1
            except InputRefused:
                self.refused["retry_after_reconnect"] += 1
