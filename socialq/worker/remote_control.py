"""What a worker answers to Celery's remote control: questions, and no orders.

Arrives: a starting worker. Leaves: the same worker with few commands. What must stay true: whoever can write into
Redis can end no worker and take no queue from it: `shutdown` and `cancel_consumer` are sent by publishing a line,
without any password of Celery's own. `socialq up` and `demo` ask who is there and what is under way, so remote control
is not off altogether.
"""

from __future__ import annotations

from typing import Final

from celery.signals import worker_init
from celery.worker.control import Panel

ANSWERED: Final = {"ping", "active", "active_queues", "reserved", "stats"}
"""Nothing here changes a worker, or tells of its settings."""


def install() -> None:
    """Hook into the worker's life. Nothing happens in a process that is no worker."""
    worker_init.connect(_forget_orders, weak=False)


def _forget_orders(**_: object) -> None:
    for name in Panel.data.keys() - ANSWERED:
        del Panel.data[name]
