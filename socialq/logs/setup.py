"""One configuration of `logging` and structlog for every process.

Arrives: level and format. Leaves: a handler on the root logger, through which structlog, Celery, urllib3
and everything else log. What must stay true: redaction happens before any handler sees a record, so that a
handler which a library adds later gets clean records too; `configure_logging` may be called again.
"""

from __future__ import annotations

import http.client
import logging
import sys
import threading
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import structlog
from structlog.stdlib import BoundLogger, ProcessorFormatter

from socialq.logs.redaction import MASK, is_sensitive, redact

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping
    from types import TracebackType

    from structlog.typing import EventDict, Processor

LogFormat = Literal["json", "console"]

HANDLER_NAME: Final = "socialq"
DEEPEST = 6
"""Nesting of structured values that is shown; deeper is cut."""

QUIET = {"sqlalchemy": logging.WARNING, "celery.bootsteps": logging.INFO, "kombu": logging.INFO}
"""Least levels at which libraries log, whatever is configured: below, they show values and post texts."""

_plain_factory = logging.getLogRecordFactory()


def configure_logging(level: str = "info", format: LogFormat = "json") -> None:  # noqa: A002 - the setting's word
    """Send all logs to standard error. Idempotent; Celery's `setup_logging` signal calls it in workers."""
    handler = logging.StreamHandler(sys.stderr)
    handler.set_name(HANDLER_NAME)
    handler.setFormatter(_formatter(format))
    root = logging.getLogger()
    for old in [known for known in root.handlers if known.get_name() == HANDLER_NAME]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(max(least, root.level))
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False  # its report of a failed log call would print the arguments as they are
    logging.setLogRecordFactory(_clean_record)
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *_shared(), ProcessorFormatter.wrap_for_formatter],
        wrapper_class=BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    _silence_http_debugging()
    _redact_uncaught()


def get_logger(name: str) -> BoundLogger:
    """A structured logger: ``log.info("event", target=…)``."""
    return structlog.stdlib.get_logger(name)


def bind(**values: object) -> None:
    """Add fields to every entry of this task or thread from now on: tenant, target, attempt."""
    structlog.contextvars.bind_contextvars(**values)


def clear() -> None:
    """Forget what `bind` added."""
    structlog.contextvars.clear_contextvars()


def _shared() -> list[Processor]:
    """What happens to every entry, ours or a library's, before it is rendered. Redaction comes last."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        _clean_event,
    ]


def _formatter(format: LogFormat) -> logging.Formatter:  # noqa: A002 - the setting's word
    renderer: Processor
    if format == "json":
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    return ProcessorFormatter(
        foreign_pre_chain=_shared(), processors=[ProcessorFormatter.remove_processors_meta, renderer]
    )


def _clean_event(_logger: Any, _method: str, event: EventDict) -> EventDict:
    internal = {key: event[key] for key in ("_record", "_from_structlog") if key in event}
    cleaned: MutableMapping[str, Any] = {
        key: _clean(value, key, DEEPEST) for key, value in event.items() if key not in internal
    }
    return {**cleaned, **internal}


def _clean(value: object, key: str, depth: int) -> object:
    """A value fit for a log: plain data only, secrets masked. Other objects are shown by their ``str``."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if is_sensitive(key):
        return MASK
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        return {str(name): _clean(item, str(name), depth - 1) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(item, "", depth - 1) for item in value]
    return redact(value if isinstance(value, str) else str(value))


def _clean_record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    """Make a log record of the standard library clean at its birth.

    structlog's records carry a dict, which `_clean_event` has been through; others become plain text here.
    ``exc_text`` is what the standard formatters show instead of formatting the exception themselves.
    """
    record = _plain_factory(*args, **kwargs)
    if isinstance(record.msg, dict):
        return record
    try:
        text = record.getMessage()
    except Exception:  # noqa: BLE001 - a log call's arguments can be anything; logging must not fail for them
        text = f"{record.msg} (its arguments do not fit)"
    record.msg, record.args = redact(text), ()
    if record.exc_info and record.exc_info[0] is not None:
        record.exc_text = redact("".join(traceback.format_exception(*record.exc_info)).rstrip())
    return record


def _silence_http_debugging() -> None:
    """Keep `http.client` from printing requests: its debug output shows headers and bodies on stdout."""
    http.client.HTTPConnection.debuglevel = 0
    # The module's own name `print` shadows the builtin, for connections that raise their level themselves.
    vars(http.client)["print"] = _print_nothing


def _print_nothing(*_args: object, **_kwargs: object) -> None:
    return


def _redact_uncaught() -> None:
    sys.excepthook = _report_uncaught
    threading.excepthook = _report_thread


def _report_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(redact("".join(traceback.format_exception(kind, error, trace))))


def _report_thread(arguments: threading.ExceptHookArgs) -> None:
    if arguments.exc_type is SystemExit:
        return
    error = (arguments.exc_type, arguments.exc_value or arguments.exc_type(), arguments.exc_traceback)
    log: Callable[..., None] = logging.getLogger("socialq.threads").error
    log("uncaught error in thread %s", arguments.thread.name if arguments.thread else "?", exc_info=error)
