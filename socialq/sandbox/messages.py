"""What one HTTP exchange carries: the request that arrived and the reply that leaves.

Arrives: a parsed head and a body that is still on the wire. Leaves: an `Answer`, or one of the two ways
to give none: `Hang` and `Reset`. No socket is touched here; `wire.py` does that.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl

from socialq.sandbox.multipart import Malformed, read_fields

FORM_BODY_LIMIT_BYTES = 1024 * 1024


class BadRequest(Exception):  # noqa: N818 - named for what happened
    """The request can't be understood; its text is safe to show to the caller."""

    def __init__(self, problem: str, *, status: int = 400) -> None:
        super().__init__(problem)
        self.status = status


class Body(Protocol):
    """A request's body, read from the wire in pieces."""

    @property
    def unread_bytes(self) -> int | None:
        """How much is still to come; None if that can't be known."""
        ...

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; empty at the end."""
        ...


@dataclass
class Request:
    """One request. Header names are lower case; `received_at` is UTC, taken as its head was complete."""

    method: str
    path: str
    query_string: str
    headers: Mapping[str, str]
    body: Body
    received_at: datetime
    received_monotonic: float

    @property
    def base_url(self) -> str:
        """The address under which the caller reached the sandbox, without a slash at the end."""
        return f"http://{self.headers.get('host', '127.0.0.1')}"

    @cached_property
    def query(self) -> dict[str, Any]:
        return _named(parse_qsl(self.query_string, keep_blank_values=True))

    @cached_property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").split(";", 1)[0].strip().lower()

    @cached_property
    def small_body(self) -> bytes:
        """The whole body, for requests that are forms or JSON; 413 above 1 MiB."""
        chunks: list[bytes] = []
        left = FORM_BODY_LIMIT_BYTES
        while chunk := self.body.read(65536):
            left -= len(chunk)
            if left < 0:
                raise BadRequest("Request body is too large", status=413)
            chunks.append(chunk)
        return b"".join(chunks)

    @cached_property
    def json(self) -> Any:
        try:
            return json.loads(self.small_body or b"null")
        except ValueError as error:
            raise BadRequest(f"Body is not JSON: {error}") from None

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Query and body as one mapping; `name[]` fields become lists, files are left out. At most 1 MiB."""
        if self.content_type == "application/json":
            if not isinstance(self.json, dict):
                raise BadRequest("Body is not a JSON object")
            return {**self.query, **self.json}
        if self.content_type == "application/x-www-form-urlencoded":
            text = self.small_body.decode("utf-8", "replace")
            return {**self.query, **_named(parse_qsl(text, keep_blank_values=True))}
        if self.content_type == "multipart/form-data":
            try:
                return {**self.query, **_named(read_fields(self.headers["content-type"], self.small_body))}
            except Malformed as error:
                raise BadRequest(str(error)) from None
        return self.query


@dataclass(slots=True)
class Answer:
    """An HTTP answer. `accepted` says, inside the sandbox only, that a new post went live with it."""

    status: int
    body: bytes = b""
    content_type: str = "application/json; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    file: Path | None = None
    accepted: bool = False

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Refusal(Exception):  # noqa: N818 - named for what happened
    """A platform's answer to a request that it won't carry out, raised from wherever that shows."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"refused with {answer.status}")
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer: the socket stays open for `seconds` or until the caller leaves, then closes."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Reset:
    """No answer: the connection is reset (RST)."""


Reply = Answer | Hang | Reset


def json_answer(payload: Any, *, status: int = 200) -> Answer:
    return Answer(status, json.dumps(payload, ensure_ascii=False).encode())


def html_answer(page: str, *, status: int = 200) -> Answer:
    return Answer(status, page.encode(), "text/html; charset=utf-8")


def _named(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name, value in pairs:
        if name.endswith("[]"):
            named.setdefault(name[:-2], []).append(value)
        else:
            named[name] = value
    return named
