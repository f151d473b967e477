"""A server on loopback whose every connection is served by one function of a test, byte by byte."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

Serve = Callable[[socket.socket], None]


class Stub:
    """Accepts connections until closed; each gets the next of the functions, later ones the last."""

    def __init__(self, *serve: Serve, tls: ssl.SSLContext | None = None) -> None:
        self._serve = list(serve)
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self.requests: list[bytes] = []
        self._open: list[socket.socket] = []
        self._closing = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._closing.set()
        self._listener.close()
        for sock in self._open:
            sock.close()

    def wait_closing(self, seconds: float) -> bool:
        """Wait as a slow platform does, but no longer than the test lives."""
        return self._closing.wait(seconds)

    def read_request(self, sock: socket.socket) -> bytes:
        """Read one request with its whole body, and keep it."""
        data = b""
        while b"\r\n\r\n" not in data:
            piece = sock.recv(65536)
            if not piece:
                raise ConnectionError("the client left")
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            (
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            ),
            0,
        )
        while len(body) < length:
            piece = sock.recv(65536)
            if not piece:
                raise ConnectionError("the client left")
            body += piece
        self.requests.append(head + b"\r\n\r\n" + body)
        return self.requests[-1]

    def answering(self, answer: bytes, *, then: Serve | None = None) -> Serve:
        """Make a function that reads a request, sends `answer` as it is, and closes unless `then` goes on."""

        def serve(sock: socket.socket) -> None:
            self.read_request(sock)
            sock.sendall(answer)
            if then is not None:
                then(sock)

        return serve

    def serve_with(self, *serve: Serve) -> None:
        self._serve = list(serve)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(sock)
            self.connections += 1
            serve = self._serve[min(self.connections, len(self._serve)) - 1]
            threading.Thread(target=self._run, args=(serve, sock), daemon=True).start()

    def _run(self, serve: Serve, sock: socket.socket) -> None:
        try:
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._open.append(sock)
            serve(sock)
        except OSError:
            pass
        finally:
            sock.close()


def response(body: bytes = b'{"id":"1"}', *, status: str = "200 OK", headers: tuple[str, ...] = ()) -> bytes:
    """Write a complete answer."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "\r\n"]).encode() + body


def reset(sock: socket.socket) -> None:
    """Close with a reset instead of an end."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
