"""A Celery whose clock is wrong: `python -m benchmarks.chaos.skewed worker …`, with CHAOS_CLOCK_SKEW_SECONDS set.

Arrives: Celery's command line without its first word. Leaves: that command, run in a process in which
`time.time` and `datetime.now` are that many seconds off, from before anything of ours or Celery's is imported.
The monotonic clock stays right, as it does where an administrator or a time server sets a machine's clock.
"""

from __future__ import annotations

import datetime
import os
import sys
import time
from typing import Any, Final

VARIABLE: Final = "CHAOS_CLOCK_SKEW_SECONDS"

_true_datetime = datetime.datetime
_true_time = time.time


class _SeesTrueOnes(type):
    """Objects that C code makes are of the true type, and are dates all the same."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _true_datetime)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _true_datetime)


def skew(seconds: float) -> None:
    """Put this process's wall clock off by so many seconds."""
    off = datetime.timedelta(seconds=seconds)

    class Skewed(_true_datetime, metaclass=_SeesTrueOnes):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return _true_datetime.now(tz) + off

        @classmethod
        def utcnow(cls) -> Any:
            return _true_datetime.now(datetime.UTC).replace(tzinfo=None) + off

        @classmethod
        def today(cls) -> Any:
            return _true_datetime.today() + off

    datetime.datetime = Skewed  # type: ignore[misc]
    time.time = lambda: _true_time() + seconds


def main() -> None:
    """Run Celery with the clock off."""
    skew(float(os.environ[VARIABLE]))
    from celery.__main__ import main as celery

    sys.argv[0] = "celery"
    celery()


if __name__ == "__main__":
    main()
