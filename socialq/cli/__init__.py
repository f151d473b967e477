"""The command line. `main` is the program `socialq`.

Arrives: arguments. Leaves: text or JSON on standard output, one clear message on standard error, an exit code:
0, 1 for what went wrong, 2 for a wrong call, 130 for Ctrl-C. What must stay true: no traceback, no hang, no
secret; JSON is the only thing on standard output where it was asked for.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program and exit."""
    from socialq.cli.running import run

    sys.exit(run(arguments))
