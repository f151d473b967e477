"""Trying a database step again where that is safe: after a deadlock, or when the connection was cut.

Only for steps that compare and set: when the first try did commit and only its answer was lost, the second
finds nothing left to do.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

import psycopg
import sqlalchemy.exc

from socialq.domain.hops import CellUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Result = TypeVar("Result")

_FIRST_WAIT_SECONDS: Final = 0.05
_LONGEST_WAIT_SECONDS: Final = 1.0

PASSING: Final = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.OperationalError,
    psycopg.InterfaceError,
    sqlalchemy.exc.TimeoutError,
    sqlalchemy.exc.DBAPIError,
)
"""What may be gone a moment later: a restart, a failover, a full pool, a deadlock."""


def with_patience(step: Callable[[], Result], *, seconds: float) -> Result:
    """Run `step` until it works, for `seconds` at most; then the last error is raised."""
    give_up_at = time.monotonic() + seconds
    wait_seconds = _FIRST_WAIT_SECONDS
    while True:
        try:
            return step()
        except psycopg.errors.ProgramLimitExceeded:
            # An OperationalError by its class, and yet the same every time.
            raise
        except PASSING:
            if time.monotonic() + wait_seconds > give_up_at:
                raise
        time.sleep(wait_seconds)
        wait_seconds = min(wait_seconds * 2, _LONGEST_WAIT_SECONDS)


@contextmanager
def reaching_cell() -> Iterator[None]:
    """Say of a step that fails because its database is away that it is: raises `CellUnreachableError`."""
    try:
        yield
    except psycopg.errors.ProgramLimitExceeded:
        raise
    except PASSING as error:
        raise CellUnreachableError(type(error).__name__) from error
