"""The reference of the lateness benchmark: a bare Celery task that posts one text to the stub."""

from __future__ import annotations

import os
import threading

import requests
from celery import Celery

_local = threading.local()


def make_app(broker: str, stub: str) -> Celery:
    """Build the reference's app; `stub` is only named for the worker's environment."""
    del stub
    made = Celery("bare", broker=broker)
    made.conf.update(
        task_default_queue="bare",
        task_ignore_result=True,
        worker_prefetch_multiplier=1,
        broker_transport_options={"global_keyprefix": "bare:"},
        broker_connection_retry_on_startup=True,
    )

    @made.task(name="bare.post")
    def post(text: str, url: str) -> None:
        session = getattr(_local, "session", None)
        if session is None:
            session = _local.session = requests.Session()
        session.post(f"{url}/api/v1/statuses", json={"status": text}, timeout=30)

    return made


app = make_app(
    os.environ.get("BENCHMARK_BROKER", "redis://127.0.0.1:6379/0"), os.environ.get("BENCHMARK_STUB", "")
)
