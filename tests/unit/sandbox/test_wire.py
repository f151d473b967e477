"""HTTP/1.1 on a bare socket: what keeps a connection, what ends it, what is refused."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fixtures_sandbox import MastodonUser, RunningSandbox

PUBLISH = "POST /mastodon/api/v1/statuses HTTP/1.1\r\nHost: here\r\n"


@pytest.fixture
def connection(sandbox: RunningSandbox) -> Iterator[socket.socket]:
    port = int(sandbox.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as opened:
        yield opened


def read_until(connection: socket.socket, done: Callable[[bytes], bool]) -> bytes:
    received = b""
    while not done(received):
        piece = connection.recv(65536)
        if not piece:
            break
        received += piece
    return received


def test_a_connection_carries_request_after_request(connection: socket.socket) -> None:
    """Two requests sent at once are answered in order on one connection."""
    connection.sendall(b"GET /_health HTTP/1.1\r\nHost: h\r\n\r\nGET /_calls HTTP/1.1\r\nHost: h\r\n\r\n")
    received = read_until(connection, lambda seen: seen.endswith(b"{}"))
    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert received.count(b"Connection: keep-alive") == 2


def test_a_caller_that_wants_to_close_is_let_go(connection: socket.socket) -> None:
    """Connection: close is answered in kind, then the socket ends."""
    connection.sendall(b"GET /_health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    received = read_until(connection, lambda _: False)
    assert b"Connection: close" in received


def test_a_chunked_body_is_read(
    sandbox: RunningSandbox, alice: MastodonUser, connection: socket.socket
) -> None:
    """A client that does not know the length beforehand can publish too."""
    head = f"{PUBLISH}Authorization: {alice.headers['Authorization']}\r\nTransfer-Encoding: chunked\r\n"
    head += "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
    connection.sendall(head.encode() + b"7\r\nstatus=\r\n5;x=y\r\nhello\r\n0\r\n\r\n")
    assert read_until(connection, lambda seen: b"\r\n\r\n" in seen).startswith(b"HTTP/1.1 200 OK")
    assert [row["text"] for row in sandbox.ledger()] == ["hello"]


def test_a_request_whose_body_never_came_is_not_a_post(
    sandbox: RunningSandbox, alice: MastodonUser, connection: socket.socket
) -> None:
    """A caller that dies half-way has published nothing, though its request was counted."""
    head = f"{PUBLISH}Authorization: {alice.headers['Authorization']}\r\nContent-Length: 100\r\n"
    connection.sendall(f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\nstatus=half".encode())
    deadline = time.monotonic() + 5
    while not sandbox.calls():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    connection.close()
    assert alice.post("whole").status_code == 200
    assert [row["text"] for row in sandbox.ledger()] == ["whole"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nno colon here\r\n\r\n", b"400 Bad Request"),
        (b"POST /_faults HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400 Bad Request"),
        (b"POST /_faults HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 40_000, b"431 Request Header Fields Too Large"),
    ],
)
def test_what_is_no_http_is_refused(connection: socket.socket, sent: bytes, status: bytes) -> None:
    """A status line, and the connection ends."""
    connection.sendall(sent)
    assert read_until(connection, lambda _: False).startswith(b"HTTP/1.1 " + status)


def test_a_huge_body_is_refused_in_bounded_memory(connection: socket.socket) -> None:
    """A JSON body beyond a mebibyte is 413 as soon as that much has arrived."""
    connection.sendall(
        b"POST /_faults HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n" + b" " * 1_100_000
    )
    assert read_until(connection, lambda seen: b"\r\n\r\n" in seen).startswith(b"HTTP/1.1 413")


def test_a_caller_that_sends_too_much_can_still_read_the_refusal(connection: socket.socket) -> None:
    """All 8 MB are taken off the wire, so that the 413 arrives instead of a reset."""
    connection.sendall(b"POST /_faults HTTP/1.1\r\nHost: h\r\nContent-Length: 8000000\r\n\r\n")
    connection.sendall(b" " * 8_000_000)
    received = read_until(connection, lambda _: False)
    assert received.startswith(b"HTTP/1.1 413")
    assert b"Connection: close" in received


def test_two_hundred_connections_publish_side_by_side(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """All are accepted, none is lost or doubled, while all connections stay open."""
    port = int(sandbox.url.rpartition(":")[2])
    open_ones = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(200)]
    try:
        with ThreadPoolExecutor(20) as pool:
            list(pool.map(lambda n: publish_on(open_ones[n], alice, f"post-{n}"), range(200)))
    finally:
        for one in open_ones:
            one.close()
    assert sorted(row["text"] for row in sandbox.ledger()) == sorted(f"post-{n}" for n in range(200))


def publish_on(connection: socket.socket, user: MastodonUser, text: str) -> None:
    body = f"status={text}".encode()
    head = f"{PUBLISH}Authorization: {user.headers['Authorization']}\r\nContent-Length: {len(body)}\r\n"
    connection.sendall(f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\n".encode() + body)
    assert read_until(connection, lambda seen: b"\r\n\r\n" in seen).startswith(b"HTTP/1.1 200 OK")
