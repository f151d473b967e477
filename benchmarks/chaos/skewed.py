"""A Celery whose clock is wrong, or is set while it runs.

Arrives: the command line of a Celery process. Leaves: one that runs the same with `time.time` and `datetime.now`
so many seconds off, from before anything of ours or Celery's is imported. What must stay true: the monotonic
clock stays right, as it does where an administrator or a time server sets a machine's clock.
"""

from __future__ import annotations

import copyreg
import datetime as dt
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_true_datetime = dt.datetime
_true_time = time.time


def skewed_command(command: Sequence[str], *, seconds: float, after_seconds: float = 0.0) -> tuple[str, ...]:
    """Return `python -m celery -A …` as a command whose clock is `seconds` off, `after_seconds` after its start."""
    root = str(Path(__file__).resolve().parents[2])
    code = (
        f"import sys; sys.path.insert(0, {root!r}); from benchmarks.chaos.skewed import run_celery;"
        f" run_celery({seconds}, {after_seconds})"
    )
    return (sys.executable, "-c", code, *command[command.index("celery") + 1 :])


def run_celery(seconds: float, after_seconds: float) -> None:
    """Run Celery, by this process's arguments, with the clock off."""
    skew(seconds, after_seconds=after_seconds)
    from celery.__main__ import main as celery

    sys.argv[0] = "celery"
    celery()


class _SeesTrueOnes(type):
    """Objects that C code makes are of the true type, and are dates all the same."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _true_datetime)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _true_datetime)


def skew(seconds: float, *, after_seconds: float = 0.0) -> None:
    """Put this process's wall clock off by so many seconds, at once or after a while."""
    off_from = time.monotonic() + after_seconds

    def off() -> float:
        return seconds if time.monotonic() >= off_from else 0.0

    _replace_clocks(off)


def _pickled(moment: Any) -> tuple[Any, tuple[str]]:
    from celery.utils.time import maybe_iso8601

    return maybe_iso8601, (moment.isoformat(),)


def _replace_clocks(off: Callable[[], float]) -> None:
    class Skewed(_true_datetime, metaclass=_SeesTrueOnes):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:
            return _true_datetime.now(tz) + dt.timedelta(seconds=off())

        @classmethod
        def utcnow(cls) -> Any:
            return _true_datetime.now(dt.UTC).replace(tzinfo=None) + dt.timedelta(seconds=off())

        @classmethod
        def today(cls) -> Any:
            return _true_datetime.today() + dt.timedelta(seconds=off())

    dt.datetime = Skewed  # type: ignore[misc]
    # pickle looks a class up by its name, and beat pickles its times.
    for kind in (_true_datetime, Skewed):
        copyreg.pickle(kind, _pickled)
    time.time = lambda: _true_time() + off()
