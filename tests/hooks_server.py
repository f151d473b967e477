"""A tiny HTTP server on loopback that keeps what it is sent: what stands for a chat, a pager, a webhook's receiver."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType


@dataclass
class Received:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class HooksServer:
    """Answers each request with `status` (or what `statuses` says next), as a context manager."""

    status: int = 200
    statuses: list[int] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each path takes to answer."""

    def __enter__(self) -> Self:
        hooks = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                hooks.received.append(Received(self.command, self.path, headers, body))
                time.sleep(hooks.seconds.get(self.path, 0.0))
                self.send_response(hooks.statuses.pop(0) if hooks.statuses else hooks.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST  # noqa: N815 - the name that http.server asks for

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def bodies(self, path: str) -> list[Any]:
        """The JSON bodies of what was sent to a path."""
        return [one.json for one in self.received if one.path == path]
