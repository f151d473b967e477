"""All facts about the system, read part by part, each part no more often than it can bear.

Arrives: a question, from a scraper, every few seconds. Leaves: the newest facts that there are. What must stay
true: a part that can't be read is said to be unreadable and hides no other; two questions at once read a part once;
reading takes a small share of the time: what is costly to count is kept for longer.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

import psycopg
import structlog

from socialq.store import metrics_facts
from socialq.store.metrics_facts import Fact
from socialq.store.patience import PASSING
from socialq.vault import VaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from socialq.store.stores import Stores

log = structlog.get_logger(__name__)

_KEPT_SECONDS: Final = 5.0
_KEPT_TIMES_COST: Final = 20.0
"""A part that took a second to read is kept for twenty."""
_FAILURES: Final = (*PASSING, psycopg.Error, OSError, VaultError)


@dataclass(slots=True)
class Part:
    """One part of the facts, and what was last read of it."""

    name: str
    read: Callable[[], list[Fact]]
    monotonic: Callable[[], float] = time.monotonic
    _facts: list[Fact] | None = None
    _good_until: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def facts(self) -> list[Fact]:
        """Return the part's facts: kept ones, or new ones; while another thread reads, the ones before."""
        if self.monotonic() >= self._good_until and self._lock.acquire(blocking=self._facts is None):
            try:
                if self.monotonic() >= self._good_until:
                    self._renew()
            finally:
                self._lock.release()
        return self._facts or []

    def _renew(self) -> None:
        began = self.monotonic()
        try:
            facts, readable = self.read(), 1.0
        except _FAILURES as error:
            log.warning("facts_unreadable", part=self.name, error=type(error).__name__)
            facts, readable = [], 0.0
        self._facts = [Fact("readable", readable, {"part": self.name}), *facts]
        now = self.monotonic()
        self._good_until = now + max(_KEPT_SECONDS, (now - began) * _KEPT_TIMES_COST)


class Facts:
    """The facts of one installation. Shared between threads."""

    def __init__(self, stores: Stores, *, queue_lengths: Callable[[], Mapping[str, int]]) -> None:
        """Read `stores`, and messages by queue from `queue_lengths`, which raises `OSError` when it can't."""
        self._stores = stores
        self._queue_lengths = queue_lengths
        self._cells = Part("cells", self._read_cells)
        self._parts = [
            Part("central", partial(metrics_facts.of_central, stores.central)),
            Part("index", partial(metrics_facts.of_index, stores.central)),
            Part("queues", self._read_queues),
        ]
        self._of_cells: dict[str, list[Part]] = {}
        self._lock = threading.Lock()

    def read(self) -> list[Fact]:
        """Return every fact, those of each name together."""
        parts = [self._cells, *self._parts]
        facts = [fact for part in parts for fact in part.facts()]
        cells = [fact.labels["cell"] for fact in facts if fact.name == "cell"]
        facts += [fact for cell in cells for part in self._parts_of(cell) for fact in part.facts()]
        return sorted(facts, key=lambda fact: fact.name)

    def _read_cells(self) -> list[Fact]:
        return [Fact("cell", 1.0, {"cell": name}) for name in self._stores.cell_names()]

    def _read_queues(self) -> list[Fact]:
        return [
            Fact("queue_messages", float(count), {"queue": queue})
            for queue, count in self._queue_lengths().items()
        ]

    def _parts_of(self, cell: str) -> list[Part]:
        with self._lock:
            if cell not in self._of_cells:
                self._of_cells[cell] = list(self._build_parts(cell))
            return self._of_cells[cell]

    def _build_parts(self, cell: str) -> Iterator[Part]:
        for name, read in (
            ("outbox", metrics_facts.of_outbox),
            ("targets", metrics_facts.of_targets),
            ("lateness", metrics_facts.of_lateness),
            ("publications", metrics_facts.of_publications),
        ):
            # The cell's databases are opened when it is read: it may be down now.
            yield Part(
                f"{name}:{cell}",
                lambda read=read: read(self._stores.cell(cell).machine, cell=cell),  # type: ignore[misc]
            )
