"""What stands in the body of an answer of a server: an object, or `{"error": name, "message": sentence}`.

An `Answer` arrives; the error's name and evidence leave.
What must stay true: only the fields that are meant to say something are read; a body without an error is never
kept as evidence, since it holds the post's text or tokens.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import Evidence
from socialq.providers.messages import redacted

if TYPE_CHECKING:
    from socialq.providers.http import Answer

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,63}")
_DID: Final = re.compile(r"did:[a-z]+:[A-Za-z0-9._:%-]{1,256}")
_CID: Final = re.compile(r"b[a-z2-7]{20,120}")


def json_object(answer: Answer) -> dict[str, Any]:
    """Return the body as a JSON object; empty where it is none."""
    body = answer.json()
    return body if isinstance(body, dict) else {}


def error_name(answer: Answer) -> str:
    """Return the name of the error; empty where the answer gives none."""
    name = json_object(answer).get("error")
    return name if isinstance(name, str) and _NAME.fullmatch(name) else ""


def did(value: object) -> str | None:
    """Return a DID; None for anything else."""
    return value if isinstance(value, str) and _DID.fullmatch(value) else None


def cid(value: object) -> str | None:
    """Return a content identifier; None for anything else."""
    return value if isinstance(value, str) and _CID.fullmatch(value) else None


def evidence(answer: Answer, code: str) -> Evidence:
    """Keep what the server said: its sentence where it gives one, else an excerpt."""
    return Evidence(
        http_status=answer.status,
        code=f"bluesky.{code}",
        message="" if code == "accepted" else _message(answer),
    )


def _message(answer: Answer) -> str:
    if 200 <= answer.status < 300:
        return f"an answer of {len(answer.body)} bytes without a readable result"
    if 300 <= answer.status < 400:
        return "a redirect, which is not followed"
    told = json_object(answer).get("message")
    words = told if isinstance(told, str) and told else error_name(answer)
    return redacted(words, secrets=answer.secrets) if words else answer.excerpt()
