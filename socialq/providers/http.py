"""The only place that speaks HTTP to platforms.

A `Call` arrives; an `Answer` or a `NetworkFailure` leaves, never an exception for network trouble.
`Http.send` is for steps that publish nothing: pooled connections, and one fresh try when a kept connection
turns out stale under a GET. `Http.open` and `Opened.send` are the publish step: the connection is made first,
then the caller sets its mark, then that one request goes out, once, on that connection.
What must stay true: no redirect is followed and nothing is repeated on the publish step; a failure says
`sent=False` only where certainly nothing has left; a total deadline holds over all of it; no proxy, netrc,
cookie or certificate setting of the environment has a say; no token gets into a message.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import importlib.metadata
import socket
import ssl
import zlib
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlencode, urlsplit

import requests
import requests.adapters
import urllib3.connectionpool
import urllib3.exceptions

from socialq.domain.outcomes import Evidence, Transient, Unknown
from socialq.providers.bodies import AnyBody, Body, BodyUnreadable, body_of, head_of
from socialq.providers.connecting import (
    Exchange,
    GuardedDialer,
    PlainConnection,
    TlsConnection,
    Trust,
    set_exchange,
    tls_context,
)
from socialq.providers.deadlines import Deadline
from socialq.providers.messages import (
    Answer,
    Call,
    FailureKind,
    Headers,
    Multipart,
    NetworkFailure,
    UploadFile,
    redacted,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Answer",
    "Call",
    "FailureKind",
    "Headers",
    "Http",
    "Multipart",
    "NetworkFailure",
    "Opened",
    "UploadFile",
    "read_lost",
    "redacted",
    "transient_failure",
]

_MAX_ANSWER_BYTES: Final = 2 * 1024 * 1024
_PEEK_NOW: Final = socket.MSG_PEEK | socket.MSG_DONTWAIT
_NETWORK_TROUBLE: Final = (
    OSError,
    BodyUnreadable,
    http.client.HTTPException,
    urllib3.exceptions.HTTPError,
    requests.RequestException,
    ValueError,  # a status line or chunk length that is no number
    zlib.error,
)


class Http:
    """Connections to platforms, with their limits. Made once per process; safe to share between threads."""

    def __init__(
        self,
        *,
        connect_timeout_seconds: float = 5.0,
        allow_private_addresses: bool = False,
        user_agent: str | None = None,
        ca_file: str | None = None,
        deadline_seconds: float = 60.0,
        max_answer_bytes: int = _MAX_ANSWER_BYTES,
    ) -> None:
        """Set the limits.

        `connect_timeout_seconds` is for name, TCP and TLS together; `deadline_seconds` for a whole call of
        `send`, and for all the calls of one look, unless a call gives its own. `ca_file` replaces the list of
        trusted certificate authorities. An answer above `max_answer_bytes` is `too_large`.
        """
        self.deadline_seconds = deadline_seconds
        self._connect_seconds = connect_timeout_seconds
        self._user_agent = user_agent or f"socialq/{importlib.metadata.version('socialq')}"
        self._max_answer_bytes = max_answer_bytes
        self._trust = Trust(
            dialer=GuardedDialer(allow_private=allow_private_addresses), tls=tls_context(ca_file)
        )
        self._session = _session(self._trust, self._user_agent)

    def send(self, call: Call, *, deadline_seconds: float | None = None) -> Answer | NetworkFailure:
        """Send a call that publishes nothing and return its complete answer; a redirect is an answer."""
        deadline = Deadline(self.deadline_seconds if deadline_seconds is None else deadline_seconds)
        result, exchange = self._send_once(call, deadline)
        stale = exchange.reused and isinstance(result, NetworkFailure) and result.kind == "reset"
        if stale and call.method == "GET" and not deadline.is_over:
            # The platform closed the kept connection as we wrote; a new one tells how it really is.
            opened = self._open(call, deadline)
            return opened if isinstance(opened, NetworkFailure) else opened.send()
        return result

    def open(self, call: Call, *, deadline_seconds: float) -> Opened | NetworkFailure:
        """Connect for `call`, sending nothing of it yet. The deadline runs from here to the answer's end.

        Raises `ValueError` for a call that can't be written as HTTP: a bug, and nothing was sent.
        """
        return self._open(call, Deadline(deadline_seconds))

    def close(self) -> None:
        """Close kept connections. The object stays usable."""
        self._session.close()

    def _open(self, call: Call, deadline: Deadline) -> Opened | NetworkFailure:
        body = body_of(call)
        head = head_of(call, body, user_agent=self._user_agent)
        exchange = self._exchange(call, deadline)
        split = urlsplit(call.url)
        connection: PlainConnection | TlsConnection
        if split.scheme == "https":
            connection = TlsConnection(exchange.host, split.port or 443, trust=self._trust)
        else:
            connection = PlainConnection(exchange.host, split.port or 80, trust=self._trust)
        set_exchange(exchange)
        try:
            connection.connect()
        except _NETWORK_TROUBLE as error:
            exchange.deadline.release()
            connection.close()
            return exchange.failed(error)
        finally:
            set_exchange(None)
        return Opened(call=call, head=head, body=body, sock=connection.sock, exchange=exchange)

    def _exchange(self, call: Call, deadline: Deadline) -> Exchange:
        host = urlsplit(call.url).hostname
        if not host:
            raise ValueError("a call needs an absolute URL")
        return Exchange(
            deadline=deadline,
            host=host,
            connect_seconds=self._connect_seconds,
            max_answer_bytes=self._max_answer_bytes,
        )

    def _send_once(self, call: Call, deadline: Deadline) -> tuple[Answer | NetworkFailure, Exchange]:
        exchange = self._exchange(call, deadline)
        set_exchange(exchange)
        try:
            with self._response(call, exchange) as response:
                body = _pooled_body_within(response, self._max_answer_bytes)
                headers = Headers(list(response.raw.headers.iteritems()))
                result = _finished(exchange, call, status=response.status_code, headers=headers, body=body)
                return result, exchange
        except _NETWORK_TROUBLE as error:
            return exchange.failed(error), exchange
        finally:
            deadline.release()
            set_exchange(None)

    def _response(self, call: Call, exchange: Exchange) -> requests.Response:
        body = body_of(call)
        headers = dict(call.headers)
        if body.content_type is not None:
            headers["Content-Type"] = body.content_type
        url = call.url + ("?" + urlencode(list(call.params)) if call.params else "")
        return self._session.request(
            call.method,
            url,
            data=body.content if isinstance(body, Body) else body,
            headers=headers,
            stream=True,
            allow_redirects=False,
            timeout=(exchange.connect_seconds, exchange.deadline.remaining_seconds()),
        )


class Opened:
    """A connection made for one call, of which nothing has been sent. Close it, or use it as a context."""

    def __init__(
        self,
        *,
        call: Call,
        head: bytes,
        body: AnyBody,
        sock: socket.socket,
        exchange: Exchange,
    ) -> None:
        self._call = call
        self._head = head
        self._body = body
        self._sock: socket.socket | None = sock
        self._exchange = exchange

    def send(self) -> Answer | NetworkFailure:
        """Send the request, once, and read its answer.

        A failure has `sent=False` only if the time was over, or the platform had closed the connection,
        before the first byte was written.
        """
        if self._sock is None:
            raise RuntimeError("this connection has been used or closed")
        try:
            if self._exchange.deadline.is_over:
                self._exchange.failure = "too_late"
                return self._exchange.failed()
            if _is_closed(self._sock):
                self._exchange.failure = "closed_before_send"
                return self._exchange.failed()
            return self._send(self._sock)
        finally:
            self.close()

    def close(self) -> None:
        """Close the connection; harmless when it is closed."""
        self._exchange.deadline.release()
        if self._sock is not None:
            with contextlib.suppress(OSError):
                self._sock.close()
            self._sock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, sock: socket.socket) -> Answer | NetworkFailure:
        sock.settimeout(self._exchange.deadline.remaining_seconds())
        self._exchange.sent = True
        try:
            self._write(sock)
        except (BrokenPipeError, ConnectionResetError):
            # A platform may refuse without reading to the end; if its answer is complete, it counts.
            with contextlib.suppress(*_NETWORK_TROUBLE):
                return self._read(sock)
            return self._exchange.failed(ConnectionResetError())
        except (OSError, BodyUnreadable) as error:
            return self._exchange.failed(error)
        try:
            return self._read(sock)
        except _NETWORK_TROUBLE as error:
            return self._exchange.failed(error)

    def _write(self, sock: socket.socket) -> None:
        if isinstance(self._body, Body):
            sock.sendall(self._head + self._body.content)
            return
        sock.sendall(self._head)
        for piece in self._body:
            sock.sendall(piece)

    def _read(self, sock: socket.socket) -> Answer | NetworkFailure:
        response = http.client.HTTPResponse(sock, method=self._call.method)
        with contextlib.closing(response):
            response.begin()
            if response.status < 200:
                raise http.client.BadStatusLine("an interim answer in the place of the final one")
            body = _body_within(response, self._exchange.max_answer_bytes)
            headers = Headers(response.getheaders())
        return _finished(self._exchange, self._call, status=response.status, headers=headers, body=body)


def read_lost(failure: NetworkFailure, *, platform: str) -> Unknown | Transient:
    """Say what a failed publish step came to: sent and unanswered is unknown, not sent may be tried again."""
    evidence = _evidence(failure, platform)
    return Unknown(evidence=evidence) if failure.sent else Transient(evidence=evidence)


def transient_failure(failure: NetworkFailure, *, platform: str) -> Transient:
    """Say what a failed step that publishes nothing came to: repeating it is safe, sent or not."""
    return Transient(evidence=_evidence(failure, platform))


def _evidence(failure: NetworkFailure, platform: str) -> Evidence:
    return Evidence(code=f"network.{failure.kind}", message=f"{platform}: {failure.detail}")


def _finished(
    exchange: Exchange, call: Call, *, status: int, headers: Headers, body: bytes
) -> Answer | NetworkFailure:
    limit = exchange.max_answer_bytes
    framed = "content-length" in headers or "transfer-encoding" in headers or status in {204, 304}
    if exchange.deadline.has_shut or not (body or framed):
        # http.client takes a stream that ends among the headers for their end. An answer that announces no
        # body and has none is such a one, as far as anybody can tell.
        return exchange.failed(http.client.IncompleteRead(b""))
    if len(body) <= limit:
        body = _decoded(body, headers.get("content-encoding", "identity"), limit)
    if len(body) > limit:
        exchange.failure = "too_large"
        return exchange.failed()
    secrets = call.secrets()
    return Answer(status=status, headers=headers, body=body, secrets=secrets, subject=call.subject)


def _decoded(body: bytes, encoding: str, limit: int) -> bytes:
    """Undo a compression that was not asked for; one byte above `limit` stands for any more."""
    if encoding.strip().lower() not in {"gzip", "x-gzip", "deflate"} or not body:
        return body
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)
    plain = inflater.decompress(body, limit + 1)
    if len(plain) <= limit and not inflater.eof:
        raise http.client.IncompleteRead(b"")
    return plain


def _body_within(response: http.client.HTTPResponse, limit: int) -> bytes:
    """Read a body; one byte above `limit` stands for any more. Raises `IncompleteRead` on a cut one."""
    if response.length is not None:
        return response.read() if response.length <= limit else bytes(limit + 1)
    return response.read(limit + 1)


def _pooled_body_within(response: requests.Response, limit: int) -> bytes:
    """The same through urllib3, which notices a cut body only when it is read once more."""
    body = b""
    while len(body) <= limit:
        piece = response.raw.read(limit + 1 - len(body), decode_content=False)
        if not piece:
            break
        body += piece
    return body


def _is_closed(sock: socket.socket) -> bool:
    """Say whether the other side has closed, or spoken before it was asked, on a connection not yet used."""
    try:
        sock.settimeout(0)
        # The base class's method: a TLS socket takes no flags, and only the wire is of interest.
        peeked = socket.socket.recv(sock, 1, _PEEK_NOW)
    except BlockingIOError:
        return False
    except OSError:
        return True
    # On TLS the platform's session tickets may lie there; in the clear nothing may come before a request.
    return not peeked or not isinstance(sock, ssl.SSLSocket)


class _Adapter(requests.adapters.HTTPAdapter):
    """requests' transport on our connections, without certificate settings of its own."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        super().__init__(pool_connections=64, pool_maxsize=16)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        pools: dict[str, Callable[..., object]] = {
            "http": functools.partial(_PlainPool, trust=self._trust),
            "https": functools.partial(_TlsPool, trust=self._trust),
        }
        self.poolmanager.pool_classes_by_scheme = pools

    def cert_verify(self, *_: object) -> None:
        """Leave the connection alone: its context verifies, and loading the list each time costs 10 ms."""


class _PlainPool(urllib3.connectionpool.HTTPConnectionPool):
    ConnectionCls = PlainConnection


class _TlsPool(urllib3.connectionpool.HTTPSConnectionPool):
    ConnectionCls = TlsConnection


def _session(trust: Trust, user_agent: str) -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.headers.clear()
    session.headers.update(
        {"User-Agent": user_agent, "Accept": "application/json", "Accept-Encoding": "identity"}
    )
    adapter = _Adapter(trust)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session
