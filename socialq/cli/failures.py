"""What a person is told when something went wrong: what it is, and the way out.

Arrives: an exception. Leaves: one message, without a traceback and without secrets. What must stay true: every
error that a person can cause or cure has its own words; what is left is a bug, and says so.
"""

from __future__ import annotations

import os
import traceback
from typing import TYPE_CHECKING, Final

from socialq.logs import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    import psycopg


_NEVER_REACHED: Final = ("connection failed", "connection timeout", "connection is bad", "failed to resolve")
"""How the driver begins what it says of a connection that did not come about."""

_CUT: Final = (None, "57P01", "57P02", "57P03")
"""SQLSTATEs of a connection that ended: none at all, or the server shut down, crashed, or starts."""


class Failure(Exception):  # noqa: N818 - it is what the command came to
    """A command cannot do what it was asked; the message says why and what to do."""


def message_of(error: Exception) -> str:
    """Say what went wrong."""
    return redact(_known(error) or _bug(error))


def _known(error: Exception) -> str | None:
    from socialq.domain.errors import InputRefused
    from socialq.local.unavailable import LocalServersUnavailable
    from socialq.settings import ConfigInvalid
    from socialq.store.media_files import MediaStorageUnusable

    if isinstance(error, InputRefused):
        return _listed([str(problem) for problem in error.problems])
    if isinstance(error, Failure | ConfigInvalid | LocalServersUnavailable):
        return str(error)
    if isinstance(error, MediaStorageUnusable):
        return f"Error: {error}"
    # The rest costs imports, and is rare.
    return _of_database(error) or _of_system(error)


def _listed(problems: Sequence[str]) -> str:
    if len(problems) == 1:
        return f"Error: {problems[0]}"
    return "\n".join([f"Error: {len(problems)} problems:", *(f"  - {problem}" for problem in problems)])


def _of_database(error: Exception) -> str | None:
    import psycopg
    import sqlalchemy.exc

    from socialq.store.migrate import SchemaTooNewError

    if isinstance(error, sqlalchemy.exc.DBAPIError) and isinstance(error.orig, Exception):
        error = error.orig
    if isinstance(error, SchemaTooNewError):
        return f"Error: {error}"
    if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.InvalidSchemaName):
        return "Error: the database has no tables of socialq, or older ones: run `socialq db upgrade`"
    if isinstance(error, psycopg.errors.UndefinedColumn | psycopg.errors.UndefinedFunction):
        return "Error: the database's tables are of another version of socialq: run `socialq db upgrade`"
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return (
            f"Error: the database's login may not do this ({_line(error)}): run `socialq db upgrade` with"
            " SOCIALQ_OWNER_DATABASE_URL set to the owner's login"
        )
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return _of_connection(error)
    if isinstance(error, sqlalchemy.exc.TimeoutError):
        return "Error: the database has no connection to spare: try again, or raise its max_connections"
    return None


def _of_connection(error: psycopg.Error) -> str:
    said = _line(error)
    if 'role "socialq_' in said:
        return "Error: the database has no roles of socialq yet: run `socialq db upgrade`"
    if error.sqlstate not in _CUT:
        return f"Error: the database did not do it ({said}): try again; if it stays so, look at its log"
    if said.startswith(_NEVER_REACHED):
        return f"Error: the database is out of reach ({said}): check that it runs, and SOCIALQ_DATABASE_URL"
    # The answer to a commit may be what was lost.
    return (
        f"Error: the connection to the database was lost in the midst of it ({said}): look whether it was done"
        " (`socialq targets list`) before you do it again"
    )


def _of_system(error: Exception) -> str | None:
    import redis

    if isinstance(error, redis.RedisError):
        return f"Error: Redis is out of reach ({_line(error)}): check that it runs, and SOCIALQ_REDIS_URL"
    if isinstance(error, OSError) and error.filename is not None:
        return f"Error: {error.filename}: {(error.strerror or type(error).__name__).lower()}: check the path"
    return None


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return " ".join(lines[0].split()) if lines else type(error).__name__


def _bug(error: Exception) -> str:
    if os.environ.get("SOCIALQ_LOG_LEVEL", "").lower() == "debug":
        return "".join(traceback.format_exception(error)).rstrip()
    return (
        f"Error: this is a bug in socialq: {type(error).__name__}: {_line(error)}\n"
        "Set SOCIALQ_LOG_LEVEL=debug to see where, and report it."
    )
