"""What a worker makes sure of when it starts: its keys are the right ones, and its threads enough."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import structlog

from socialq.store.central import alarms
from socialq.store.patience import PASSING, with_patience
from socialq.upkeep import capacity, key_checks

if TYPE_CHECKING:
    from socialq.wiring import Wiring

log = structlog.get_logger(__name__)

_PATIENCE_SECONDS: Final = 10.0


def refuse_wrong_keys(wiring: Wiring) -> None:
    """End the process with a message if a key is wrong: it would encrypt refreshed tokens that nobody can read.

    Where the database can't be reached the worker starts all the same, and waits for it like any other.
    """
    try:
        problems = with_patience(
            lambda: key_checks.problems(wiring.stores, wiring.vault), seconds=_PATIENCE_SECONDS
        )
    except PASSING as error:
        log.warning("keys_not_checked", error=type(error).__name__)
        return
    if problems:
        for problem in problems:
            log.error("wrong_encryption_key", problem=problem)
        sys.exit("\n".join(problems))


def tell_of_few_threads(wiring: Wiring, consumer: Any) -> None:
    """Raise an alarm if this is a control worker whose threads the windows would hold; clear it if it is not.

    `consumer` is Celery's, once it is ready.
    """
    if "control" not in consumer.app.amqp.queues.consume_from:
        return
    key = f"threads:{consumer.hostname}"
    try:
        central = wiring.stores.central
        problem = capacity.control_problem(consumer.pool.num_processes, cells=len(wiring.stores.cell_names()))
        if problem is None:
            alarms.clear(central, key=key)
        else:
            log.error("alarm", key=key, message=problem)
            alarms.raise_alarm(central, key=key, message=problem)
    except PASSING as error:
        log.warning("threads_not_checked", error=type(error).__name__)
