"""Audit, rebuild and prune run amid publishing, and nobody notices."""

from __future__ import annotations

import queue
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from socialq.upkeep.prune import Prune
from tests.integration.pipeline.world import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from socialq.domain.hops import Message
    from tests.integration.pipeline.world import World

TARGETS = 60
WORKERS = 4
SECONDS = 60.0


class Load:
    """Relay, dispatch and workers on threads, with steps of upkeep beside them, until all is published."""

    def __init__(self, world: World, upkeep: Sequence[Callable[[], object]]) -> None:
        self.world = world
        self.failures: list[Exception] = []
        self.rounds = 0
        self._upkeep = upkeep
        self._messages: queue.Queue[Message] = queue.Queue()
        self._stop = threading.Event()

    def run(self, done: Callable[[], bool]) -> None:
        steps = [self._dispatch, self._keep_up, *[self._work] * WORKERS]
        threads = [threading.Thread(target=self._guarded, args=(step,), daemon=True) for step in steps]
        for thread in threads:
            thread.start()
        try:
            wait_until(lambda: self.failures or done(), seconds=SECONDS, what="all targets published")
            seen = self.rounds
            wait_until(
                lambda: self.failures or self.rounds > seen + 2, seconds=SECONDS, what="upkeep after it"
            )
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(20)
        assert self.failures == []

    def _guarded(self, step: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                step()
            except Exception as error:  # noqa: BLE001 - whatever it is, the test fails with it
                self.failures.append(error)
                return

    def _dispatch(self) -> None:
        self.world.relay(batch=7).scan()
        self.world.dispatcher(batch=10).scan()
        for message in self.world.queue.take():
            self._messages.put(message)

    def _work(self) -> None:
        try:
            message = self._messages.get(timeout=0.05)
        except queue.Empty:
            return
        self.world.handle(message)

    def _keep_up(self) -> None:
        for step in self._upkeep:
            step()
        self.rounds += 1


def overdue_targets(world: World) -> list[UUID]:
    """Targets that have been due for a minute, so that every audit looks at all that are left."""
    due = datetime.now(UTC) - timedelta(minutes=1)
    accounts = [world.new_account() for _ in range(TARGETS // 3)]
    return [world.post(account=accounts[number % len(accounts)], publish_at=due) for number in range(TARGETS)]


def test_audit_rebuild_and_prune_disturb_no_publishing(world: World):
    """Each target is published once by one request, none is left behind, and what is over is gone."""
    targets = overdue_targets(world)

    def rebuild() -> None:
        world.relay(batch=7).rebuild()

    prune = Prune(stores=world.stores, done_days=1e-9, outbox_days=1e-9, deliveries_days=1e-9, batch=5)
    load = Load(world, [world.sweep().audit, rebuild, prune.prune])
    load.run(lambda: len(world.platform.sent) >= TARGETS)
    assert load.rounds > 2
    assert {world.status(target) for target in targets} == {"published"}
    assert len(world.platform.sent) == TARGETS
    assert {len(world.attempts(target)) for target in targets} == {1}
    prune.prune()
    assert world.arrange("SELECT status FROM central.publish_dispatch_index WHERE status <> 'done'") == []
    assert world.arrange("SELECT 1 FROM cell.outbox_events") == []


def test_an_audit_of_a_healthy_index_writes_nothing(world: World):
    """All that is overdue is in the index as it should be: not one row of it is touched."""
    overdue_targets(world)
    while world.relay().scan():
        pass
    rows = "SELECT target_id, xmin::text AS xmin, status FROM central.publish_dispatch_index ORDER BY 1"
    before = world.arrange(rows)
    assert world.sweep().audit() == 0
    assert world.arrange(rows) == before
    assert len(before) == TARGETS
