"""The tasks: a few lines each, since what they do stands in `pipeline`.

Log context is bound at a task's start and cleared at its end. Arguments are ids and numbers only: they are
shown by Flower and kept in Redis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from socialq.domain.hops import Message
from socialq.domain.states import NextKind
from socialq.worker.queue import PUBLISH_TASK, CeleryQueue

if TYPE_CHECKING:
    from celery import Celery

    from socialq.wiring import Wiring


def register(app: Celery, wiring: Wiring) -> None:
    """Register every task on `app`."""
    _register_publishing(app, wiring)
    _register_windows(app, wiring)
    _register_sweeps(app, wiring)


def _register_publishing(app: Celery, wiring: Wiring) -> None:
    @app.task(name=PUBLISH_TASK)
    def publish_target(tenant: str, target: str, seq: int, kind: str) -> None:
        message = Message(tenant_id=UUID(tenant), target_id=UUID(target), seq=seq, kind=NextKind(kind))
        if _stopping():
            # This worker claims nothing more: another one gets the message at once, not at its re-send.
            wiring.central_index.put_back([{"target_id": message.target_id, "lane": "main", "seq": seq}])
            wiring.central_index.wake_dispatch()
            return
        with structlog.contextvars.bound_contextvars(tenant=tenant, target=target, seq=seq):
            try:
                if message.kind is NextKind.LOOK:
                    wiring.looker.look(message)
                else:
                    wiring.publisher.publish(message)
            finally:
                structlog.contextvars.unbind_contextvars("attempt")


def _register_windows(app: Celery, wiring: Wiring) -> None:
    queue = CeleryQueue(app)

    @app.task(name="socialq.relay_tick")
    def relay_tick() -> None:
        for cell in wiring.stores.cell_names():
            app.send_task("socialq.relay_window", args=(cell,), expires=10, retry=False)

    @app.task(name="socialq.relay_window")
    def relay_window(cell: str) -> None:
        with structlog.contextvars.bound_contextvars(window="relay", cell=cell):
            wiring.relay_window(cell).run(stopping=_stopping)

    @app.task(name="socialq.dispatch_window")
    def dispatch_window() -> None:
        with structlog.contextvars.bound_contextvars(window="dispatch"):
            wiring.dispatch_window(queue).run(stopping=_stopping)


def _register_sweeps(app: Celery, wiring: Wiring) -> None:
    queue = CeleryQueue(app)

    @app.task(name="socialq.sweep")
    def sweep() -> None:
        wiring.queue_sweep(queue).sweep()
        for cell in wiring.stores.cell_names():
            with structlog.contextvars.bound_contextvars(cell=cell):
                wiring.cell_sweep(cell).sweep()

    @app.task(name="socialq.audit")
    def audit() -> None:
        for cell in wiring.stores.cell_names():
            with structlog.contextvars.bound_contextvars(cell=cell):
                wiring.cell_sweep(cell).audit()


def _stopping() -> bool:
    from socialq.worker.app import stopping

    return stopping.is_set()
