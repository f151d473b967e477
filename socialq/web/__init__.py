"""The web: health answers and the page of targets. `gunicorn "socialq.web:create_app()"` serves it.

What must stay true: it reads through `store.views` and writes through `desk`; nothing is connected before the
first request, so that a server may fork after the import.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from socialq.wiring import Wiring


def create_app(wiring: Wiring | None = None) -> Flask:
    """Build the app, from the environment's settings unless a wiring is given."""
    from socialq.web.app import create_app as create

    return create(wiring or _from_environment())


def _from_environment() -> Wiring:
    from socialq.logs import configure_logging, register_secret
    from socialq.settings import SERVICE, ConfigInvalid, load_settings
    from socialq.wiring import Wiring

    try:
        settings = load_settings(require=SERVICE)
    except ConfigInvalid as invalid:
        # The server would print a traceback; an operator wants the message. 4: gunicorn, don't try again.
        print(invalid, file=sys.stderr)
        sys.exit(4)
    for secret in settings.secret_values():
        register_secret(secret)
    configure_logging(settings.log_level, settings.log_format)
    return Wiring(settings)
