"""How a worker ends: what is under way gets its time, and no more than that.

Arrives: SIGTERM or SIGINT, upon which Celery stops consuming and waits for its threads without end, or SIGQUIT.
Leaves: a process that has ended, `drain_seconds` later at the latest; on SIGQUIT at once. What must stay true:
nothing is claimed any more once `stopping` is set; a request that is cut off has its mark in the database, so
that the sweep settles it when its lease is over: without a mark it is sent again, with one it is looked for.

Celery's own soft shutdown is not what ends it: on threads it sleeps its whole time, then waits for them as well.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import structlog
from celery.signals import worker_init, worker_ready
from celery.worker import state

from socialq.store.patience import PASSING

if TYPE_CHECKING:
    from collections.abc import Callable

log = structlog.get_logger(__name__)

stopping = threading.Event()
"""Set when this process was told to stop: windows end, nothing more is claimed."""

CUT_SHORT: Final = os.EX_TEMPFAIL
"""The exit code of a worker that was still at something when its time was over."""
_FLUSH_SECONDS: Final = 3.0


@dataclass(slots=True, kw_only=True)
class Draining:
    """The end of this process, once a worker runs in it."""

    stopping: threading.Event
    """Set by whoever tells this worker to stop."""
    drain_seconds: float
    flush: Callable[[], None]
    """Writes what is settled and still to be told to the index."""
    _at_once: threading.Event = field(default_factory=threading.Event)
    _started: bool = False

    def install(self) -> None:
        """Hook into the worker's life. Nothing happens in a process that is no worker."""
        worker_init.connect(self._start, weak=False)
        worker_ready.connect(self._take_over_quit, weak=False)

    def _start(self, **_: Any) -> None:
        if not self._started:
            self._started = True
            threading.Thread(target=self._end_in_time, name="draining", daemon=True).start()

    def _take_over_quit(self, **_: Any) -> None:
        """Replace Celery's handler, which has been installed by now and would wait for threads without end."""
        signal.signal(signal.SIGQUIT, self._quit)

    def _quit(self, *_: object) -> None:
        self._at_once.set()
        self.stopping.set()

    def _end_in_time(self) -> None:
        self.stopping.wait()
        self._at_once.wait(self.drain_seconds)
        # Whoever has nothing left to do has ended before: this thread dies with the process.
        log.warning("worker_ended", code=CUT_SHORT, cut_short=len(state.active_requests))
        self._flush_in_time()
        logging.shutdown()
        os._exit(CUT_SHORT)

    def _flush_in_time(self) -> None:
        """Flush, but never wait for a database that is away."""

        def flush() -> None:
            with contextlib.suppress(*PASSING):
                self.flush()

        flushing = threading.Thread(target=flush, name="last-flush", daemon=True)
        flushing.start()
        flushing.join(_FLUSH_SECONDS)
