"""How many messages a worker keeps in hand that no thread of it has begun.

Celery's least is one for each thread: a worker whose threads are all at work would take as many again, and they
would wait for it while another worker has nothing to do, or be lost with it for the seconds until they are sent
again. A quarter of that keeps its threads fed, since one turn of the loop takes several (`transport`).
"""

from __future__ import annotations

from typing import Any

from celery import bootsteps


class FewInHand(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """A step of the worker's consumer; made before any step starts, so before the limit is told to the queue."""

    def __init__(self, c: Any, **kwargs: Any) -> None:
        """Lower the consumer's limit."""
        c.initial_prefetch_count = few(c.initial_prefetch_count)
        super().__init__(c, **kwargs)


def few(threads: int) -> int:
    """Return the number for a worker of `threads` threads: at least two, so that none starves."""
    return max(2, threads // 4)
