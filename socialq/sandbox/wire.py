"""One TCP connection: HTTP/1.1 read and written by hand, so that it can also be broken by hand.

Arrives: an accepted socket. Leaves: parsed requests, and whatever reply was decided, which includes no
answer at all. Hand-written because a library's server can't reset a connection or stay silent on purpose,
and because the standard one spends most of its time in the e-mail header parser.
"""

import select
import socket
import struct
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import formatdate
from http import HTTPStatus
from typing import assert_never
from urllib.parse import unquote

from socialq.sandbox.messages import Answer, BadRequest, Hang, Reply, Request, Reset

HEAD_LIMIT_BYTES = 32 * 1024
IDLE_SECONDS = 75.0
DRAIN_LIMIT_BYTES = 128 * 1024
LINGER_SECONDS = 2.0
PIECE_BYTES = 64 * 1024

# A peer's departure without waiting for its data; where the system has no such event, end-of-stream shows it.
_DEPARTURE = getattr(select, "POLLRDHUP", select.POLLIN)


class ClientGone(Exception):  # noqa: N818 - named for what happened
    """The other side closed, or fell silent, before a request was complete."""


class Connection:
    """A socket with a read buffer. Not shared between threads."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._buffer = bytearray()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(IDLE_SECONDS)

    def next_request(self) -> Request:
        """The next request's head, its body still unread. Raises `ClientGone` at the end."""
        head = self._read_head()
        received_monotonic, received_at = time.monotonic(), datetime.now(UTC)
        lines = head.decode("latin-1").split("\r\n")
        try:
            method, target, _version = lines[0].split(" ")
        except ValueError:
            raise BadRequest("Malformed request line") from None
        headers = _parse_headers(lines[1:])
        path, _, query_string = target.partition("?")
        if headers.get("expect", "").lower() == "100-continue":
            self._socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        return Request(
            method=method,
            path=unquote(path),
            query_string=query_string,
            headers=headers,
            body=self._body(headers),
            received_at=received_at,
            received_monotonic=received_monotonic,
        )

    def send(self, reply: Reply, *, request: Request | None, is_stopping: Callable[[], bool]) -> bool:
        """Give the reply its effect; true when the connection can carry another request."""
        match reply:
            case Answer():
                return self._send_answer(reply, request)
            case Hang():
                self._hang(reply.seconds, is_stopping)
                return False
            case Reset():
                self._reset()
                return False
            case _:
                assert_never(reply)

    def close(self) -> None:
        self._socket.close()

    def _read_head(self) -> bytes:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEAD_LIMIT_BYTES:
                raise BadRequest("Request head is too large", status=431)
            self.fill()
        head = bytes(self._buffer[:end])
        del self._buffer[: end + 4]
        return head

    def fill(self) -> None:
        """Wait for more bytes from the wire."""
        try:
            piece = self._socket.recv(PIECE_BYTES)
        except OSError as error:
            raise ClientGone from error
        if not piece:
            raise ClientGone
        self._buffer += piece

    def take(self, size: int) -> bytes:
        """Between one and `size` bytes, waiting for them if there are none yet."""
        if not self._buffer:
            self.fill()
        piece = bytes(self._buffer[:size])
        del self._buffer[:size]
        return piece

    def take_line(self) -> bytes:
        while (end := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > HEAD_LIMIT_BYTES:
                raise BadRequest("Chunk header is too large")
            self.fill()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _body(self, headers: Mapping[str, str]) -> "_SizedBody | _ChunkedBody":
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return _ChunkedBody(self)
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            raise BadRequest("Malformed Content-Length")
        return _SizedBody(self, int(length))

    def _send_answer(self, answer: Answer, request: Request | None) -> bool:
        keep_alive = request is not None and request.headers.get("connection", "").lower() != "close"
        is_read = request is not None and _drained(request)
        length = answer.file.stat().st_size if answer.file else len(answer.body)
        head = _render_head(answer, length=length, keep_alive=keep_alive and is_read)
        is_head_only = request is not None and request.method == "HEAD"
        try:
            self._socket.sendall(head if is_head_only or answer.file else head + answer.body)
            if answer.file and not is_head_only:
                with answer.file.open("rb") as stream:
                    self._socket.sendfile(stream)
            if not is_read:
                self._linger()
        except OSError as error:
            raise ClientGone from error
        return keep_alive and is_read

    def _linger(self) -> None:
        """Let a caller that is still sending read its answer: closing on unread bytes would reset it."""
        self._socket.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + LINGER_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left)
            if not self._socket.recv(PIECE_BYTES):
                return

    def _hang(self, seconds: float, is_stopping: Callable[[], bool]) -> None:
        """Stay silent until the time is over, the caller leaves, or the sandbox stops."""
        poller = select.poll()
        poller.register(self._socket, _DEPARTURE)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not is_stopping():
            if poller.poll(min(left, 0.5) * 1000):
                return

    def _reset(self) -> None:
        # Linger of zero seconds makes close() send RST instead of FIN.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


class _SizedBody:
    def __init__(self, connection: Connection, length: int) -> None:
        self._connection = connection
        self._left = length

    @property
    def unread_bytes(self) -> int:
        return self._left

    def read(self, size: int) -> bytes:
        if not self._left:
            return b""
        piece = self._connection.take(min(size, self._left))
        self._left -= len(piece)
        return piece


class _ChunkedBody:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._left = 0
        self._ended = False

    @property
    def unread_bytes(self) -> int | None:
        return 0 if self._ended else None

    def read(self, size: int) -> bytes:
        if self._ended:
            return b""
        if not self._left:
            self._next_chunk()
            if self._ended:
                return b""
        piece = self._connection.take(min(size, self._left))
        self._left -= len(piece)
        if not self._left:
            self._connection.take_line()
        return piece

    def _next_chunk(self) -> None:
        try:
            self._left = int(self._connection.take_line().split(b";", 1)[0], 16)
        except ValueError:
            raise BadRequest("Malformed chunk size") from None
        if not self._left:
            while self._connection.take_line():
                pass
            self._ended = True


def _parse_headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if not separator:
            raise BadRequest("Malformed header")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _drained(request: Request) -> bool:
    """Read what the handler left of the body; false when that is too much, or its end can't be known."""
    unread = request.body.unread_bytes
    if unread is None or unread > DRAIN_LIMIT_BYTES:
        return False
    while request.body.read(PIECE_BYTES):
        pass
    return True


def _render_head(answer: Answer, *, length: int, keep_alive: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        f"Date: {formatdate(usegmt=True)}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {length}",
        f"Connection: {'keep-alive' if keep_alive else 'close'}",
        *(f"{name}: {value}" for name, value in answer.headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
