"""The hops that watch: relay, dispatch, and the sweeps that close their gaps."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from socialq.pipeline.backing_off import BackOff
from socialq.pipeline.dispatch import Dispatcher
from socialq.pipeline.relay import Relay
from socialq.pipeline.sweep import CellSweep, QueueSweep
from socialq.pipeline.window import Window
from socialq.providers.registry import adapter_for
from socialq.store.central import heartbeats
from socialq.store.index_store import DISPATCH_CHANNEL
from socialq.store.window_door import AdvisoryDoor
from socialq.upkeep.quarantine import Quarantine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from socialq.domain.hops import Lane
    from socialq.pipeline.ports import Queue
from socialq.wiring.ground import OUTBOX_CHANNEL
from socialq.wiring.hops import Hops


class Windows(Hops):
    """Windows and sweeps, built for a cell or a queue."""

    def relay(self, cell: str) -> Relay:
        """Build one cell's relay."""
        return Relay(
            outbox=self.machine_cell(cell),
            index=self.central_index,
            batch=self.settings.relay_batch,
        )

    def relay_window(self, cell: str) -> Window:
        """Build one cell's relay window: it listens on the cell's database."""
        relay = self.relay(cell)

        checked: list[str] = []

        def scan() -> float | None:
            if not checked:
                # A window ends with its connection: after a failover the new one begins with this.
                self.quarantine.check(cell)
                checked.append(cell)
            more = relay.scan()
            self.cell_watch.reached(cell)
            return 0.0 if more else None

        door = AdvisoryDoor(self.stores.cell(cell).machine, name=f"relay:{cell}", channel=OUTBOX_CHANNEL)
        return self._window(f"relay:{cell}", door, scan)

    def dispatcher(self, queue: Queue, *, lane: Lane = "main") -> Dispatcher:
        """Build the dispatcher of a lane on its queue."""
        due = self.central_index if lane == "main" else self.prepare_index
        return Dispatcher(
            due=due,
            queue=queue,
            clock=self.clock,
            batch=self.settings.dispatch_batch,
            back_off=self.queue_back_off,
        )

    @cached_property
    def queue_back_off(self) -> BackOff:
        def tell(problem: str | None) -> None:
            if problem is None:
                self.index.all_clear(key="queue:unreachable")
            else:
                self.index.alarm(key="queue:unreachable", message=problem, tenant_id=None)

        return BackOff(clock=self.clock, tell=tell)

    def dispatch_window(self, queues: Mapping[Lane, Queue]) -> Window:
        """Build the dispatch window: it listens on the central database and serves every lane, main first."""
        dispatchers = [self.dispatcher(queue, lane=lane) for lane, queue in queues.items()]

        def scan() -> float | None:
            waits = [wait for dispatcher in dispatchers if (wait := dispatcher.scan()) is not None]
            return min(waits, default=None)

        door = AdvisoryDoor(self.stores.central, name="dispatch", channel=DISPATCH_CHANNEL)
        return self._window("dispatch", door, scan)

    def cell_sweep(self, cell: str) -> CellSweep:
        """Build one cell's sweep."""
        return CellSweep(
            overdue=self.machine_cell(cell),
            index=self.index,
            index_writer=self.central_index,
            index_seqs=self.central_index,
            adapter_for=adapter_for,
            rules=self.rules,
        )

    def queue_sweep(self, queue: Queue, *, lane: Lane = "main") -> QueueSweep:
        """Build the sweep of a lane's unanswered messages."""
        due = self.central_index if lane == "main" else self.prepare_index
        return QueueSweep(due=due, queue=queue, index=self.index)

    @cached_property
    def quarantine(self) -> Quarantine:
        return Quarantine(
            stores=self.stores,
            rebuild=lambda cell: self.relay(cell).rebuild(),
            first_look_seconds=self.settings.look_delays_seconds[0],
        )

    def _window(self, name: str, door: AdvisoryDoor, scan: Callable[[], float | None]) -> Window:
        def beat() -> None:
            self.stores.central.pipelined(heartbeats.beat(name, {"worker": self.worker}))

        return Window(
            name=name,
            door=door,
            scan=scan,
            beat=beat,
            clock=self.clock,
            window_seconds=self.settings.window_seconds,
            rescan_seconds=self.settings.rescan_seconds,
        )
