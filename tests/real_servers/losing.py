"""A proxy that can lose an answer: the server has done what was asked, and nobody gets to know.

It stands between an adapter and any server, simulated or real, so that the same test runs against both.
"""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from collections.abc import Iterator

_OWN = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}


class Losing(ThreadingHTTPServer):
    """Hands every request on. `lose`: how many of the next answers are thrown away; `requests`: what came."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = target
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.lose = 0
        self.requests: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Losing

    def _hand_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OWN}
        self.server.requests.append(f"{self.command} {self.path}")
        answer = requests.request(
            self.command, f"{self.server.target}{self.path}", data=body, headers=headers, timeout=15
        )
        if self.server.lose:
            self.server.lose -= 1
            self.close_connection = True
            return
        self.send_response(answer.status_code)
        for name, value in answer.headers.items():
            if name.lower() not in {*_OWN, "content-encoding"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_GET = _hand_on  # noqa: N815 - the name that the library calls
    do_POST = _hand_on  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing: a test's output is its own."""


@contextlib.contextmanager
def losing(target: str) -> Iterator[Losing]:
    """Run a proxy in front of `target`, an address without a slash at its end."""
    server = Losing(target)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
