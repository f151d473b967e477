"""Tests of TLS in `socialq.providers.http`: what is trusted, and what a handshake may cost."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
import time
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from socialq.providers.http import Answer, Call, Http, NetworkFailure, Opened
from tests.unit.providers.stub import Stub, response

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path


class TlsStub(Stub):
    """A stub with a self-signed certificate, which is kept in `ca_file` together with its key."""

    def __init__(self, folder: Path, *, address: str, newest: ssl.TLSVersion | None) -> None:
        self.ca_file = str(folder / f"{address}.pem")
        (folder / f"{address}.pem").write_bytes(_self_signed(address))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca_file)
        if newest is not None:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.maximum_version = newest
        super().__init__(tls=context)
        self.serve_with(self.answering(response()))


def _self_signed(address: str) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    return private + signed.public_bytes(pem)


@pytest.fixture
def tls_stub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TlsStub]:
    """A stub for 127.0.0.1 unless the test asks for another address or version."""
    address, newest = getattr(request, "param", ("127.0.0.1", None))
    stub = TlsStub(tmp_path, address=address, newest=newest)
    yield stub
    stub.close()


def both_ways(http: Http, url: str) -> list[Answer | NetworkFailure]:
    post = Call(method="POST", url=url, headers={"Authorization": "Bearer s3cret"}, json={"a": 1})
    with http.open(post, deadline_seconds=5) as opened:
        published = opened if isinstance(opened, NetworkFailure) else opened.send()
    return [published, http.send(Call(method="GET", url=url), deadline_seconds=5)]


def test_a_trusted_certificate_is_accepted(tls_stub: TlsStub) -> None:
    """Both ways of sending reach the platform, and its session tickets disturb neither."""
    http = Http(allow_private_addresses=True, ca_file=tls_stub.ca_file)
    for result in both_ways(http, f"{tls_stub.url}/x"):
        assert isinstance(result, Answer), result
        assert result.json() == {"id": "1"}


def test_an_unknown_authority_is_not_spoken_to(tls_stub: TlsStub) -> None:
    """A self-signed platform gets no request: `tls`, certainly not sent."""
    for result in both_ways(Http(allow_private_addresses=True), f"{tls_stub.url}/x"):
        assert isinstance(result, NetworkFailure)
        assert (result.kind, result.sent) == ("tls", False)
    assert tls_stub.requests == []


@pytest.mark.parametrize("tls_stub", [("127.0.0.2", None)], indirect=True)
def test_a_certificate_of_another_host_is_not_accepted(tls_stub: TlsStub) -> None:
    """A trusted certificate for another address is no proof."""
    http = Http(allow_private_addresses=True, ca_file=tls_stub.ca_file)
    for result in both_ways(http, f"{tls_stub.url}/x"):
        assert isinstance(result, NetworkFailure)
        assert (result.kind, result.sent) == ("tls", False)
    assert tls_stub.requests == []


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize("tls_stub", [("127.0.0.1", ssl.TLSVersion.TLSv1_2)], indirect=True)
def test_tls_1_2_is_old_enough(tls_stub: TlsStub) -> None:
    """1.2 is accepted, and our side offers nothing older."""
    http = Http(allow_private_addresses=True, ca_file=tls_stub.ca_file)
    assert all(isinstance(result, Answer) for result in both_ways(http, f"{tls_stub.url}/x"))
    assert http._trust.tls.minimum_version == ssl.TLSVersion.TLSv1_2


def test_a_silent_handshake_is_a_connect_timeout() -> None:
    """A platform that accepts and never speaks TLS costs the connect timeout, and nothing was sent."""
    stub = Stub()
    stub.serve_with(lambda _: stub.wait_closing(10) and None)
    http = Http(connect_timeout_seconds=0.3, allow_private_addresses=True)
    begin = time.monotonic()
    results = both_ways(http, f"https://127.0.0.1:{stub.port}/")
    stub.close()
    assert time.monotonic() - begin < 2
    for result in results:
        assert isinstance(result, NetworkFailure)
        assert (result.kind, result.sent) == ("connect_timeout", False)


def test_a_dripping_handshake_meets_the_connect_timeout() -> None:
    """Bytes that come one by one do not stretch the handshake."""
    stub = Stub()

    def drip(sock: socket.socket) -> None:
        sock.recv(65536)
        for byte in b"\x16\x03\x03\x40\x00" + b"\x02" * 4000:
            sock.sendall(bytes([byte]))
            if stub.wait_closing(0.02):
                return

    stub.serve_with(drip)
    http = Http(connect_timeout_seconds=0.4, allow_private_addresses=True)
    begin = time.monotonic()
    results = both_ways(http, f"https://127.0.0.1:{stub.port}/")
    stub.close()
    assert time.monotonic() - begin < 2
    assert [result.kind for result in results if isinstance(result, NetworkFailure)] == [
        "connect_timeout"
    ] * 2


def test_the_total_deadline_holds_over_tls(tls_stub: TlsStub) -> None:
    """The watch is on the encrypted socket too: a dripping answer ends at the deadline, lost."""

    def drip(sock: socket.socket) -> None:
        tls_stub.read_request(sock)
        for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 4000:
            sock.sendall(bytes([byte]))
            if tls_stub.wait_closing(0.03):
                return

    tls_stub.serve_with(drip)
    http = Http(allow_private_addresses=True, ca_file=tls_stub.ca_file)
    begin = time.monotonic()
    call = Call(method="POST", url=f"{tls_stub.url}/x", json={})
    with http.open(call, deadline_seconds=0.6) as opened:
        assert isinstance(opened, Opened)
        result = opened.send()
    assert time.monotonic() - begin < 1.5
    assert isinstance(result, NetworkFailure)
    assert (result.kind, result.sent) == ("read_timeout", True)


def test_a_platform_that_hangs_up_over_tls_before_the_send_was_not_sent_to(tls_stub: TlsStub) -> None:
    """A closed TLS connection is noticed or the answer is lost; a request is never taken for answered."""
    tls_stub.serve_with(lambda _: None)
    http = Http(allow_private_addresses=True, ca_file=tls_stub.ca_file)
    call = Call(method="POST", url=f"{tls_stub.url}/x", json={})
    with http.open(call, deadline_seconds=3) as opened:
        result = opened if isinstance(opened, NetworkFailure) else opened.send()
    assert isinstance(result, NetworkFailure)
    assert tls_stub.requests == []
