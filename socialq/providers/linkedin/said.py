"""What stands in the body of an answer of LinkedIn: what was asked for, or an error.

An `Answer` arrives; an error's code and words, and evidence, leave.
What must stay true: only the fields that are meant to say something are read; a body with data in it is never
kept as evidence, since it holds the post's text or tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import Evidence
from socialq.providers.messages import redacted

if TYPE_CHECKING:
    from socialq.providers.http import Answer

_VERSION_OF_PERMISSION: Final = re.compile(r"(?<=\.[A-Za-z_-]{3})([A-Za-z_-]*)\.20[0-9]{6}\b")
"""Behind the name of a permission; with these digits it would look like a token, and be hidden."""
_REQUEST_ID_HEADERS: Final = ("x-li-uuid", "x-li-request-id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What an error says, taken from the fields that are meant for it."""

    code: str = ""
    """Such as `ACCESS_DENIED`."""
    service: int | None = None
    """`serviceErrorCode`."""
    words: str = ""
    """For a person."""


def json_object(answer: Answer) -> dict[str, Any]:
    """Return the body as a JSON object; empty where it is none."""
    body = answer.json()
    return body if isinstance(body, dict) else {}


def said_in(answer: Answer) -> Said | None:
    """Read the error of an answer; None where the body is no JSON object."""
    body = answer.json()
    if not isinstance(body, dict):
        return None
    code, service, words = body.get("code"), body.get("serviceErrorCode"), body.get("message")
    return Said(
        code=code if isinstance(code, str) else "",
        service=service if isinstance(service, int) and not isinstance(service, bool) else None,
        words=words if isinstance(words, str) else "",
    )


def evidence(answer: Answer, code: str) -> Evidence:
    """Keep what LinkedIn said: the words of its error where it gives one, else an excerpt."""
    return Evidence(
        http_status=answer.status,
        code=f"linkedin.{code}",
        message="" if code == "accepted" else _message(answer, code),
        request_id=_request_id(answer),
    )


def _message(answer: Answer, code: str) -> str:
    if code == "no_id":
        return "LinkedIn says that it took the post, and not under which id"
    if 200 <= answer.status < 300:
        return f"an answer of {len(answer.body)} bytes without a readable result"
    if 300 <= answer.status < 400:
        return "a redirect, which is not followed"
    said = said_in(answer)
    if said is not None and said.words:
        return redacted(_VERSION_OF_PERMISSION.sub(r"\1", said.words), secrets=answer.secrets)
    return answer.excerpt()


def _request_id(answer: Answer) -> str | None:
    given = (answer.headers.get(name) for name in _REQUEST_ID_HEADERS)
    return next((value[:100] for value in given if value and value.isascii() and value.isprintable()), None)
