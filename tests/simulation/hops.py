"""The hops of a simulated world, each with its ports hooked: where a process may stand still, die or be cut off."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.breaking import Troubles
from socialq.domain.hops import CellUnreachableError
from socialq.domain.states import NextKind
from socialq.domain.work import Claimed
from socialq.pipeline.backing_off import BackOff
from socialq.pipeline.dispatch import Dispatcher
from socialq.pipeline.look import Looker
from socialq.pipeline.places import Places
from socialq.pipeline.ports import AccountReady
from socialq.pipeline.publish import Publisher, PublishLimits
from socialq.pipeline.relay import Relay
from socialq.pipeline.sweep import CellSweep, EvidenceSweep, QueueSweep
from tests.hooked import Hooked
from tests.simulation.central import Evidence
from tests.simulation.machine import Machine
from tests.simulation.platform import DEADLINE_SECONDS, SimHttp
from tests.simulation.stage import Crashed

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.domain.hops import Message
    from tests.simulation.world import World

LEASE_SECONDS: Final = DEADLINE_SECONDS + 15.0
LIMITS: Final = PublishLimits(
    lease_seconds=LEASE_SECONDS,
    publish_deadline_seconds=DEADLINE_SECONDS,
    mark_to_send_seconds=5.0,
    guard_wait_seconds=60.0,
    suspension_grace_hours=1.0,
)
_PATIENT: Final = frozenset(
    {"part_accepted", "accepted", "late_acceptance", "settle", "late_failure", "move", "settle_look"}
)
"""What the real store repeats when its connection is cut."""


class CentralAwayError(Exception):
    """The central database can't be reached now."""


class Hops:
    """Relay, dispatch, workers and sweeps, wired as `wiring` does it, on the world's ports."""

    def __init__(self, world: World) -> None:
        self.world = world
        targets = Hooked(world.cell, "targets", self._cell_port)
        machine = Hooked(Machine(world.cell), "machine", self._cell_port)
        index = Hooked(world.central, "index", self._index_port)
        central = Hooked(world.central, "central", self._central_port)
        evidence = Hooked(Evidence(world.central), "evidence", self._central_port)
        queue = Hooked(world.queue, "queue", self._queue_port)
        known: dict[str, Any] = {
            "targets": targets,
            "index": index,
            "evidence": evidence,
            "credentials": _NoSecrets(),
            "tokens": _NeverEnding(),
            "buckets": _NoBuckets(),
            "files": None,
            "http": SimHttp(world),
            "adapter_for": world.platforms.__getitem__,
            "places": Places(threads=64, for_each_platform=64),
            "rules": world.rules,
            "clock": world.clock,
            "back_off": BackOff(clock=world.clock),
            "limits": LIMITS,
            "worker": "sim",
            "outbox": machine,
            "overdue": machine,
            "index_writer": central,
            "index_seqs": central,
            "due": central,
            "queue": queue,
            "batch": 3,
        }
        self._publisher = _made(Publisher, known)
        self._looker = _made(Looker, known)
        self._relay = _made(Relay, {**known, "index": central})
        self._dispatcher = _made(Dispatcher, known)
        self._queue_sweep = _made(QueueSweep, known)
        self._evidence_sweep = _made(EvidenceSweep, known)
        self._cell_sweep = _made(CellSweep, known)

    # Processes.

    def relay(self) -> None:
        _quietly(self._relay_all)

    def _relay_all(self) -> None:
        while self._relay.scan():
            pass

    def dispatch(self) -> None:
        _quietly(self._dispatcher.scan)

    def work_off(self, message: Message) -> None:
        """What the task does: a message whose cell is away is given back."""
        try:
            said = (self._looker.look if message.kind is NextKind.LOOK else self._publisher.publish)(message)
            self.world.tell(f"  said {said}: {self.world.cell.targets[message.target_id].status}")
        except CellUnreachableError:
            _quietly(lambda: self._give_back(message))
        except CentralAwayError:
            self.world.tell("  central database away")

    def _give_back(self, message: Message) -> None:
        row = {"target_id": message.target_id, "lane": "main", "seq": message.seq}
        self._central_port("central.put_back", lambda: self.world.central.put_back([row]))

    def sweep(self) -> None:
        _quietly(self._queue_sweep.sweep)
        _quietly(lambda: self._evidence_sweep.sweep("default"))
        _quietly(self._cell_sweep.sweep)

    # Ports.

    def _around(self, point: str, step: Callable[[], Any]) -> Any:
        """Stand still or die, before a step or after it; the step itself is one transaction."""
        world = self.world
        if world.whole:
            return step()
        roll, pauses = world.rng.random(), world.mood.pauses / 2
        if roll < pauses:
            world.stand_still()
        elif roll > 0.995:
            world.tell(f"  crash before {point}")
            world.was_cut = True
            raise Crashed
        result = step()
        if pauses < roll < pauses * 2:
            world.stand_still()
        elif 0.985 < roll <= 0.995:
            world.tell(f"  crash after {point}")
            world.was_cut = True
            raise Crashed
        return result

    def _cell_port(self, point: str, step: Callable[[], Any]) -> Any:
        world = self.world

        def reached() -> Any:
            if not world.whole and world.clock.now() < world.cell_down_until:
                raise CellUnreachableError(point)
            result = step()
            if isinstance(result, Claimed):
                world.job.attempt_no = result.attempt_no
            if not world.whole and world.strikes(0.015):
                # The connection was cut after the commit: the real store tries again, or says so.
                if point.rpartition(".")[2] in _PATIENT:
                    world.tell(f"  {point} is committed twice")
                    return step()
                world.tell(f"  the answer of {point} is lost")
                raise CellUnreachableError(point)
            return result

        return self._around(point, reached)

    def _index_port(self, point: str, step: Callable[[], Any]) -> Any:
        """The index's own methods fail nothing: what can't be written is left to the sweep."""
        if not self.world.whole and self.world.clock.now() < self.world.central_down_until:
            self.world.was_cut = True
            return Troubles(of_account=0, accounts_of_platform=0) if point == "index.trouble" else None
        return self._around(point, step)

    def _central_port(self, point: str, step: Callable[[], Any]) -> Any:
        if not self.world.whole and self.world.clock.now() < self.world.central_down_until:
            raise CentralAwayError(point)
        return self._around(point, step)

    def _queue_port(self, point: str, step: Callable[[], Any]) -> Any:
        return self._around(point, step)


def _made(hop: Any, known: dict[str, Any]) -> Any:
    """Build a hop from what it asks for, by name."""
    return hop(**{name: known[name] for name in hop.__dataclass_fields__ if name in known})


def _quietly(step: Callable[[], Any]) -> None:
    """Run a process that tries again later when a database is away."""
    with suppress(CellUnreachableError, CentralAwayError):
        step()


class _NoSecrets:
    def token_of(self, tenant_id, account):
        return account.access_token


class _NeverEnding:
    def ensure(self, work):
        return AccountReady(account=work.account)


class _NoBuckets:
    def wait_seconds(self, work):
        return 0.0
