"""Runs seeds one after the other, and tells the story of one that failed."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from tests.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Iterable

LINES_TOLD = 120


@dataclass(frozen=True)
class Failure:
    """A seed whose run broke something."""

    seed: int
    what: str
    lines: tuple[str, ...]

    def told(self) -> str:
        """The end of its story, and how to see it again."""
        shown = "\n".join(self.lines[-LINES_TOLD:])
        return f"{shown}\nseed {self.seed}: {self.what}\nagain: python -m tests.simulation --seed {self.seed} --trace"


def quiet_logs() -> None:
    """The hops' own logs are not what a run looks at, and cost as much as the run."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def failure_of(seed: int, *, without: frozenset[str] = frozenset()) -> str | None:
    """Run one seed; returns what did not hold, or None."""
    try:
        World(seed, without=without).run()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this seed's
        return f"{type(error).__name__}: {error}"
    return None


def story_of(seed: int, *, without: frozenset[str] = frozenset()) -> tuple[str | None, list[str]]:
    """Run one seed and tell what happens in it."""
    lines: list[str] = []
    try:
        World(seed, without=without, trace=lines.append).run()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this seed's
        return f"{type(error).__name__}: {error}", lines
    return None, lines


def first_failure(
    seeds: Iterable[int], *, seconds: float | None = None, without: frozenset[str] = frozenset()
) -> tuple[int, Failure | None]:
    """Run seeds until one fails, all are done, or time is up; returns how many ran."""
    ends_at = None if seconds is None else time.monotonic() + seconds
    ran = 0
    for seed in seeds:
        if ends_at is not None and time.monotonic() > ends_at:
            break
        ran += 1
        if failure_of(seed, without=without) is not None:
            what, lines = story_of(seed, without=without)
            return ran, Failure(seed, what or "it did not fail again", tuple(lines))
    return ran, None
