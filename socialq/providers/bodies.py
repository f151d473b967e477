"""The bytes of a request: its body, whole or in pieces, and the head for a connection of our own.

A `Call` arrives; a body with a known length leaves, and for the publish step the head as bytes.
What must stay true: a file is read in pieces and closed; what is sent is exactly as long as was announced.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.providers.messages import Call, Multipart, UploadFile

_PIECE_BYTES: Final = 64 * 1024


class BodyUnreadable(Exception):  # noqa: N818 - named for what happened
    """A file can't be read to the size that was announced. Not an `OSError`: those mean the network here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A request's body that lies in memory."""

    content: bytes
    content_type: str | None = None

    def __len__(self) -> int:
        return len(self.content)

    def __iter__(self) -> Iterator[bytes]:
        if self.content:
            yield self.content


class MultipartBody:
    """A `multipart/form-data` body that is read while it is sent. Each iteration opens the file anew."""

    def __init__(self, multipart: Multipart) -> None:
        boundary = secrets.token_hex(16)
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self._file = multipart.file
        self._before = b"".join(_field(boundary, name, value) for name, value in multipart.fields)
        self._before += _file_head(boundary, multipart)
        self._after = f"\r\n--{boundary}--\r\n".encode()

    def __len__(self) -> int:
        return len(self._before) + self._file.byte_size + len(self._after)

    def __iter__(self) -> Iterator[bytes]:
        yield self._before
        yield from _pieces(self._file)
        yield self._after


class FileBody:
    """A file as the whole body, read while it is sent. Each iteration opens the file anew."""

    def __init__(self, file: UploadFile) -> None:
        self.content_type = file.mime_type
        self._file = file

    def __len__(self) -> int:
        return self._file.byte_size

    def __iter__(self) -> Iterator[bytes]:
        return _pieces(self._file)


AnyBody = Body | MultipartBody | FileBody


def body_of(call: Call) -> AnyBody:
    """Encode the body of `call`; empty where it has none."""
    if call.json is not None:
        text = json.dumps(call.json, ensure_ascii=False, separators=(",", ":"))
        return Body(content=text.encode(), content_type="application/json")
    if call.form is not None:
        content = urlencode(list(call.form)).encode()
        return Body(content=content, content_type="application/x-www-form-urlencoded")
    if call.multipart is not None:
        return MultipartBody(call.multipart)
    if call.file is not None:
        return FileBody(call.file)
    return Body(content=b"")


def head_of(call: Call, body: AnyBody, *, user_agent: str) -> bytes:
    """Write the request line and headers of `call` for a connection that serves it alone."""
    split = urlsplit(call.url)
    target = split.path or "/"
    if call.params:
        target += "?" + urlencode(list(call.params))
    host = split.netloc.rpartition("@")[2]
    lines = [f"{call.method} {target} HTTP/1.1", f"Host: {host}", f"User-Agent: {user_agent}"]
    lines += ["Accept: application/json", "Accept-Encoding: identity", "Connection: close"]
    if body.content_type is not None:
        lines.append(f"Content-Type: {body.content_type}")
    if call.method != "GET":
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in call.headers.items()]
    lines.append("\r\n")
    return "\r\n".join(lines).encode("latin-1")


def _pieces(file: UploadFile) -> Iterator[bytes]:
    """Read a file in pieces, reading one ahead, so that one of another size than announced is noticed."""
    left = file.byte_size
    try:
        with file.open() as stream:
            while piece := stream.read(_PIECE_BYTES):
                left -= len(piece)
                if left < 0:
                    raise BodyUnreadable("the file is larger than the size that is stored with it")
                yield piece
    except OSError as error:
        raise BodyUnreadable("the file can't be read") from error
    if left:
        raise BodyUnreadable("the file is shorter than the size that is stored with it")


def _field(boundary: str, name: str, value: str) -> bytes:
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(name)}"\r\n\r\n'
    return head.encode() + value.encode() + b"\r\n"


def _file_head(boundary: str, multipart: Multipart) -> bytes:
    file = multipart.file
    where = f'name="{_quoted(file.name)}"; filename="{_quoted(file.filename)}"'
    head = f"--{boundary}\r\nContent-Disposition: form-data; {where}\r\n"
    return f"{head}Content-Type: {_quoted(file.mime_type)}\r\n\r\n".encode()


def _quoted(name: str) -> str:
    # As browsers do (WHATWG form encoding): exactly these three would end the quoted string or the line.
    return name.replace("\n", "%0A").replace("\r", "%0D").replace('"', "%22")
