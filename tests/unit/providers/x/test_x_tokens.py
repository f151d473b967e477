"""Tests of X's refresh on real connections: what each answer, and each loss of one, comes to."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

from socialq.domain.outcomes import AuthLost, Ours, RateLimited, Transient
from socialq.providers.base import AppCredentials, Refreshed
from socialq.providers.x import X
from socialq.providers.x.tokens import ANSWER_LOST
from tests.unit.providers.stub import Serve, Stub, reset, response
from tests.unit.providers.x.script import NOW

if TYPE_CHECKING:
    import socket

    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.http import Http

APP = AppCredentials(client_id="cli:ent", client_secret="s3cret+app")
OLD = "old-refresh-token-1"
PAIR = {
    "token_type": "bearer",
    "expires_in": 7200,
    "access_token": "new-access",
    "scope": "tweet.read tweet.write offline.access",
    "refresh_token": "new-refresh",
}
SPENT = {"error": "invalid_request", "error_description": f"Value passed for the token {OLD} was invalid."}


def refresh(http: Http, stub: Stub, *, app: AppCredentials = APP) -> Refreshed | PrepareFailure:
    return X().refresh(http, base_url=stub.url, refresh_token=OLD, app=app, now=NOW)


def answered(http: Http, stub: Stub, body: object, *, status: str = "200 OK") -> Refreshed | PrepareFailure:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    stub.serve_with(stub.answering(response(raw, status=status)))
    return refresh(http, stub)


def test_a_new_pair_comes_with_its_end_and_its_scopes(http: Http, stub: Stub) -> None:
    """The old refresh token goes out once in the body, the application's credentials in the header."""
    result = answered(http, stub, PAIR)
    assert result == Refreshed(
        access_token="new-access",
        refresh_token="new-refresh",
        expires_at=NOW + timedelta(hours=2),
        scopes=frozenset({"tweet.read", "tweet.write", "offline.access"}),
    )
    (request,) = stub.requests
    head, _, body = request.decode().partition("\r\n\r\n")
    assert head.startswith("POST /2/oauth2/token HTTP/1.1")
    basic = base64.b64encode(b"cli%3Aent:s3cret%2Bapp").decode()
    assert f"Authorization: Basic {basic}" in head
    assert parse_qs(body) == {"grant_type": ["refresh_token"], "refresh_token": [OLD]}
    assert "new-" not in repr(result)


def test_a_public_application_names_itself_in_the_body(http: Http, stub: Stub) -> None:
    """Without a secret there is no header, and the client id stands in the form."""
    stub.serve_with(stub.answering(response(json.dumps(PAIR).encode())))
    assert isinstance(refresh(http, stub, app=replace(APP, client_secret="")), Refreshed)
    head, _, body = stub.requests[0].decode().partition("\r\n\r\n")
    assert "Authorization" not in head
    assert parse_qs(body)["client_id"] == ["cli:ent"]


@pytest.mark.parametrize("expires_in", [None, "7200", 0, -5, True, 10**12])
def test_an_end_that_is_not_told_is_x_s_own_two_hours(http: Http, stub: Stub, expires_in: object) -> None:
    """A token is never taken for one that lasts for ever."""
    result = answered(http, stub, PAIR | {"expires_in": expires_in})
    assert isinstance(result, Refreshed)
    assert result.expires_at == NOW + timedelta(hours=2)


@pytest.mark.parametrize("given", [None, "", " ", 7])
def test_a_missing_refresh_token_leaves_the_stored_one(http: Http, stub: Stub, given: object) -> None:
    """None says so; an empty one is none."""
    result = answered(http, stub, PAIR | {"refresh_token": given, "scope": ""})
    assert isinstance(result, Refreshed)
    assert (result.refresh_token, result.scopes) == (None, None)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        {},
        PAIR | {"access_token": ""},
        PAIR | {"access_token": " "},
        PAIR | {"access_token": None},
    ],
)
def test_an_answer_without_an_access_token_replaces_nothing(http: Http, stub: Stub, body: object) -> None:
    """The old pair may have ended all the same, which the code tells; the new refresh token is not shown."""
    result = answered(http, stub, body)
    assert isinstance(result, Transient)
    assert result.evidence.code == ANSWER_LOST
    assert "new-refresh" not in repr(result)


@pytest.mark.parametrize(
    ("status", "body", "expected", "code"),
    [
        ("400 Bad Request", SPENT, AuthLost, "x.invalid_request"),
        ("400 Bad Request", {"error": "invalid_grant"}, AuthLost, "x.invalid_grant"),
        ("401 Unauthorized", {"error": "invalid_grant"}, AuthLost, "x.invalid_grant"),
        ("400 Bad Request", {"error": "invalid_client"}, Ours, "x.application_refused"),
        ("400 Bad Request", {"error": "unsupported_grant_type"}, Ours, "x.application_refused"),
        ("401 Unauthorized", {"error": "unauthorized_client"}, Ours, "x.application_refused"),
        ("401 Unauthorized", {"title": "Unauthorized", "status": 401}, Ours, "x.application_refused"),
        ("400 Bad Request", {"error": "something_new"}, Transient, "x.refresh_refused"),
        ("400 Bad Request", b"<html>", Transient, "x.refresh_refused"),
        ("400 Bad Request", {"error": ["invalid_grant"]}, Transient, "x.refresh_refused"),
        ("402 Payment Required", b"", Ours, "x.out_of_credits"),
        ("403 Forbidden", {"type": "x/client-forbidden"}, Ours, "x.application_refused"),
        ("403 Forbidden", b"<html>", Transient, "x.blocked"),
        ("408 Request Timeout", b"", Transient, ANSWER_LOST),
        ("429 Too Many Requests", b"", RateLimited, "x.rate_limited"),
        ("500 Internal Server Error", b"", Transient, ANSWER_LOST),
        ("503 Service Unavailable", b"", Transient, ANSWER_LOST),
    ],
)
def test_a_refused_refresh_says_whose_fault_it_is(
    http: Http, stub: Stub, status: str, body: object, expected: type, code: str
) -> None:
    """A spent token is the account's, a bad client id ours; where X may have rotated, the code says so."""
    result = answered(http, stub, body, status=status)
    assert isinstance(result, expected), result
    assert result.evidence.code == code
    assert OLD not in repr(result)
    assert "s3cret" not in repr(result)


def _hang(stub: Stub) -> Serve:
    def serve(sock: socket.socket) -> None:
        stub.read_request(sock)
        stub.wait_closing(10)

    return serve


def _reset(stub: Stub) -> Serve:
    def serve(sock: socket.socket) -> None:
        stub.read_request(sock)
        reset(sock)

    return serve


def _cut(stub: Stub) -> Serve:
    return stub.answering(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")


@pytest.mark.parametrize("loss", [_hang, _reset, _cut])
def test_a_lost_answer_is_told_apart_from_a_request_that_never_left(
    http: Http, stub: Stub, loss: object
) -> None:
    """X may have ended the old pair: one request, and a code that says the answer is lost."""
    assert callable(loss)
    stub.serve_with(loss(stub))
    http.deadline_seconds = 0.5
    result = refresh(http, stub)
    assert isinstance(result, Transient)
    assert result.evidence.code == ANSWER_LOST
    assert len(stub.requests) == 1


def test_a_request_that_never_left_is_an_ordinary_trouble(http: Http, stub: Stub) -> None:
    """Nobody listens: the stored refresh token is as good as before."""
    stub.close()
    result = X().refresh(http, base_url="http://127.0.0.1:1", refresh_token=OLD, app=APP, now=NOW)
    assert isinstance(result, Transient)
    assert result.evidence.code == "network.refused"
