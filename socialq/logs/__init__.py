"""Structured logs without secrets.

Arrives: what this package and its libraries log. Leaves: one JSON object a line, or lines for people, on
standard error. What must stay true: no token, authorisation header, cookie or password leaves in a log line,
a traceback, or anything that an HTTP library prints.
"""

from socialq.logs.redaction import redact, register_secret
from socialq.logs.setup import LogFormat, bind, clear, configure_logging, get_logger

__all__ = ["LogFormat", "bind", "clear", "configure_logging", "get_logger", "redact", "register_secret"]
