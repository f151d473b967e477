"""Tests of signing in with an app password and of carrying the session on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from socialq.domain.outcomes import AuthLost, RateLimited, Rejected, Transient
from socialq.providers.base import AppCredentials, Connection, Refreshed
from socialq.providers.bluesky import Bluesky
from socialq.providers.consent import Granted
from tests.unit.providers.bluesky.bluesky_script import DID, NOW, Script, answer, error, jwt

PASSWORD = "abcd-efgh-ijkl-mnop"
ACCESS = jwt(scope="com.atproto.appPass", exp=int(NOW.timestamp()) + 7200)
SESSION = {"did": DID, "handle": "acme.example", "accessJwt": ACCESS, "refreshJwt": "refresh-1"}
NO_APP = AppCredentials(client_id="", client_secret="")


def sign_in(script: Script, identifier: str = "@acme.example ") -> object:
    return Bluesky().sign_in(
        script.http, base_url="https://pds.example", identifier=identifier, password=PASSWORD, now=NOW
    )


def refresh(script: Script) -> object:
    return Bluesky().refresh(
        script.http, base_url="https://pds.example", refresh_token="refresh-1", app=NO_APP, now=NOW
    )


def test_an_app_password_is_traded_for_a_pair_of_tokens() -> None:
    """The name may stand with its sign; the password is in the body alone, and in no repr."""
    script = Script(answer(200, SESSION))
    granted = sign_in(script)
    assert isinstance(granted, Granted)
    assert (granted.access_token, granted.refresh_token) == (ACCESS, "refresh-1")
    assert granted.expires_at == NOW + timedelta(hours=2)
    (call,) = script.calls
    assert call.json == {"identifier": "acme.example", "password": PASSWORD}
    assert PASSWORD not in repr(call)
    assert PASSWORD not in repr(granted)


def test_an_accounts_own_password_is_refused() -> None:
    """Its session could do anything; a tool must not keep such a one."""
    session = {**SESSION, "accessJwt": jwt(scope="com.atproto.access", exp=1_900_000_000)}
    refused = sign_in(Script(answer(200, session)))
    assert isinstance(refused, Rejected)
    assert "app password" in refused.evidence.message


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (401, error("AuthenticationRequired", "Invalid identifier or password"), AuthLost),
        (401, error("AuthFactorTokenRequired", "A code was sent"), AuthLost),
        (401, error("AccountTakedown"), AuthLost),
        (429, error("RateLimitExceeded"), RateLimited),
        (500, error("InternalServerError"), Transient),
        (200, {**SESSION, "accessJwt": ""}, Transient),
        (200, {**SESSION, "refreshJwt": None}, Transient),
        (404, b"<html>", Rejected),
    ],
)
def test_a_sign_in_that_fails_says_why(status: int, body: object, outcome: type) -> None:
    """And shows nothing of the password, even where the server repeats it."""
    assert isinstance(sign_in(Script(answer(status, body))), outcome)
    told = sign_in(Script(answer(401, error("AuthenticationRequired", f"not {PASSWORD}!"))))
    assert isinstance(told, AuthLost)
    assert PASSWORD not in repr(told)


def test_a_refresh_sends_the_refresh_token_as_bearer() -> None:
    """No application is involved."""
    script = Script(answer(200, {**SESSION, "refreshJwt": "refresh-2"}))
    pair = refresh(script)
    assert pair == Refreshed(
        access_token=ACCESS, refresh_token="refresh-2", expires_at=NOW + timedelta(hours=2)
    )
    (call,) = script.calls
    assert call.headers["Authorization"] == "Bearer refresh-1"
    assert call.json is None


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (400, error("ExpiredToken", "Token has been revoked"), AuthLost),
        (400, error("InvalidToken"), AuthLost),
        (401, error("AccountTakedown"), AuthLost),
        (200, {}, Transient),
        (200, {**SESSION, "accessJwt": " "}, Transient),
        (502, error("UpstreamFailure"), Transient),
        (429, error("RateLimitExceeded"), RateLimited),
    ],
)
def test_a_refresh_that_fails_says_why(status: int, body: object, outcome: type) -> None:
    """An answer without an access token ends nothing: the old refresh token still works."""
    assert isinstance(refresh(Script(answer(status, body))), outcome)


@pytest.mark.parametrize(
    ("claims", "ends_at"),
    [
        ({"exp": int(NOW.timestamp()) + 60}, NOW + timedelta(minutes=1)),
        ({"exp": "soon"}, NOW + timedelta(hours=2)),
        ({"exp": True}, NOW + timedelta(hours=2)),
        ({"exp": 10**30}, NOW + timedelta(hours=2)),
        ({}, NOW + timedelta(hours=2)),
    ],
)
def test_a_token_says_when_it_ends_or_two_hours_are_assumed(
    claims: dict[str, Any], ends_at: datetime
) -> None:
    """A token is opaque by the protocol's word, so it may say nothing that can be read."""
    pair = refresh(Script(answer(200, {**SESSION, "accessJwt": jwt(**claims)})))
    assert isinstance(pair, Refreshed)
    assert pair.expires_at == ends_at.astimezone(UTC)


@pytest.mark.parametrize("token", ["abc", "a.b.c", "..", "a.%%%.c", "é.é.é"])
def test_a_token_that_is_no_jwt_is_no_trouble(token: str) -> None:
    """It is used as it is."""
    pair = refresh(Script(answer(200, {**SESSION, "accessJwt": token})))
    assert isinstance(pair, Refreshed)
    assert pair.expires_at == NOW + timedelta(hours=2)


def test_an_account_is_known_by_its_did() -> None:
    """The handle is what people read; it may change hands."""
    script = Script(answer(200, {"did": DID, "handle": "acme.example", "active": True}))
    told = Bluesky().connect(script.http, base_url="https://pds.example", token=ACCESS)
    assert isinstance(told, Connection)
    assert (told.remote_user_id, told.handle) == (DID, "acme.example")
    assert told.scopes == {"com.atproto.appPass"}
    assert told.limits["max_graphemes"] == 300


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ({"did": DID, "handle": "a.example", "active": False, "status": "deactivated"}, AuthLost),
        ({"handle": "a.example"}, Rejected),
        ({"did": "17", "handle": "a.example"}, Rejected),
        ({"did": DID}, Rejected),
        ([], Transient),
    ],
)
def test_an_account_that_cannot_post_is_not_connected(body: object, outcome: type) -> None:
    """Nor is what is no server of the protocol."""
    told = Bluesky().connect(Script(answer(200, body)).http, base_url="https://x.example", token=ACCESS)
    assert isinstance(told, outcome)
