"""The Celery side: `celery -A socialq.worker worker|beat`. The settings must be valid to get this far."""

from __future__ import annotations

import sys

from socialq.settings import SERVICE, ConfigInvalid, load_settings
from socialq.worker.app import make_app

try:
    app = make_app(load_settings(require=SERVICE))
except ConfigInvalid as invalid:
    # Celery would print a traceback; an operator wants the message.
    sys.exit(str(invalid))

__all__ = ["app"]
