"""Makes the Celery app from `celeryconfig` (data) and the settings (what differs from place to place)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from celery import Celery
from celery.signals import (
    celeryd_init,
    setup_logging,
    worker_init,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)

from socialq.logs import configure_logging, register_secret
from socialq.wiring import Wiring
from socialq.worker import remote_control, transport
from socialq.worker.canary import Canary
from socialq.worker.draining import Draining, stopping
from socialq.worker.events import CalmEvents
from socialq.worker.prefetch import FewInHand
from socialq.worker.starting import refuse_wrong_keys, tell_of_few_threads

if TYPE_CHECKING:
    from socialq.settings import Settings


def make_app(settings: Settings) -> Celery:
    """Build the app with its tasks. Connects to nothing."""
    from socialq.worker import tasks

    app = Celery("socialq")
    app.config_from_object("celeryconfig")
    app.steps["consumer"].add(CalmEvents)
    app.steps["consumer"].add(FewInHand)
    broker_url = settings.redis_url.get_secret_value()
    app.conf.update(broker_url=broker_url, worker_soft_shutdown_timeout=settings.drain_seconds)
    transport.use(app, broker_url=broker_url)
    remote_control.install()
    for secret in settings.secret_values():
        register_secret(secret)
    setup_logging.connect(lambda **_: configure_logging(settings.log_level, settings.log_format), weak=False)
    celeryd_init.connect(_no_banner, weak=False)
    worker_shutting_down.connect(_stop, weak=False)
    wiring = Wiring(settings, batching=True)
    worker_init.connect(lambda **_: refuse_wrong_keys(wiring), weak=False)
    worker_init.connect(lambda **_: wiring.warm_up(), weak=False)
    worker_ready.connect(lambda sender, **_: tell_of_few_threads(wiring, sender), weak=False)
    tasks.register(app, wiring)
    Canary(app=app, wiring=wiring, stopping=stopping).install()

    def flush() -> None:
        wiring.index.flush()

    worker_shutdown.connect(lambda **_: flush(), weak=False)
    Draining(stopping=stopping, drain_seconds=settings.drain_seconds, flush=flush).install()
    return app


def _no_banner(instance: Any, **_: Any) -> None:
    """Leave Celery's banner out: printing it ends a worker that starts while the disk of its log is full."""
    instance.quiet = True


def _stop(**_: Any) -> None:
    stopping.set()
