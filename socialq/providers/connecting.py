"""Connections to platforms: the address that was checked is the one connected to, all within a time.

urllib3's connection classes, with their way of opening a socket replaced: resolve, check, connect, each
bounded. What goes wrong is noted in the `Exchange`, so that nobody has to guess it from wrapped exceptions.
What must stay true: no address is connected to that the guard did not allow; TLS is 1.2 or newer and
verified; the request is counted as sent from before its first byte is written.
"""

from __future__ import annotations

import errno
import http.client
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import certifi
import urllib3.connection
import urllib3.exceptions
from urllib3.util.ssl_ import create_urllib3_context

from socialq.providers.addresses import IPAddress, is_public, literal_address
from socialq.providers.bodies import BodyUnreadable
from socialq.providers.messages import FailureKind, NetworkFailure
from socialq.providers.resolving import Resolver, SocketAddress

if TYPE_CHECKING:
    from socialq.providers.deadlines import Deadline

_UNREACHABLE: Final = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.EMFILE})


@dataclass(slots=True, kw_only=True)
class Exchange:
    """How far one request has come."""

    deadline: Deadline
    host: str
    connect_seconds: float
    max_answer_bytes: int
    sent: bool = False
    reused: bool = False
    """Whether the connection had served another request before."""
    failure: FailureKind | None = None
    """Why connecting failed, as the place that knows it says."""

    def failed(self, error: BaseException | None = None) -> NetworkFailure:
        """Describe the failure, from what was noted, else from the stage and the kind of `error`."""
        kind = self.failure or self._kind_after_connecting(error)
        return NetworkFailure(kind=kind, sent=self.sent, detail=_DETAILS[kind].format(host=self.host))

    def _kind_after_connecting(self, error: BaseException | None) -> FailureKind:
        if self.deadline.is_over:
            return "read_timeout" if self.sent else "connect_timeout"
        causes = _causes(error)
        if any(isinstance(cause, BodyUnreadable) for cause in causes):
            return "body_unreadable"
        if any(isinstance(cause, (TimeoutError, urllib3.exceptions.TimeoutError)) for cause in causes):
            return "read_timeout"
        if any(isinstance(cause, (http.client.IncompleteRead, OSError)) for cause in causes):
            return "reset"
        return "bad_answer"


_DETAILS: Final[dict[FailureKind, str]] = {
    "dns": "no address was found for {host}",
    "forbidden_address": "{host} is at an address that is not of the open internet",
    "refused": "{host} refused the connection",
    "unreachable": "{host} can't be reached from here",
    "connect_timeout": "no connection to {host} was made in time",
    "tls": "no trusted TLS connection to {host} could be made",
    "closed_before_send": "{host} closed the connection before the request was sent",
    "too_late": "the time was over before the request to {host} was sent",
    "reset": "{host} broke the connection off before its answer was complete",
    "read_timeout": "no complete answer of {host} came in time",
    "too_large": "the answer of {host} is larger than is read",
    "bad_answer": "the answer of {host} is not readable as HTTP",
    "body_unreadable": "the file for {host} can't be read to the size that is stored with it",
}


def _causes(error: BaseException | None) -> list[BaseException]:
    """List an exception and all it wraps, in its arguments too, as urllib3 and requests do."""
    found: list[BaseException] = []
    todo = [error]
    while todo:
        cause = todo.pop()
        if cause is not None and cause not in found:
            found.append(cause)
            todo += [cause.__cause__, cause.__context__]
            reason = getattr(cause, "reason", None)
            todo += [reason] if isinstance(reason, BaseException) else []
            todo += [argument for argument in cause.args if isinstance(argument, BaseException)]
    return found


class Dialer(Protocol):
    """Opens a TCP connection."""

    def dial(self, host: str, port: int, exchange: Exchange) -> socket.socket:
        """Return a connected socket, or note the reason in `exchange` and raise `OSError`."""


class GuardedDialer:
    """Resolves, checks and connects, in `exchange.connect_seconds` at most."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._resolver = Resolver()

    def dial(self, host: str, port: int, exchange: Exchange) -> socket.socket:
        """Connect to the first address that answers, of those that are allowed."""
        until = time.monotonic() + min(exchange.connect_seconds, exchange.deadline.remaining_seconds())
        found = self._resolver.resolve(host, port, wait_seconds=until - time.monotonic())
        allowed = [address for address in found if self._allow_private or is_public(_ip(address))]
        if not allowed:
            exchange.failure = "forbidden_address" if found else "dns"
            raise OSError(exchange.failure)
        for number, address in enumerate(allowed):
            # A black hole among several addresses must leave time for the others.
            share = max(until - time.monotonic(), 0.001) / (len(allowed) - number)
            try:
                sock = _connected(address, share)
            except OSError as error:
                exchange.failure = _why_not_connected(error)
            else:
                exchange.failure = None
                return sock
        raise OSError(exchange.failure)


def _ip(address: SocketAddress) -> IPAddress:
    ip = literal_address(address[1][0])
    if ip is None:
        raise OSError("a resolver's answer is no address")
    return ip


def _connected(address: SocketAddress, seconds: float) -> socket.socket:
    family, sockaddr = address
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(seconds)
        sock.connect(sockaddr)
    except BaseException:
        sock.close()
        raise
    return sock


def _why_not_connected(error: OSError) -> FailureKind:
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    if isinstance(error, TimeoutError):
        return "connect_timeout"
    return "unreachable" if error.errno in _UNREACHABLE else "refused"


class _OfThisThread(threading.local):
    exchange: Exchange | None = None


_here: Final = _OfThisThread()


def set_exchange(exchange: Exchange | None) -> None:
    """Say which exchange the connections used on this thread serve: urllib3 can't hand it down."""
    _here.exchange = exchange


def _exchange() -> Exchange:
    if _here.exchange is None:
        raise RuntimeError("a connection is used outside of Http")
    return _here.exchange


@dataclass(slots=True, kw_only=True)
class Trust:
    """What connections are made with; one per `Http`."""

    dialer: Dialer
    tls: ssl.SSLContext = field(repr=False)


class PlainConnection(urllib3.connection.HTTPConnection):
    """An HTTP connection that dials through the guard and keeps the exchange's deadline."""

    def __init__(self, *args: Any, trust: Trust, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._trust = trust

    def _new_conn(self) -> socket.socket:
        return self._trust.dialer.dial(self._dns_host, self.port, _exchange())

    def connect(self) -> None:
        exchange = _exchange()
        super().connect()
        exchange.deadline.watch(self.sock)

    def request(self, *args: Any, **kwargs: Any) -> None:
        _begin_request(self, _exchange())
        super().request(*args, **kwargs)


class TlsConnection(urllib3.connection.HTTPSConnection):
    """The same with TLS. The handshake is bounded by the socket's timeout, which counts for all of it."""

    def __init__(self, *args: Any, trust: Trust, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ssl_context = trust.tls
        self._trust = trust

    def _new_conn(self) -> socket.socket:
        exchange = _exchange()
        sock = self._trust.dialer.dial(self._dns_host, self.port, exchange)
        sock.settimeout(min(exchange.connect_seconds, exchange.deadline.remaining_seconds()))
        exchange.failure = "tls"
        return sock

    def connect(self) -> None:
        exchange = _exchange()
        try:
            super().connect()
        except TimeoutError:
            exchange.failure = "connect_timeout"
            raise
        exchange.failure = None
        exchange.deadline.watch(self.sock)

    def request(self, *args: Any, **kwargs: Any) -> None:
        _begin_request(self, _exchange())
        super().request(*args, **kwargs)


def _begin_request(connection: PlainConnection | TlsConnection, exchange: Exchange) -> None:
    """Connect before the request is counted as sent; a pooled connection gets this exchange's deadline."""
    if connection.sock is None:
        connection.connect()
    else:
        exchange.reused = True
        exchange.deadline.watch(connection.sock)
    exchange.sent = True


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Make the context of all TLS connections: verified, 1.2 or newer, trusting `ca_file` or certifi."""
    context = create_urllib3_context(ssl_minimum_version=ssl.TLSVersion.TLSv1_2)
    context.verify_mode = ssl.CERT_REQUIRED
    context.check_hostname = True
    context.load_verify_locations(ca_file or certifi.where())
    return context
