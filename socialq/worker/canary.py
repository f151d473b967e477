"""The canary: each worker sends itself messages through Redis, and is ended when it does not receive them.

Arrives: a starting worker. Leaves: a queue of its own beside its work queues, on the same channel, so that the
same blocking read of Redis serves both; a watchdog that sends canaries there; a heartbeat for each canary that a
slot has worked off. What must stay true: no worker competes for another's canaries, and no backlog delays them; a
worker that is given up drains first, as on SIGTERM. Why so: `docs/decisions/0008-liveness-by-canary.md`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import redis
import structlog
from celery.signals import (
    celeryd_after_setup,
    task_postrun,
    task_prerun,
    task_received,
    worker_ready,
    worker_shutdown,
)
from celery.worker import state
from kombu.entity import Queue
from kombu.exceptions import KombuError
from redis.backoff import NoBackoff
from redis.retry import Retry

from socialq.store.central import heartbeats
from socialq.store.patience import PASSING
from socialq.upkeep.watchdog import GIVEN_UP, CanaryNotSentError, Watchdog

if TYPE_CHECKING:
    from celery import Celery

    from socialq.wiring import Wiring

log = structlog.get_logger(__name__)

CANARY_TASK: Final = "socialq.canary"
_MOST_WAITING: Final = 3
_LEFT_BEHIND_SECONDS: Final = 600
"""What a worker that is gone has left in its queue vanishes after this."""
_SOCKET_SECONDS: Final = 2.0


@dataclass(slots=True, kw_only=True)
class Canary:
    """The canary of this process, once a worker runs in it."""

    app: Celery
    wiring: Wiring
    stopping: threading.Event
    queue: Any = None
    work_queues: tuple[str, ...] = ()
    _watchdog: Watchdog | None = None
    _broker: redis.Redis | None = field(default=None, repr=False)

    def install(self) -> None:
        """Hook into the worker's life. Nothing happens in a process that is no worker."""

        def canary() -> None:
            self._consumed()

        self.app.task(name=CANARY_TASK)(canary)
        celeryd_after_setup.connect(self._add_queue, weak=False)
        worker_ready.connect(self._start, weak=False)
        worker_shutdown.connect(self._leave, weak=False)

    def _add_queue(self, sender: str, instance: Any, **_: Any) -> None:
        """Add this worker's own queue to those that it consumes."""
        self.work_queues = tuple(instance.app.amqp.queues.consume_from)
        # Not declared, so that Redis keeps no binding of workers that are gone.
        self.queue = Queue(f"canary.{sender}", no_declare=True)  # type: ignore[no-untyped-call]
        instance.app.amqp.queues.select_add(self.queue)

    def _start(self, sender: Any, **_: Any) -> None:
        """Watch, now that the worker consumes. `sender` is Celery's consumer."""
        if self._watchdog is not None:
            return  # a reconnect
        settings = self.wiring.settings
        watchdog = self._watchdog = Watchdog(
            send=self._send,
            listens=lambda: self._listens(sender),
            busy=lambda: len(state.active_requests) >= sender.pool.num_processes,
            give_up=self._give_up,
            interval_seconds=settings.canary_seconds,
            deaf_seconds=settings.deaf_seconds,
            stuck_seconds=settings.stuck_seconds,
        )
        task_received.connect(lambda **_: watchdog.heard(), weak=False)
        task_prerun.connect(lambda **_: watchdog.progressed(), weak=False)
        task_postrun.connect(lambda **_: watchdog.progressed(), weak=False)
        threading.Thread(
            target=watchdog.watch, kwargs={"stopping": self.stopping}, name="watchdog", daemon=True
        ).start()

    def _listens(self, consumer: Any) -> bool:
        return all(consumer.task_consumer.consuming_from(name) for name in self.work_queues)

    def _send(self) -> None:
        """Send a canary, unless some wait already."""
        key = f"{self.app.conf.broker_transport_options['global_keyprefix']}{self.queue.name}"
        try:
            broker = self._broker_client()
            if int(broker.llen(key)) < _MOST_WAITING:
                self.app.send_task(CANARY_TASK, queue=self.queue, retry=False)
            broker.expire(key, _LEFT_BEHIND_SECONDS)
        except (KombuError, redis.RedisError, OSError) as error:
            raise CanaryNotSentError(type(error).__name__) from error

    def _broker_client(self) -> redis.Redis:
        if self._broker is None:
            self._broker = redis.Redis.from_url(
                self.app.conf.broker_url,
                socket_timeout=_SOCKET_SECONDS,
                socket_connect_timeout=_SOCKET_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
        return self._broker

    def _consumed(self) -> None:
        """Work off a canary: say where others look that this worker consumes."""
        settings = self.wiring.settings
        if settings.canary_file:
            Path(settings.canary_file).touch()
        detail = {"encryption_key_id": settings.encryption_key_id}
        self.wiring.stores.central.pipelined(heartbeats.beat(self._name, detail))

    @property
    def _name(self) -> str:
        return f"canary:{'+'.join(self.work_queues)}:{self.wiring.worker}"

    def _leave(self, **_: Any) -> None:
        """Take the heartbeat back: a worker that ended as it was told is not missed by anybody."""
        if self._watchdog is not None:
            with contextlib.suppress(*PASSING):
                self.wiring.stores.central.pipelined(heartbeats.forget(self._name))

    def _give_up(self, reason: str) -> None:
        """End the process, after what is under way had its time."""
        log.error("worker_given_up", reason=reason, queues=list(self.work_queues))
        self.stopping.set()
        ends_at = time.monotonic() + self.wiring.settings.drain_seconds
        while state.active_requests and time.monotonic() < ends_at:
            time.sleep(0.1)
        self.wiring.index.flush()
        log.error("worker_ended", code=GIVEN_UP, cut_short=len(state.active_requests))
        logging.shutdown()
        os._exit(GIVEN_UP)
