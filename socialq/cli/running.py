"""One run of the program: from arguments to an exit code, whatever happens in between."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Final

import click

from socialq.cli.failures import message_of
from socialq.cli.program import program
from socialq.domain.errors import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED: Final = 130


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Raises nothing."""
    try:
        _refuse_unreadable(sys.argv[1:] if arguments is None else arguments)
        result = program.main(
            args=None if arguments is None else list(arguments), prog_name="socialq", standalone_mode=False
        )
        sys.stdout.flush()
    except click.exceptions.Exit as asked:
        return asked.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except SystemExit as asked:
        return asked.code if isinstance(asked.code, int) else 1
    except Exception as error:  # noqa: BLE001 - the program's edge: people get a message, not a traceback
        with contextlib.suppress(OSError):
            click.echo(message_of(error), err=True)
        return 1
    return result if isinstance(result, int) else 0


def _refuse_unreadable(arguments: Sequence[str]) -> None:
    """Refuse an argument that is no text: Python keeps bytes that are not UTF-8 as what nothing else takes."""
    for number, argument in enumerate(arguments, start=1):
        try:
            argument.encode("utf-8")
        except UnicodeEncodeError:
            raise click.UsageError(f"argument {number} is not UTF-8: {shown(argument)}") from None


def _reader_left() -> int:
    """`socialq … | head`: the reader has seen enough. The interpreter's own last flush must not complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
