"""A machine that runs every hop, and stops at one point: for good, or until others have done its work.

Its hops are those of `wiring`, on ports hooked by `tests.hooked`; nothing of the product is changed. A point is a
call of a port, before it or after it: since each call is one transaction, one request or one message, the points
lie between any two of them. A person's schedule has no ports: there the points are its commit and its notification.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from socialq.desk import schedule
from socialq.domain.errors import InputRefused
from socialq.domain.local_time import resolve
from socialq.domain.states import NextKind
from tests.hooked import Hooked
from tests.passing_time import PassingClock, let_pass
from tests.simulation.stage import Actor, Crashed, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from uuid import UUID

    import psycopg

    from socialq.store.sessions import Database
    from tests.integration.lanes.world import Lanes

PORTS: Final = frozenset(
    {
        "targets",
        "index",
        "evidence",
        "outbox",
        "overdue",
        "index_writer",
        "index_seqs",
        "due",
        "queue",
        "http",
    }
)
"""The ports whose calls are points; the others read secrets, files and clocks."""
RESTING: Final = frozenset({"published", "failed", "cancelled", "needs_attention", "needs_reconnect"})
ROUND_SECONDS: Final = 400.0
"""More than a lease, a delay between looks, a retry's wait: a round later all of them are over."""


@dataclass(frozen=True)
class Point:
    """One call of a port on a machine's way, the `number`-th of all."""

    number: int
    name: str
    after: bool

    def __str__(self) -> str:
        return f"{'after' if self.after else 'before'} {self.name} (call {self.number})"


@dataclass
class Machine:
    """Runs every hop for a target until it rests. Stops at `stop_at`, by `how`: kill, stall or not at all."""

    lanes: Lanes
    owner: psycopg.Connection[dict[str, Any]]
    target: UUID
    stage: Stage
    stop_at: Point | None = None
    how: str = ""
    schedules: bool = False
    """Whether its way begins with a person who schedules the target; one who is told nothing tries again."""
    passed: list[str] = field(default_factory=list)
    clock: PassingClock = field(default_factory=PassingClock)
    _connections: list[Any] = field(default_factory=list)

    def run(self, *, rounds: int) -> None:
        """Live through so many rounds, or fewer."""
        if self.schedules:
            self.schedule()
        for _ in range(rounds):
            self.round()
            if self.at_rest():
                return
            let_pass(ROUND_SECONDS, owner=self.owner, clock=self.clock)

    def schedule(self) -> None:
        """A person schedules the target for now, or finds it scheduled."""
        now = datetime.now(UTC)
        with suppress(InputRefused):
            schedule.schedule(
                _HookedStores(self),  # type: ignore[arg-type]  # as far as a schedule asks for
                tenant=self.lanes.agency.tenant.id,
                target_ids=[self.target],
                resolved=resolve("now", zone=None, default_zone="UTC", now=now),
                now=now,
                actor="person",
            )

    def round(self) -> None:
        wiring, queue = self.lanes.wiring, self.lanes.queues["main"]
        while self._hooked(wiring.relay("default")).scan():
            pass
        self._hooked(wiring.dispatcher(queue, lane="main")).scan()
        for message in queue.take():
            if message.kind is NextKind.LOOK:
                self._hooked(wiring.looker).look(message)
            else:
                self._hooked(wiring.publisher).publish(message)
        self._hooked(wiring.queue_sweep(queue, lane="main")).sweep()
        self._hooked(wiring.cell_sweep("default")).sweep()

    def at_rest(self) -> bool:
        row = self.lanes.row(self.target)
        return row["status"] in RESTING

    def _hooked(self, hop: Any) -> Any:
        names = {one.name for one in fields(hop)}
        changes = {name: Hooked(getattr(hop, name), name, self._around) for name in sorted(PORTS & names)}
        if "index" in names and "outbox" in names:
            changes["index"] = Hooked(hop.index, "index_writer", self._around)
        if "clock" in names:
            changes["clock"] = self.clock
        return replace(hop, **changes)

    def _around(self, name: str, step: Callable[[], Any]) -> Any:
        if name == "opened.close":
            return step()
        number = len(self.passed)
        self.passed.append(name)
        self._stop(Point(number, name, after=False))
        result = step()
        if name == "http.open" and hasattr(result, "send"):
            self._connections.append(result)
            result = Hooked(result, "opened", self._around)
        self._stop(Point(number, name, after=True))
        return result

    @contextmanager
    def committing(self, name: str, transaction: AbstractContextManager[Any]) -> Iterator[Any]:
        """Go through a transaction; its commit is a point."""
        with transaction as session:
            yield session
            number = len(self.passed)
            self.passed.append(name)
            self._stop(Point(number, name, after=False))
        self._stop(Point(number, name, after=True))

    def around(self, name: str, step: Callable[[], Any]) -> Any:
        """Take a step that is a point."""
        return self._around(name, step)

    def clear_up(self) -> None:
        """Close its connections, as the system does for a process that is gone."""
        for connection in self._connections:
            connection.close()

    def _stop(self, point: Point) -> None:
        if point != self.stop_at:
            return
        if self.how == "kill":
            raise Crashed
        self.stage.pause(0.0)


def start(machine: Machine, *, rounds: int) -> Actor:
    """Run a machine on its stage until it stops or ends."""
    actor = Actor("machine")
    machine.stage.start(actor, lambda: machine.run(rounds=rounds))
    return actor


@dataclass
class _HookedStores:
    """Gives the cell of a machine's tenant, as the desk asks for it."""

    machine: Machine

    def cell_of(self, tenant: UUID) -> Any:
        cell = self.machine.lanes.wiring.stores.cell_of(tenant)
        return SimpleNamespace(name=cell.name, app=_HookedDatabase(self.machine, cell.app))


@dataclass
class _HookedDatabase:
    """A database whose commits and notifications are points."""

    machine: Machine
    database: Database

    def transaction(self, **named: Any) -> AbstractContextManager[Any]:
        return self.machine.committing("schedule.commit", self.database.transaction(**named))

    def notify(self, channel: str) -> None:
        self.machine.around("schedule.notify", lambda: self.database.notify(channel))
