"""Waits on this machine for a browser that a platform sends back, and says what it brought.

Arrives: one request to the one path that is waited for. Leaves: its parameters. What must stay true: it listens
on the loopback address alone, answers a browser that came under this machine's own name, and logs no address,
since codes stand in it.
"""

from __future__ import annotations

import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import parse_qsl, urlsplit

from socialq.cli.failures import Failure

if TYPE_CHECKING:
    from types import TracebackType

HOST: Final = "127.0.0.1"
_NAMES: Final = frozenset({HOST, "localhost"})
_LONGEST_REQUEST_SECONDS: Final = 5.0
_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>socialq</title>'
    "<body><p>{}</p></body></html>\n"
)


class Loopback:
    """A listener for one redirect; a context that closes it."""

    def __init__(self, *, port: int, path: str) -> None:
        """Listen. Raises `Failure` if something else does already."""
        self._path = path
        self._brought: dict[str, str] | None = None
        try:
            self._server = HTTPServer((HOST, port), self._handler())
        except OSError as error:
            problem = f"port {port} of this machine can't be listened on ({error.strerror})"
            raise Failure(f"Error: {problem}: choose another with --port") from None

    @property
    def redirect_uri(self) -> str:
        """The address that the platform sends the browser back to."""
        return f"http://{HOST}:{self._server.server_port}{self._path}"

    def wait(self, seconds: float) -> dict[str, str] | None:
        """Wait for the browser; returns what it brought, None where it did not come."""
        ends_at = time.monotonic() + seconds
        while self._brought is None and (left := ends_at - time.monotonic()) > 0:
            self._server.timeout = min(left, 1.0)
            self._server.handle_request()
        return self._brought

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        listener = self

        class Handler(BaseHTTPRequestHandler):
            timeout = _LONGEST_REQUEST_SECONDS

            def do_GET(self) -> None:
                name = urlsplit(f"//{self.headers.get('Host', '')}").hostname
                brought = _brought(self.path, listener._path)
                if brought is None or name not in _NAMES:
                    self._say(404, "Nothing is here.")
                    return
                listener._brought = brought
                self._say(200, "That is all here: go back to the terminal. You can close this window.")

            def log_message(self, *_: Any) -> None:
                """Codes stand in the addresses."""

            def _say(self, status: int, words: str) -> None:
                body = _PAGE.format(words).encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("Referrer-Policy", "no-referrer")
                self.end_headers()
                self.wfile.write(body)

        return Handler


def _brought(address: str, path: str) -> dict[str, str] | None:
    """Read the parameters of a redirect to `path`; None for any other address, or one without a state."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    brought = dict(parse_qsl(parts.query))
    return brought if parts.path == path and "state" in brought else None
