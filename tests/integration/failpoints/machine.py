"""A machine that runs every hop, and stops at one point: for good, or until others have done its work.

Its hops are those of `wiring`, on ports hooked by `tests.hooked`; nothing of the product is changed. A point is a
call of a port, before it or after it: since each call is one transaction, one request or one message, the points
lie between any two of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.states import NextKind
from tests.hooked import Hooked
from tests.passing_time import PassingClock, let_pass
from tests.simulation.stage import Actor, Crashed, Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    import psycopg

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
    passed: list[str] = field(default_factory=list)
    clock: PassingClock = field(default_factory=PassingClock)
    _connections: list[Any] = field(default_factory=list)

    def run(self, *, rounds: int) -> None:
        """Live through so many rounds, or fewer."""
        for _ in range(rounds):
            self.round()
            if self.at_rest():
                return
            let_pass(ROUND_SECONDS, owner=self.owner, clock=self.clock)

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
