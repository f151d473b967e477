"""`/healthz`, `/healthz/pipeline` and `/readyz`, for whoever watches the process."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

import psycopg
import sqlalchemy.exc
import structlog
from flask import Blueprint, jsonify

from socialq.settings import check_connections
from socialq.upkeep import health

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

    from socialq.upkeep.watching.watch import Seen
    from socialq.wiring import Wiring

log = structlog.get_logger(__name__)

_KEPT_SECONDS: Final = 5.0


def build(wiring: Wiring) -> Blueprint:
    """Build the two answers."""
    pages = Blueprint("health", __name__)
    kept = _Kept(wiring)

    @pages.get("/healthz")
    def healthz() -> ResponseReturnValue:
        """Say that the process lives; nothing else is asked."""
        return jsonify(status="ok")

    @pages.get("/readyz")
    def readyz() -> ResponseReturnValue:
        """Say whether posts would go out: servers reachable, windows at work. 503 with the reasons if not."""
        reasons = _reasons(wiring)
        return jsonify(ready=not reasons, reasons=reasons), 503 if reasons else 200

    @pages.get("/healthz/pipeline")
    def pipeline() -> ResponseReturnValue:
        """Say by kind what the alarms' rules see now. 503 if something is red. Nothing of any tenant."""
        seen = kept.read()
        return jsonify(_shown(seen)), 200 if seen is not None and not seen.red else 503

    return pages


class _Kept:
    """What was last seen, for a few seconds: whoever asks often looks no more often."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._lock = threading.Lock()
        self._good_until = 0.0
        self._seen: Seen | None = None

    def read(self) -> Seen | None:
        """Look, or return what was just seen; None: the database can't be read."""
        with self._lock:
            if time.monotonic() >= self._good_until:
                try:
                    self._seen = self._wiring.watch.look()
                except (psycopg.Error, sqlalchemy.exc.SQLAlchemyError) as error:
                    log.warning("pipeline_unread", error=type(error).__name__)
                    self._seen = None
                self._good_until = time.monotonic() + _KEPT_SECONDS
            return self._seen


def _shown(seen: Seen | None) -> dict[str, object]:
    """Show kinds and counts: keys and messages name posts and accounts."""
    if seen is None:
        return {"ok": False, "red": ["database"], "kinds": {}}
    kinds = {kind: {"state": "unread" if kind in seen.unread else "fine", "found": 0} for kind in seen.kinds}
    for finding in seen.findings:
        shown = kinds[finding.kind]
        shown["found"] = int(shown["found"]) + 1
        if shown["state"] != "unread":
            shown["state"] = "red" if finding.red or shown["state"] == "red" else "worth_knowing"
    return {"ok": not seen.red, "red": seen.red, "kinds": kinds}


def _reasons(wiring: Wiring) -> list[str]:
    unreachable = check_connections(wiring.settings)
    if any("PostgreSQL" in problem for problem in unreachable):
        return unreachable
    try:
        return [*unreachable, *health.read(wiring.stores).silent_windows]
    except (psycopg.Error, sqlalchemy.exc.SQLAlchemyError) as error:
        return [*unreachable, f"the database refuses to be read: {type(error).__name__}"]
