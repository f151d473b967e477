"""What stands in an answer of a Graph API: the object asked for, or an error.

An `Answer` arrives; ids, links, the parts of an error, and evidence leave.
What must stay true: an error is read from parsed JSON, its code and subcode as numbers; a body that is not an
error is never kept as evidence, since it may hold tokens or the text of a post.

Source: developers.facebook.com/docs/graph-api/guides/error-handling.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import Evidence
from socialq.providers.messages import redacted

if TYPE_CHECKING:
    from socialq.providers.http import Answer

_ID: Final = re.compile(r"[0-9]{1,40}(_[0-9]{1,40}){0,2}")
_LINK: Final = re.compile(r"https?://[\x21-\x7e\u00a1-\ud7ff\ue000-\ufffd]{1,2040}")
_TRACE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphError:
    """The error of an answer, taken from the fields that are meant for it."""

    code: int | None = None
    subcode: int | None = None
    kind: str = ""
    """Its `type`, such as `OAuthException`."""
    message: str = ""
    for_people: str = ""
    """`error_user_title` and `error_user_msg`, which Meta writes for the person at the screen."""
    is_transient: bool = False
    trace_id: str | None = None


def json_object(answer: Answer) -> dict[str, Any]:
    """Return the body as a JSON object; empty where it is none."""
    body = answer.json()
    return body if isinstance(body, dict) else {}


def graph_id(value: object) -> str | None:
    """Return an id as text: digits, of a post two or three groups joined by `_`; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        value = str(value)
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def web_address(value: object) -> str | None:
    """Return a link that may be shown; None for anything that is not http or https."""
    return value if isinstance(value, str) and _LINK.fullmatch(value) else None


def error_of(answer: Answer) -> GraphError | None:
    """Read the error of an answer, whatever its status; None where the body holds none.

    Three shapes are known: `error` of the Graph API, `debug_info` of the upload host, and the flat one of the
    older token endpoints, whose `code` repeats the HTTP status and says nothing.
    """
    body = json_object(answer)
    error, upload = body.get("error"), body.get("debug_info")
    if isinstance(error, dict):
        return _graph_error(error)
    if isinstance(upload, dict):
        return GraphError(
            kind=_text(upload.get("type")),
            message=_text(upload.get("message")),
            is_transient=upload.get("retriable") is True,
        )
    if isinstance(body.get("error_message"), str):
        return GraphError(kind=_text(body.get("error_type")), message=_text(body.get("error_message")))
    return None


def evidence(answer: Answer, code: str) -> Evidence:
    """Keep what the platform said under `code`, which begins with the platform's name."""
    error = error_of(answer)
    return Evidence(
        http_status=answer.status,
        code=code,
        message=_message(answer, error),
        request_id=_trace_id(answer, error),
    )


def _graph_error(error: dict[str, Any]) -> GraphError:
    people = (_text(error.get("error_user_title")), _text(error.get("error_user_msg")))
    trace = error.get("fbtrace_id")
    return GraphError(
        code=_number(error.get("code")),
        subcode=_number(error.get("error_subcode")),
        kind=_text(error.get("type")),
        message=_text(error.get("message")),
        for_people=": ".join(one for one in people if one),
        is_transient=error.get("is_transient") is True,
        trace_id=trace if isinstance(trace, str) and _TRACE_ID.fullmatch(trace) else None,
    )


def _message(answer: Answer, error: GraphError | None) -> str:
    if error is not None:
        number = "/".join(str(one) for one in (error.code, error.subcode) if one is not None)
        # The words for people come first: an excerpt is cut at its end.
        words = " ".join(one for one in (error.for_people, error.message) if one)
        return redacted(f"({number}) {words}" if number else words, secrets=answer.secrets)
    if 200 <= answer.status < 300:
        return f"an answer of {len(answer.body)} bytes without a readable result"
    if 300 <= answer.status < 400:
        return "a redirect, which is not followed"
    return answer.excerpt()


def _trace_id(answer: Answer, error: GraphError | None) -> str | None:
    header = answer.headers.get("x-fb-trace-id")
    trace = error.trace_id if error is not None and error.trace_id else header
    return trace if trace is not None and _TRACE_ID.fullmatch(trace) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
