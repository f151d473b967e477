"""Tests of `socialq.providers.http` against a stub platform that misbehaves byte by byte."""

from __future__ import annotations

import gzip
import io
import logging
import os
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from socialq.domain.outcomes import Transient, Unknown
from socialq.providers.bodies import BodyUnreadable, MultipartBody
from socialq.providers.http import (
    Answer,
    Call,
    Http,
    Multipart,
    NetworkFailure,
    Opened,
    UploadFile,
    read_lost,
    transient_failure,
)
from tests.unit.providers.stub import Stub, reset, response

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "tok-3n-S3cret-value"


def a_post(stub: Stub, **more: object) -> Call:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return Call(**{"method": "POST", "url": f"{stub.url}/api", "headers": headers, "json": {"a": "ü"}} | more)  # type: ignore[arg-type]


def a_get(stub: Stub, **more: object) -> Call:
    return Call(
        **{"method": "GET", "url": f"{stub.url}/api", "headers": {"Authorization": f"Bearer {TOKEN}"}} | more
    )  # type: ignore[arg-type]


def publish(http: Http, call: Call, *, deadline_seconds: float = 5.0) -> Answer | NetworkFailure:
    with http.open(call, deadline_seconds=deadline_seconds) as opened:
        return opened.send() if isinstance(opened, Opened) else opened


def failure(result: Answer | NetworkFailure) -> NetworkFailure:
    assert isinstance(result, NetworkFailure), result
    return result


def test_a_publish_call_is_one_request_with_its_headers_and_json(http: Http, stub: Stub) -> None:
    """Exactly the call's method, headers and JSON arrive, under our own user agent, on one connection."""
    stub.serve_with(stub.answering(response()))
    answer = publish(http, a_post(stub, params=[("q", "a b")]))
    assert isinstance(answer, Answer)
    assert (answer.status, answer.json()) == (200, {"id": "1"})
    head, _, body = stub.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /api?q=a+b HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"User-Agent: socialq/" in head
    assert f"Authorization: Bearer {TOKEN}".encode() in head
    assert body == '{"a":"ü"}'.encode()
    assert (stub.connections, len(stub.requests)) == (1, 1)


def test_opening_connects_and_sends_nothing(http: Http, stub: Stub) -> None:
    """Between `open` and `send`, where the mark is set, the platform has a connection and not one byte."""
    got: list[bytes] = []
    seen = threading.Event()

    def serve(sock: socket.socket) -> None:
        sock.settimeout(0.2)
        try:
            got.append(sock.recv(1))
        except TimeoutError:
            got.append(b"nothing")
        seen.set()
        sock.settimeout(5)
        stub.answering(response())(sock)

    stub.serve_with(serve)
    with http.open(a_post(stub), deadline_seconds=5) as opened:
        assert isinstance(opened, Opened)
        assert seen.wait(3)
        assert got == [b"nothing"]
        assert isinstance(opened.send(), Answer)


def test_an_opened_connection_sends_once(http: Http, stub: Stub) -> None:
    """A second `send` is a bug and raises; the platform gets one request."""
    stub.serve_with(stub.answering(response()))
    opened = http.open(a_post(stub), deadline_seconds=5)
    assert isinstance(opened, Opened)
    opened.send()
    with pytest.raises(RuntimeError):
        opened.send()
    assert len(stub.requests) == 1


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"])
def test_no_redirect_is_followed(http: Http, stub: Stub, status: str) -> None:
    """A redirect is returned as the answer it is, on the publish step and on all others."""
    stub.serve_with(stub.answering(response(status=status, headers=(f"Location: {stub.url}/other",))))
    for result in (publish(http, a_post(stub)), http.send(a_post(stub)), http.send(a_get(stub))):
        assert isinstance(result, Answer)
        assert result.status == int(status[:3])
    assert len(stub.requests) == 3


def test_a_refused_connection_was_certainly_not_sent(http: Http) -> None:
    """Nothing listens: refused, not sent, and for the publish step transient."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    call = Call(method="POST", url=f"http://127.0.0.1:{port}/", json={})
    for result in (publish(http, call), http.send(call)):
        assert (failure(result).kind, failure(result).sent) == ("refused", False)
        assert isinstance(read_lost(failure(result), platform="X"), Transient)


def test_an_unknown_name_was_certainly_not_sent(http: Http) -> None:
    """A name that does not resolve is `dns`, not sent."""
    result = publish(http, Call(method="POST", url="http://no-such-host.invalid/", json={}))
    assert (failure(result).kind, failure(result).sent) == ("dns", False)


def test_a_stuck_name_server_costs_no_more_than_the_connect_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """`getaddrinfo` that never returns is given up when the connect timeout is over."""
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: release.wait(20) and [])
    http = Http(connect_timeout_seconds=0.3, allow_private_addresses=True)
    begin = time.monotonic()
    result = publish(http, Call(method="POST", url="http://stuck.example/", json={}))
    release.set()
    assert failure(result).kind == "dns"
    assert time.monotonic() - begin < 2


def test_a_black_hole_is_a_connect_timeout(stub: Stub) -> None:
    """A listener that accepts nothing, its queue full, times out while connecting: not sent."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        http = Http(connect_timeout_seconds=0.3, allow_private_addresses=True)
        result = publish(http, Call(method="POST", url=f"http://127.0.0.1:{address[1]}/", json={}))
        for filler in fillers:
            filler.close()
    assert (failure(result).kind, failure(result).sent) == ("connect_timeout", False)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"", "reset"),
        (b"HTTP/1.1 20", "bad_answer"),
        (b"complete nonsense\r\n\r\n", "bad_answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "reset"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "reset"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}", "reset"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n", "bad_answer"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 200 + b"\r\n", "bad_answer"),
    ],
    ids=[
        "nothing",
        "half-status",
        "nonsense",
        "cut",
        "cut-chunk",
        "bad-chunk",
        "interim",
        "too-many-headers",
    ],
)
def test_a_broken_answer_to_a_sent_request_is_lost(http: Http, stub: Stub, answer: bytes, kind: str) -> None:
    """Whatever is wrong with the answer, the request was sent: unknown on the publish step."""
    stub.serve_with(stub.answering(answer))
    result = failure(publish(http, a_post(stub)))
    assert (result.kind, result.sent) == (kind, True)
    assert isinstance(read_lost(result, platform="X"), Unknown)
    assert isinstance(transient_failure(result, platform="X"), Transient)
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"]
)
def test_a_broken_answer_to_other_steps_is_a_failure_too(http: Http, stub: Stub, answer: bytes) -> None:
    """`send` returns the failure, raises nothing, and sends a fresh connection's request once."""
    stub.serve_with(stub.answering(answer))
    for call in (a_get(stub), a_post(stub)):
        assert failure(http.send(call)).sent
    assert len(stub.requests) == 2


def test_a_reset_after_the_request_is_lost(http: Http, stub: Stub) -> None:
    """A reset instead of an answer is a lost answer, not a refusal."""

    def serve(sock: socket.socket) -> None:
        stub.read_request(sock)
        reset(sock)

    stub.serve_with(serve)
    result = failure(publish(http, a_post(stub)))
    assert (result.kind, result.sent) == ("reset", True)


def test_a_connection_closed_before_send_was_certainly_not_sent(http: Http, stub: Stub) -> None:
    """The platform hangs up while the mark is set: nothing is written, and the failure says so."""
    stub.serve_with(lambda _: None)
    with http.open(a_post(stub), deadline_seconds=5) as opened:
        assert isinstance(opened, Opened)
        until = time.monotonic() + 3
        while not _peer_closed(opened) and time.monotonic() < until:
            threading.Event().wait(0.01)
        result = failure(opened.send())
    assert (result.kind, result.sent) == ("closed_before_send", False)
    assert stub.requests == []


def _peer_closed(opened: Opened) -> bool:
    sock = opened._sock
    assert sock is not None
    sock.settimeout(0)
    try:
        return sock.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False


def test_a_mark_that_took_too_long_sends_nothing(http: Http, stub: Stub) -> None:
    """When the deadline is over before `send`, nothing is sent and the failure is certain of it."""
    stub.serve_with(stub.answering(response()))
    with http.open(a_post(stub), deadline_seconds=0.05) as opened:
        assert isinstance(opened, Opened)
        threading.Event().wait(0.1)
        result = failure(opened.send())
    assert (result.kind, result.sent) == ("too_late", False)
    assert stub.requests == []


def drip(stub: Stub, data: bytes, pause_seconds: float = 0.05) -> object:
    def serve(sock: socket.socket) -> None:
        stub.read_request(sock)
        for byte in data:
            sock.sendall(bytes([byte]))
            if stub.wait_closing(pause_seconds):
                return

    return serve


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 4000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n" + b"x" * 4000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 1000,
    ],
    ids=["headers", "body", "chunks"],
)
@pytest.mark.parametrize("step", ["publish", "send-post", "send-get"])
def test_a_dripping_platform_meets_the_total_deadline(http: Http, stub: Stub, data: bytes, step: str) -> None:
    """One byte now and then, each well within a read timeout, does not outlast the deadline."""
    stub.serve_with(drip(stub, data))  # type: ignore[arg-type]
    begin = time.monotonic()
    if step == "publish":
        result = publish(http, a_post(stub), deadline_seconds=0.6)
    else:
        result = http.send(a_post(stub) if step == "send-post" else a_get(stub), deadline_seconds=0.6)
    assert time.monotonic() - begin < 1.5
    assert (failure(result).kind, failure(result).sent) == ("read_timeout", True)


def test_a_platform_that_stops_reading_meets_the_total_deadline(http: Http, stub: Stub) -> None:
    """A body that nobody takes blocks the sender until the deadline, not longer."""
    stub.serve_with(lambda _: stub.wait_closing(10) and None)
    begin = time.monotonic()
    result = publish(http, a_post(stub, json={"a": "x" * 30_000_000}), deadline_seconds=0.6)
    assert time.monotonic() - begin < 2
    assert (failure(result).kind, failure(result).sent) == ("read_timeout", True)


def test_released_deadlines_shut_nothing(http: Http, stub: Stub) -> None:
    """A pooled connection outlives the deadline of the request it served."""

    def serve(sock: socket.socket) -> None:
        while True:
            stub.read_request(sock)
            sock.sendall(response())

    stub.serve_with(serve)
    assert isinstance(http.send(a_get(stub), deadline_seconds=0.2), Answer)
    threading.Event().wait(0.4)
    assert isinstance(http.send(a_get(stub), deadline_seconds=2), Answer)
    assert stub.connections == 1


def test_a_stale_kept_connection_is_replaced_once_under_a_get(http: Http, stub: Stub) -> None:
    """A kept connection that breaks as it is used again costs a GET nothing."""

    def first(sock: socket.socket) -> None:
        stub.answering(response())(sock)
        stub.read_request(sock)
        reset(sock)

    stub.serve_with(first, stub.answering(response(b'{"id":"2"}')))
    assert isinstance(http.send(a_get(stub)), Answer)
    answer = http.send(a_get(stub))
    assert isinstance(answer, Answer)
    assert answer.json() == {"id": "2"}
    assert stub.connections == 2


def test_a_post_on_a_stale_kept_connection_is_not_repeated(http: Http, stub: Stub) -> None:
    """What is not idempotent is never sent twice, not even for a stale connection."""

    def first(sock: socket.socket) -> None:
        stub.answering(response())(sock)
        stub.read_request(sock)
        reset(sock)

    stub.serve_with(first, stub.answering(response()))
    assert isinstance(http.send(a_get(stub)), Answer)
    assert failure(http.send(a_post(stub))).kind == "reset"
    assert len(stub.requests) == 2


@pytest.mark.parametrize("announced", [True, False], ids=["content-length", "until-close"])
def test_an_answer_above_the_limit_is_too_large(stub: Stub, announced: bool) -> None:
    """Neither an announced nor an endless body is read beyond the limit."""
    http = Http(allow_private_addresses=True, max_answer_bytes=1000)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" if announced else b"HTTP/1.1 200 OK\r\n\r\n"
    stub.serve_with(stub.answering(head + b"x" * 5000))
    for result in (publish(http, a_post(stub)), http.send(a_get(stub))):
        assert (failure(result).kind, failure(result).sent) == ("too_large", True)


def test_an_answer_announced_above_the_limit_is_not_waited_for(http: Http, stub: Stub) -> None:
    """The announcement is enough: no gigabytes are read, nor waited for, to refuse them."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\n"
    stub.serve_with(stub.answering(head, then=lambda _: stub.wait_closing(10) and None))
    begin = time.monotonic()
    assert failure(publish(http, a_post(stub))).kind == "too_large"
    assert time.monotonic() - begin < 2


def test_a_compressed_answer_is_read_within_the_limit(stub: Stub) -> None:
    """A platform that compresses unasked is understood, and a bomb is too large."""
    http = Http(allow_private_addresses=True, max_answer_bytes=1000)
    packed, bomb = gzip.compress(b'{"id":"7"}'), gzip.compress(b"x" * 100_000)
    for body, expected in ((packed, {"id": "7"}), (bomb, None), (packed[:-9], None)):
        stub.serve_with(stub.answering(response(body, headers=("Content-Encoding: gzip",))))
        for result in (publish(http, a_post(stub)), http.send(a_get(stub))):
            if expected is None:
                assert isinstance(result, NetworkFailure)
            else:
                assert isinstance(result, Answer)
                assert result.json() == expected


def test_an_early_refusal_of_a_long_body_is_an_answer(http: Http, stub: Stub) -> None:
    """A platform that refuses before reading to the end is heard, although the rest can't be written."""

    def serve(sock: socket.socket) -> None:
        sock.recv(1000)
        sock.sendall(response(b'{"error":"large"}', status="413 Payload Too Large"))
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            if stub.wait_closing(0):
                return

    stub.serve_with(serve)
    answer = publish(http, a_post(stub, json={"a": "x" * 3_000_000}))
    assert isinstance(answer, Answer)
    assert answer.status == 413


def test_a_file_is_streamed_with_its_length(http: Http, stub: Stub, tmp_path: Path) -> None:
    """A multipart body arrives whole, with fields, file and an exact length, read in pieces."""
    path = tmp_path / "big.bin"
    path.write_bytes(os.urandom(3_000_000))
    reads: list[int] = []

    class Counting(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:  # type: ignore[override]
            reads.append(size or 0)
            return super().read(size or 0)

    file = UploadFile(
        name="file",
        filename='a"\r\nb.png',
        mime_type="image/png",
        byte_size=3_000_000,
        open=lambda: Counting(path),  # type: ignore[arg-type,return-value]
    )
    call = a_post(stub, json=None, multipart=Multipart(fields=[("description", "Größe")], file=file))
    stub.serve_with(stub.answering(response()))
    for result in (http.send(call), publish(http, call)):
        assert isinstance(result, Answer)
    for request in stub.requests:
        head, _, body = request.partition(b"\r\n\r\n")
        assert f"content-length: {len(body)}".encode() in head.lower()
        assert b'name="description"\r\n\r\n' + "Größe".encode() in body
        assert b'filename="a%22%0D%0Ab.png"' in body
        assert path.read_bytes() in body
    assert max(reads) <= 64 * 1024


@pytest.mark.parametrize("wrong_by", [-1, 1])
def test_a_file_of_another_size_than_stored_is_not_sent_as_if(http: Http, stub: Stub, wrong_by: int) -> None:
    """A file that changed on disk ends the upload as a failure that names the file, not the network."""
    file = UploadFile(
        name="file",
        filename="a",
        mime_type="image/png",
        byte_size=10 + wrong_by,
        open=lambda: io.BytesIO(b"x" * 10),
    )
    call = a_post(stub, json=None, multipart=Multipart(file=file))
    stub.serve_with(stub.answering(response()))
    for result in (http.send(call), publish(http, call)):
        assert failure(result).kind == "body_unreadable"


def test_a_file_that_grew_sends_nothing_beyond_what_was_announced() -> None:
    """Bytes beyond the announced length would be read as another request on the same connection."""
    file = UploadFile(
        name="file",
        filename="a",
        mime_type="image/png",
        byte_size=10,
        open=lambda: io.BytesIO(b"x" * 200_000),
    )
    body = MultipartBody(Multipart(file=file))
    sent = 0
    with pytest.raises(BodyUnreadable):
        for piece in body:
            sent += len(piece)
    assert sent <= len(body)


def test_a_file_that_is_gone_is_a_failure_too(http: Http, stub: Stub, tmp_path: Path) -> None:
    """A missing file raises nothing: the step failed, and says that it was the file."""
    file = UploadFile(
        name="file",
        filename="a",
        mime_type="image/png",
        byte_size=10,
        open=(tmp_path / "gone").open,  # type: ignore[arg-type]
    )
    stub.serve_with(stub.answering(response()))
    assert (
        failure(http.send(a_post(stub, json=None, multipart=Multipart(file=file)))).kind == "body_unreadable"
    )


def test_the_environment_has_no_say(
    http: Http, stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Proxies, netrc and certificate variables of the environment change nothing."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login eve password evil\n")
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("NETRC", str(netrc))
    stub.serve_with(stub.answering(response()))
    for result in (http.send(a_get(stub, headers={})), publish(http, a_post(stub, headers={}))):
        assert isinstance(result, Answer)
    assert not any(b"authorization" in request.lower() for request in stub.requests)


def test_cookies_are_never_kept(http: Http, stub: Stub) -> None:
    """A cookie of one account's answer does not travel with another account's request."""
    stub.serve_with(stub.answering(response(headers=("Set-Cookie: session=abc; Path=/",))))
    http.send(a_get(stub))
    http.send(a_get(stub))
    assert b"cookie" not in stub.requests[1].lower()


def test_no_token_is_shown_anywhere(http: Http, stub: Stub, caplog: pytest.LogCaptureFixture) -> None:
    """Neither reprs, failures, excerpts nor any library's log shows the token or the body."""
    caplog.set_level(logging.DEBUG)
    echo = f'{{"error":"bad {TOKEN} in Bearer {TOKEN}"}}'.encode()
    stub.serve_with(stub.answering(response(echo, status="400 Bad Request")))
    call = a_post(stub)
    shown = [repr(call)]
    for result in (publish(http, call), http.send(call)):
        assert isinstance(result, Answer)
        shown += [repr(result), result.excerpt(), repr(result.headers)]
    stub.serve_with(stub.answering(b""))
    shown += [repr(publish(http, call)), repr(http.send(call)), caplog.text]
    assert all(TOKEN not in text and '"a"' not in text for text in shown)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b"])
def test_a_header_that_would_break_its_line_is_refused_without_showing_it(value: str) -> None:
    """A token with a line end is a bug that raises before anything is sent, and is not repeated."""
    with pytest.raises(ValueError, match="Authorization") as caught:
        Call(method="GET", url="https://a.example/", headers={"Authorization": value})
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [b"", b"[", b"\xff\xfe", b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}"],
    ids=["empty", "cut", "not-utf8", "deep", "huge-number"],
)
def test_json_of_anything_is_none(body: bytes) -> None:
    """A body that is no JSON reads as None, however hostile."""
    assert Answer(status=200, body=body).json() is None


def test_private_addresses_are_refused_before_connecting(stub: Stub) -> None:
    """Where private addresses are not allowed, loopback is not connected to, by number or by name."""
    http = Http()
    for host in ("127.0.0.1", "localhost"):
        result = publish(http, Call(method="POST", url=f"http://{host}:{stub.port}/", json={}))
        assert (failure(result).kind, failure(result).sent) == ("forbidden_address", False)
        assert (
            failure(http.send(Call(method="GET", url=f"http://{host}:{stub.port}/"))).kind
            == "forbidden_address"
        )
    assert stub.connections == 0


def test_the_address_that_was_checked_is_the_one_connected_to(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that resolves to a private address among public ones leads to none of the private ones."""
    tried: list[str] = []

    def connect(self: socket.socket, address: tuple[str, int]) -> None:
        tried.append(address[0])
        raise ConnectionRefusedError

    answers = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", stub.port)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", stub.port)),
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::ffff:10.0.0.1", stub.port, 0, 0)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    monkeypatch.setattr(socket.socket, "connect", connect, raising=False)
    result = publish(Http(), Call(method="POST", url="http://rebind.example/", json={}))
    assert tried == ["93.184.215.14"]
    assert failure(result).kind == "refused"


def test_a_forked_process_keeps_deadlines(http: Http, stub: Stub) -> None:
    """The watching thread does not survive a fork; the child starts its own."""
    stub.serve_with(drip(stub, b"HTTP/1.1 200 OK\r\nX: " + b"x" * 4000))  # type: ignore[arg-type]
    assert failure(publish(http, a_post(stub), deadline_seconds=0.2)).kind == "read_timeout"
    child = os.fork()
    if child == 0:
        result = publish(http, a_post(stub), deadline_seconds=0.3)
        os._exit(0 if isinstance(result, NetworkFailure) and result.kind == "read_timeout" else 1)
    until = time.monotonic() + 5
    done = (0, 0)
    while done[0] == 0 and time.monotonic() < until:
        done = os.waitpid(child, os.WNOHANG)
        threading.Event().wait(0.02)
    if done[0] == 0:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert done == (child, 0)
