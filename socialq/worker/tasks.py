"""The tasks: a few lines each, since what they do stands in `pipeline`.

Log context is bound at a task's start and cleared at its end. Arguments are ids and numbers only: they are
shown by Flower and kept in Redis.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from socialq.domain.hops import CellUnreachableError, Message
from socialq.domain.states import NextKind
from socialq.store.central import heartbeats
from socialq.store.patience import PASSING
from socialq.store.queue_lengths import QueueLengths
from socialq.worker.draining import stopping
from socialq.worker.queue import CONTROL, PREPARE_TASK, PUBLISH_TASK, queues

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from celery import Celery

    from socialq.domain.hops import Lane
    from socialq.wiring import Wiring

log = structlog.get_logger(__name__)

_RELAY_WINDOW: Final = "socialq.relay_window"


def register(app: Celery, wiring: Wiring) -> None:
    """Register every task on `app`."""
    _register_publishing(app, wiring)
    _register_windows(app, wiring)
    _register_sweeps(app, wiring)
    _register_upkeep(app, wiring)


def _register_publishing(app: Celery, wiring: Wiring) -> None:
    @app.task(name=PUBLISH_TASK)
    def publish_target(tenant: str, target: str, seq: int, kind: str) -> None:
        message = _message(tenant, target, seq, kind)
        with _at_work_on(wiring, message, lane="main") as goes_on:
            if goes_on and message.kind is NextKind.LOOK:
                wiring.looker.look(message)
            elif goes_on:
                wiring.publisher.publish(message)

    @app.task(name=PREPARE_TASK)
    def prepare_target(tenant: str, target: str, seq: int, kind: str) -> None:
        message = _message(tenant, target, seq, kind)
        with _at_work_on(wiring, message, lane="prepare") as goes_on:
            if goes_on:
                wiring.preparer.prepare(message)


def _message(tenant: str, target: str, seq: int, kind: str) -> Message:
    return Message(tenant_id=UUID(tenant), target_id=UUID(target), seq=seq, kind=NextKind(kind))


@contextmanager
def _at_work_on(wiring: Wiring, message: Message, *, lane: Lane) -> Iterator[bool]:
    """Bind the log context of a message; False: this worker is stopping and has given the message back."""
    if stopping.is_set():
        # Another worker gets it at once, not at its re-send.
        _give_back(wiring, message, lane)
        wiring.central_index.wake_dispatch()
        yield False
        return
    with structlog.contextvars.bound_contextvars(
        tenant=str(message.tenant_id), target=str(message.target_id), seq=message.seq
    ):
        try:
            yield True
        except CellUnreachableError as error:
            # Nothing was sent that is not recorded; the row waits until the cell is back.
            log.warning("cell_unreachable", error=str(error))
            _give_back(wiring, message, lane)
        finally:
            structlog.contextvars.unbind_contextvars("attempt")


def _give_back(wiring: Wiring, message: Message, lane: Lane) -> None:
    wiring.central_index.put_back([{"target_id": message.target_id, "lane": lane, "seq": message.seq}])


@contextmanager
def _cell_may_be_away(cell: str) -> Iterator[None]:
    """One cell that is down keeps no other from being swept; its relay raises the alarm."""
    try:
        yield
    except (*PASSING, CellUnreachableError) as error:
        log.warning("cell_not_swept", cell=cell, error=type(error).__name__)


def send_relay_windows(app: Celery, lengths: QueueLengths, cells: Iterable[str]) -> None:
    """Send a window for each cell, but where one waits: that is as good as one more, whenever it is taken."""
    try:
        waiting = lengths.waiting(CONTROL)
    except OSError as error:
        log.warning("queue_unreadable", error=str(error))
        waiting = set()
    for cell in cells:
        if (_RELAY_WINDOW, repr((cell,))) not in waiting:
            app.send_task(_RELAY_WINDOW, args=(cell,), retry=False)


def _register_windows(app: Celery, wiring: Wiring) -> None:
    lengths = QueueLengths(wiring.settings.redis_url.get_secret_value(), queues=(CONTROL,))

    @app.task(name="socialq.relay_tick")
    def relay_tick() -> None:
        wiring.stores.central.pipelined(heartbeats.beat(heartbeats.TICKS))
        send_relay_windows(app, lengths, wiring.stores.cell_names())

    @app.task(name=_RELAY_WINDOW)
    def relay_window(cell: str) -> None:
        with structlog.contextvars.bound_contextvars(window="relay", cell=cell):
            try:
                wiring.relay_window(cell).run(stopping=stopping.is_set)
            except PASSING as error:
                wiring.cell_watch.lost(cell, error)

    @app.task(name="socialq.dispatch_window")
    def dispatch_window() -> None:
        with structlog.contextvars.bound_contextvars(window="dispatch"):
            wiring.dispatch_window(queues(app)).run(stopping=stopping.is_set)


def _register_sweeps(app: Celery, wiring: Wiring) -> None:
    @app.task(name="socialq.sweep")
    def sweep() -> None:
        for lane, queue in queues(app).items():
            wiring.queue_sweep(queue, lane=lane).sweep()
        for cell in wiring.stores.cell_names():
            with structlog.contextvars.bound_contextvars(cell=cell), _cell_may_be_away(cell):
                wiring.evidence_sweep().sweep(cell)
                wiring.cell_sweep(cell).sweep()
        wiring.statistics.gather()

    @app.task(name="socialq.audit")
    def audit() -> None:
        wiring.state_holds.audit()
        wiring.central_index.let_go()
        for cell in wiring.stores.cell_names():
            with structlog.contextvars.bound_contextvars(cell=cell), _cell_may_be_away(cell):
                wiring.cell_sweep(cell).audit()


def _register_upkeep(app: Celery, wiring: Wiring) -> None:
    @app.task(name="socialq.token_upkeep")
    def token_upkeep() -> None:
        for cell in wiring.stores.cell_names():
            with structlog.contextvars.bound_contextvars(cell=cell), _cell_may_be_away(cell):
                wiring.token_upkeep.run(cell)

    @app.task(name="socialq.permalinks")
    def permalinks() -> None:
        for cell in wiring.stores.cell_names():
            with structlog.contextvars.bound_contextvars(cell=cell), _cell_may_be_away(cell):
                wiring.permalink_upkeep.run(cell)

    @app.task(name="socialq.prune")
    def prune() -> None:
        wiring.prune.prune()

    @app.task(name="socialq.deliver")
    def deliver() -> None:
        for cell in wiring.stores.cell_names():
            with structlog.contextvars.bound_contextvars(cell=cell), _cell_may_be_away(cell):
                wiring.fan_out.run(cell)
                wiring.webhook_sender.run(cell)

    @app.task(name="socialq.watch")
    def watch() -> None:
        wiring.watch.run()

    @app.task(name="socialq.vacuum_check")
    def vacuum_check() -> None:
        wiring.vacuum_check.check()
