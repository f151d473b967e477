"""What stands in the body of an answer of X: the data asked for, or a problem.

An `Answer` arrives; ids, the words of a problem, and evidence leave.
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
    from collections.abc import Iterator

    from socialq.providers.http import Answer

_ID: Final = re.compile(r"[0-9]{1,19}")
_REQUEST_ID_HEADERS: Final = ("x-transaction-id", "x-request-id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a problem says, taken from the fields that are meant for it."""

    kinds: frozenset[str] = frozenset()
    """The last parts of `type` (`about:blank` is none), and `reason` and `title`, in small letters."""
    codes: frozenset[int] = frozenset()
    words: str = ""
    """Details, messages and titles, for a person."""


def json_object(answer: Answer) -> dict[str, Any]:
    """Return the body as a JSON object; empty where it is none."""
    body = answer.json()
    return body if isinstance(body, dict) else {}


def data_of(answer: Answer) -> dict[str, Any]:
    """Return the object under `data`; empty where there is none."""
    data = json_object(answer).get("data")
    return data if isinstance(data, dict) else {}


def digits_id(value: object) -> str | None:
    """Return an id of X as text: 1 to 19 digits; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        value = str(value)
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def said_in(answer: Answer) -> Said | None:
    """Read the problem of an answer; None where the body is no JSON object."""
    body = answer.json()
    if not isinstance(body, dict):
        return None
    problems = list(_problems(body))
    kinds = {kind for problem in problems for kind in _kinds(problem)}
    codes = [problem.get("code") for problem in problems]
    words = [word for problem in problems for word in _words(problem)]
    return Said(
        kinds=frozenset(kinds),
        codes=frozenset(code for code in codes if isinstance(code, int) and not isinstance(code, bool)),
        words=" ".join(dict.fromkeys(words)),
    )


def evidence(answer: Answer, code: str) -> Evidence:
    """Keep what X said: the words of its problem where it gives one, else an excerpt."""
    return Evidence(
        http_status=answer.status,
        code=f"x.{code}",
        message="" if code == "accepted" else _message(answer),
        request_id=_request_id(answer),
    )


def _problems(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield body
    errors = body.get("errors")
    for error in errors if isinstance(errors, list) else ():
        if isinstance(error, dict):
            yield error


def _kinds(problem: dict[str, Any]) -> Iterator[str]:
    for name in ("type", "reason", "title"):
        value = problem.get(name)
        if isinstance(value, str) and value != "about:blank":
            yield value.rstrip("/").rpartition("/")[2].lower()


def _words(problem: dict[str, Any]) -> Iterator[str]:
    for name in ("detail", "message", "title", "error_description", "error"):
        value = problem.get(name)
        if isinstance(value, str) and value:
            yield value


def _message(answer: Answer) -> str:
    if 200 <= answer.status < 300:
        return f"an answer of {len(answer.body)} bytes without a readable result"
    if 300 <= answer.status < 400:
        return "a redirect, which is not followed"
    said = said_in(answer)
    if said is not None and said.words:
        return redacted(said.words, secrets=answer.secrets)
    return answer.excerpt()


def _request_id(answer: Answer) -> str | None:
    given = (answer.headers.get(name) for name in _REQUEST_ID_HEADERS)
    return next((value[:100] for value in given if value and value.isascii() and value.isprintable()), None)
