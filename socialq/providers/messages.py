"""What goes to a platform and what comes back: `Call`, `Answer`, `NetworkFailure`.

What must stay true: secrets stand in headers only; no repr, excerpt or failure shows a header's value or a
request's body; a header never breaks the line it stands on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

EXCERPT_CHARACTERS: Final = 500

_BREAKS_A_HEADER: Final = re.compile(r"[\r\n\0]")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SECRET_HEADERS: Final = frozenset({"authorization", "cookie", "x-api-key", "proxy-authorization"})
_SECRETS: Final = (
    re.compile(r"(?i)\b(bearer|basic|dpop)\s+[A-Za-z0-9._~+/=-]{4,}"),
    re.compile(
        r"(?i)([a-z_-]*(?:token|secret|password|authorization|cookie|api_?key|signature))(?:[\"']?\s*[:=]\s*)"
        r"[\"']?[^\s\"'&,;}<]+"
    ),
    re.compile(r"()\b(?=[A-Za-z0-9_.-]*[0-9])(?=[A-Za-z0-9_.-]*[A-Za-z])[A-Za-z0-9_.-]{36,}"),
)
_NOT_SHOWN: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadFile:
    """The file of a multipart body: opened when it is sent, read in pieces, never whole in memory."""

    name: str
    filename: str
    mime_type: str
    byte_size: int
    open: Callable[[], BinaryIO] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Multipart:
    """A `multipart/form-data` body: plain fields, then one file."""

    fields: Sequence[tuple[str, str]] = field(default=(), repr=False)
    file: UploadFile


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Call:
    """One HTTP request, not yet sent. At most one of `json`, `form`, `multipart` and `file` is its body."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Sequence[tuple[str, str]] = ()
    json: object | None = None
    form: Sequence[tuple[str, str]] | None = None
    multipart: Multipart | None = None
    file: UploadFile | None = None
    """The body is this file, byte for byte, under its own type; its name and filename are not sent."""
    subject: str | None = None
    """The id that the request is about, for an answer that names none: handed to the answer, never sent."""

    def __post_init__(self) -> None:
        if sum(body is not None for body in (self.json, self.form, self.multipart, self.file)) > 1:
            raise ValueError("a call has one body: json, form, multipart or file")
        for name, value in self.headers.items():
            # The value is left out of the message: it may be a token.
            if not _HEADER_NAME.fullmatch(name) or _BREAKS_A_HEADER.search(value):
                raise ValueError(f"the header {name!r} has a character that no header may have")

    def __repr__(self) -> str:
        split = urlsplit(self.url)
        where = f"{split.scheme}://{split.hostname}{split.path}"
        return f"Call({self.method} {where}, headers={sorted(self.headers)})"

    def secrets(self) -> tuple[str, ...]:
        """Return what must never be shown: the values of the secret headers, and the tokens within them."""
        values = [value for name, value in self.headers.items() if name.lower() in _SECRET_HEADERS]
        return tuple(secret for value in values for secret in (value, value.rpartition(" ")[2]) if secret)


class Headers(Mapping[str, str]):
    """An answer's headers; names in any case, repeated ones joined by a comma."""

    __slots__ = ("_by_name",)

    def __init__(self, pairs: Iterator[tuple[str, str]] | Sequence[tuple[str, str]] = ()) -> None:
        self._by_name: dict[str, str] = {}
        for name, value in pairs:
            key = name.lower()
            earlier = self._by_name.get(key)
            self._by_name[key] = value if earlier is None else f"{earlier}, {value}"

    def __getitem__(self, name: str) -> str:
        return self._by_name[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"Headers({sorted(self._by_name)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A complete answer: status line, headers and the whole body, within the size that is read at all."""

    status: int
    headers: Headers = field(default_factory=Headers)
    body: bytes = field(default=b"", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What the call held that an excerpt must not repeat, should the platform echo it."""
    subject: str | None = None
    """The `subject` of the call that this answers."""

    def json(self) -> object | None:
        """Return the body as JSON; None where it is none (or is `null`)."""
        try:
            return json.loads(self.body)  # type: ignore[no-any-return]
        except (ValueError, RecursionError):
            return None

    def excerpt(self) -> str:
        """Return the body as one line for a person: redacted, 500 characters at most."""
        # Cut before redacting, generously, so that a huge body costs little; a token at the cut is dropped.
        return redacted(self.body[:4000].decode("utf-8", "replace"), secrets=self.secrets)


def redacted(text: str, *, secrets: Sequence[str] = ()) -> str:
    """Return `text` on one line, without `secrets` and what looks like one, 500 characters at most."""
    for secret in secrets:
        text = text.replace(secret, "[redacted]")
    line = _NOT_SHOWN.sub(" ", text).strip()
    for pattern in _SECRETS:
        line = pattern.sub(r"\1 [redacted]", line)
    return line if len(line) <= EXCERPT_CHARACTERS else line[: EXCERPT_CHARACTERS - 1] + "…"


FailureKind = Literal[
    "dns",
    "forbidden_address",
    "refused",
    "unreachable",
    "connect_timeout",
    "tls",
    "closed_before_send",
    "too_late",
    "reset",
    "read_timeout",
    "too_large",
    "bad_answer",
    "body_unreadable",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFailure:
    """No complete answer came. A value, not an exception: what to do about it depends on the step.

    Usable in a `with` statement, as `Opened` is, so that both results of `Http.open` are handled alike.
    """

    kind: FailureKind
    sent: bool
    """Whether any of the request may have left this machine; False is certain, True may err."""
    detail: str = ""
    """For a person, in our own words: names the host, never a header, a path or a body."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None
