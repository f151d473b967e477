"""`/healthz` and `/readyz`, for whoever watches the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import sqlalchemy.exc
from flask import Blueprint, jsonify

from socialq.settings import check_connections
from socialq.upkeep import health

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

    from socialq.wiring import Wiring


def build(wiring: Wiring) -> Blueprint:
    """Build the two answers."""
    pages = Blueprint("health", __name__)

    @pages.get("/healthz")
    def healthz() -> ResponseReturnValue:
        """Say that the process lives; nothing else is asked."""
        return jsonify(status="ok")

    @pages.get("/readyz")
    def readyz() -> ResponseReturnValue:
        """Say whether posts would go out: servers reachable, windows at work. 503 with the reasons if not."""
        reasons = _reasons(wiring)
        return jsonify(ready=not reasons, reasons=reasons), 503 if reasons else 200

    return pages


def _reasons(wiring: Wiring) -> list[str]:
    unreachable = check_connections(wiring.settings)
    if any("PostgreSQL" in problem for problem in unreachable):
        return unreachable
    try:
        return [*unreachable, *health.read(wiring.stores).silent_windows]
    except (psycopg.Error, sqlalchemy.exc.SQLAlchemyError) as error:
        return [*unreachable, f"the database refuses to be read: {type(error).__name__}"]
