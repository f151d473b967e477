"""`run.json`: what runs here, for the command line and for people.

Arrives: addresses and pids from the supervisor. Leaves: a file, whole or not at all, private since the
database's password stands in it. What must stay true: it is there only while its supervisor lives, or after
that was killed; a reader takes it for a hint and lets the connection decide.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any, Final

from socialq.local.run_as import own_like

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAME: Final = "run.json"


def write(home: Path, content: Mapping[str, Any]) -> None:
    """Replace the file."""
    draft = home / f"{NAME}.{secrets.token_hex(4)}"
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    own_like(home, draft)
    draft.replace(home / NAME)


def read(home: Path) -> dict[str, Any] | None:
    """Return what was written, or None where there is nothing that can be read."""
    try:
        content = json.loads((home / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def remove(home: Path) -> None:
    """Forget it. Twice is harmless."""
    (home / NAME).unlink(missing_ok=True)
