"""Files at public addresses, for platforms that pull them: a tiny server on loopback."""

from __future__ import annotations

import functools
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar


class PublicFiles:
    """Serves what it is given until the process ends. `refusals` counts answers of 503 that are still to come."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.refusals: dict[str, int] = {}
        self.asked: list[str] = []
        handler = type("Handler", (_Handler,), {"files": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def serve(self, content: bytes, name: str) -> str:
        """Return the address of a file."""
        path = f"/media/{len(self.contents)}-{name}"
        self.contents[path] = content
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def refuse(self, address: str, times: int) -> None:
        """Answer the next requests for an address with 503."""
        self.refusals[address.partition("/media/")[2]] = times


class _Handler(BaseHTTPRequestHandler):
    files: ClassVar[PublicFiles]

    def do_GET(self) -> None:
        files, name = self.files, self.path.partition("/media/")[2]
        files.asked.append(self.path)
        refused = files.refusals.get(name, 0)
        files.refusals[name] = max(0, refused - 1)
        content = None if refused else files.contents.get(self.path)
        status = 503 if refused else 404 if content is None else 200
        self.send_response(status)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@functools.cache
def public_files() -> PublicFiles:
    """Return the one server of this process."""
    return PublicFiles()
