"""Asking ClamAV whether a file is harmless, by clamd's INSTREAM over a socket.

Arrives: a file, in pieces. Leaves: None (harmless), or the name of what was found. What must stay true: a scanner that
is set and can't be asked, or that doesn't answer in words we know, is `ScannerAway` and never "harmless": a file that
nobody has looked at is not posted.

Source: clamd(8), section COMMANDS.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

_CONNECT_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 120.0
_MOST_ANSWER_BYTES: Final = 4096
_PIECE_BYTES: Final = 1024 * 1024
_PORT: Final = 3310


class ScannerAway(Exception):  # noqa: N818 - named for what is wrong
    """The scanner can't be asked; the message says why, for a person."""


class Scanner:
    """One clamd. Makes a connection for each file; shared between threads."""

    def __init__(self, url: str, *, answer_seconds: float = _ANSWER_SECONDS) -> None:
        """Take `tcp://HOST:PORT` or `unix:///PATH`; nothing is connected yet."""
        self._place = urlsplit(url)
        self._answer_seconds = answer_seconds

    def scan(self, chunks: Iterable[bytes]) -> str | None:
        """Return the name of what was found, or None. Raises `ScannerAway`."""
        try:
            answer = self._ask(chunks)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise ScannerAway(f"the virus scanner can't be reached ({reason})") from None
        verdict = answer.removeprefix("stream: ")
        if verdict == "OK":
            return None
        if verdict.endswith(" FOUND"):
            return verdict.removesuffix(" FOUND")[:100]
        if "size limit exceeded" in verdict:
            raise ScannerAway("the virus scanner takes no file of this size: raise StreamMaxLength of clamd")
        raise ScannerAway("the virus scanner gave no answer that can be read")

    def _ask(self, chunks: Iterable[bytes]) -> str:
        with self._connected() as connection:
            connection.sendall(b"zINSTREAM\0")
            # A scanner that has seen enough answers and closes while it is still being sent to.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for chunk in chunks:
                    for start in range(0, len(chunk), _PIECE_BYTES):
                        piece = chunk[start : start + _PIECE_BYTES]
                        connection.sendall(struct.pack(">I", len(piece)) + piece)
                connection.sendall(struct.pack(">I", 0))
            return self._answer(connection)

    def _answer(self, connection: socket.socket) -> str:
        deadline = time.monotonic() + self._answer_seconds
        answer = b""
        while b"\0" not in answer and len(answer) < _MOST_ANSWER_BYTES:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
            piece = connection.recv(1024)
            if not piece:
                break
            answer += piece
        return answer.partition(b"\0")[0].decode("utf-8", "replace").strip()

    def _connected(self) -> socket.socket:
        if self._place.scheme == "unix":
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(_CONNECT_SECONDS)
            try:
                connection.connect(self._place.path)
            except OSError:
                connection.close()
                raise
        else:
            address = (self._place.hostname or "", self._place.port or _PORT)
            connection = socket.create_connection(address, timeout=_CONNECT_SECONDS)
        connection.settimeout(self._answer_seconds)
        return connection
