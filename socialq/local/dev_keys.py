"""Keys for development, made once: `socialq up` and `socialq demo` start without any set-up.

Arrives: the home folder. Leaves: settings by variable name. What must stay true: the file is private, and
made once only; with another key the stored credentials could not be read again.
"""

from __future__ import annotations

import base64
import json
import secrets
from typing import TYPE_CHECKING

from socialq.local.run_as import write_once
from socialq.local.unavailable import LocalServersUnavailable

if TYPE_CHECKING:
    from pathlib import Path


def development_settings(home: Path) -> dict[str, str]:
    """``SOCIALQ_ENCRYPTION_KEY`` and ``SOCIALQ_SECRET_KEY`` of this home, from ``keys.json`` (mode 0600)."""
    home.mkdir(parents=True, exist_ok=True)
    fresh = {
        "SOCIALQ_ENCRYPTION_KEY": base64.b64encode(secrets.token_bytes(32)).decode("ascii"),
        "SOCIALQ_SECRET_KEY": secrets.token_urlsafe(48),
    }
    path = home / "keys.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        kept = kept or json.loads(write_once(path, json.dumps(fresh, indent=1) + "\n"))
        return {name: str(kept[name]) for name in fresh}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LocalServersUnavailable(
            f"{path} cannot be used ({type(error).__name__}). It holds the development keys: restore it, or "
            "delete the whole folder to start afresh."
        ) from error
