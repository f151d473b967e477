"""The Flask app: its pages, who may see them, and what every answer carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import psycopg
import sqlalchemy.exc
import structlog
from flask import Flask, abort, render_template, request

from socialq.web import consent_page, deauthorise_page, formats, health, media, metrics, targets_page

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue
    from werkzeug.wrappers import Response

    from socialq.wiring import Wiring

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

log = structlog.get_logger(__name__)


def create_app(wiring: Wiring) -> Flask:
    """Build the app on a wiring. Connects to nothing."""
    app = Flask("socialq.web")
    app.config["MAX_CONTENT_LENGTH"] = 64 * 1024
    app.jinja_env.filters |= {
        "account": formats.account,
        "instant": formats.instant,
        "there": formats.there,
        "words": formats.words,
    }
    app.register_blueprint(health.build(wiring))
    app.register_blueprint(metrics.build(wiring))
    app.register_blueprint(media.build(wiring))
    app.register_blueprint(targets_page.build(wiring))
    app.register_blueprint(consent_page.build(wiring))
    app.register_blueprint(deauthorise_page.build(wiring))
    app.before_request(_refuse_nul)
    app.after_request(_with_headers)
    for kind in (psycopg.OperationalError, psycopg.InterfaceError, sqlalchemy.exc.TimeoutError):
        app.register_error_handler(kind, _database_away)
    app.register_error_handler(404, _not_found)
    return app


def _refuse_nul() -> None:
    """Answer 404 for names that nothing can have: PostgreSQL keeps no NUL, and fails where it is asked for one."""
    if "\0" in request.path or any("\0" in value for _, value in request.args.items(multi=True)):
        abort(404)


def _with_headers(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if response.mimetype != "text/css":
        response.headers["Cache-Control"] = "no-store"
    return response


def _database_away(error: Exception) -> ResponseReturnValue:
    log.error("database_unreachable", error=type(error).__name__)
    message = "The database is out of reach. Nothing is lost: posts wait until it is back."
    return render_template("message.html", title="Out of reach", message=message), 503


def _not_found(_error: Exception) -> ResponseReturnValue:
    return render_template("message.html", title="Not found", message="There is no such page."), 404
