"""X's consent and takedown: hosts, what each answer comes to, and that nothing empty is a grant."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from socialq.domain.outcomes import AuthLost, Ours, PermissionLost, TakenDown, Transient, Unknown
from socialq.providers.base import AppCredentials
from socialq.providers.consent import Granted
from socialq.providers.x import X
from socialq.providers.x.consent import XConsent
from tests.unit.providers.stub import Stub, response
from tests.unit.providers.x.script import ACCOUNT, NOW, Script, answer, problem

if TYPE_CHECKING:
    from socialq.providers.http import Http

APP = AppCredentials(client_id="cli:ent", client_secret="s3cret+app")
CODE, VERIFIER, BACK = "c0de-of-the-person", "v3rifier", "https://posts.example/cb"
PAIR = {
    "access_token": "new-access",
    "refresh_token": "new-refresh",
    "expires_in": 7200,
    "scope": "tweet.read",
}


def exchange(
    http: Http, stub: Stub, body: object, *, status: str = "200 OK", app: AppCredentials = APP
) -> Any:
    stub.serve_with(stub.answering(response(json.dumps(body).encode(), status=status)))
    return XConsent().exchange(
        http, app=app, base_url=stub.url, code=CODE, redirect_uri=BACK, code_verifier=VERIFIER, now=NOW
    )


@pytest.mark.parametrize(
    ("base_url", "host"),
    [("https://api.x.com", "https://x.com"), ("http://127.0.0.1:5/x", "http://127.0.0.1:5/x")],
)
def test_the_consent_page_of_x_itself_has_a_host_of_its_own(base_url: str, host: str):
    """Anywhere else all is below the base URL."""
    address = XConsent().address(
        app=APP, base_url=base_url, redirect_uri=BACK, state="s", code_challenge="ch"
    )
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert address.startswith(f"{host}/i/oauth2/authorize?")
    assert X.required_scopes | {"offline.access"} == set(asked["scope"].split())
    assert (asked["code_challenge"], asked["code_challenge_method"]) == ("ch", "S256")


def test_a_code_becomes_the_first_pair(http: Http, stub: Stub):
    """Code, verifier and address go out in the body, the application's credentials in the header."""
    assert exchange(http, stub, PAIR) == Granted(
        access_token="new-access",
        refresh_token="new-refresh",
        expires_at=NOW + timedelta(hours=2),
        scopes=frozenset({"tweet.read"}),
    )
    head, _, body = stub.requests[0].decode().partition("\r\n\r\n")
    assert "Authorization: Basic" in head
    sent = {name: values[0] for name, values in parse_qs(body).items()}
    assert sent == {
        "grant_type": "authorization_code",
        "code": CODE,
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
    }


def test_a_public_application_names_itself_in_the_body(http: Http, stub: Stub):
    """It has no secret to prove itself with."""
    exchange(http, stub, PAIR, app=AppCredentials(client_id="pub", client_secret=""))
    assert "client_id=pub" in stub.requests[0].decode()


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({**PAIR, "access_token": ""}, "200 OK", Transient),
        ({}, "200 OK", Transient),
        (
            {"error": "invalid_request", "error_description": f"{CODE} was invalid"},
            "400 Bad Request",
            AuthLost,
        ),
        ({"error": "unauthorized_client"}, "401 Unauthorized", Ours),
        ({}, "503 Service Unavailable", Transient),
    ],
)
def test_what_is_no_token_is_no_grant(http: Http, stub: Stub, body: Any, status: str, kind: type):
    """Each its own, without a secret."""
    failure = exchange(http, stub, body, status=status)
    assert isinstance(failure, kind)
    assert all(secret not in repr(failure) for secret in (CODE, VERIFIER, APP.client_secret))


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (answer(200, {"data": {"deleted": True}}), TakenDown),
        (answer(404, problem(404, "Not Found")), TakenDown),
        (answer(200, {"data": {"deleted": False}}), Unknown),
        (answer(204, b""), Unknown),
        (answer(500, b""), Unknown),
        (answer(408, b""), Unknown),
        (answer(404, b"<html>Not Found</html>"), Unknown),
        (answer(404, {}), Unknown),
        (answer(410, b"<html>Gone</html>"), Unknown),
        (answer(410, problem(410, "Gone")), TakenDown),
        (answer(503, problem(503, "Service Unavailable")), Unknown),
        (answer(401, problem(401, "Unauthorized")), AuthLost),
        (answer(403, problem(403, "You are not authorized to delete this Tweet.")), PermissionLost),
    ],
)
def test_a_takedown_is_done_when_x_says_so(given: Any, kind: type):
    """Gone already counts; a page that is not the API's own says nothing, and neither does a server's fault."""
    assert isinstance(X().read_takedown(given), kind)


def test_mentions_are_asked_for_in_one_question():
    """Each name once; what X did not find is named as it was written, what it said else is nobody's."""
    missing = {"value": "NOBODY", "type": "https://api.twitter.com/2/problems/resource-not-found"}
    other = {"value": "ada", "type": "https://api.twitter.com/2/problems/not-authorized-for-resource"}
    script = Script(answer(200, {"data": [], "errors": [missing, other, "odd"]}))
    from socialq.providers.base import Part

    parts = [
        Part(number=1, text="@ada @Nobody a@b.example", key="k"),
        Part(number=2, text="@NOBODY", key="k"),
    ]
    found = X().advice(script.http, ACCOUNT, parts)
    assert [problem.message for problem in found] == ["X knows nobody named @NOBODY: check the spelling."]
    assert script.asked() == ["GET /2/users/by"]
    assert dict(script.calls[0].params or ()) == {"usernames": "ada,NOBODY"}
    assert X().advice(Script(answer(429, b"")).http, ACCOUNT, parts) == []
    assert X().advice(Script().http, ACCOUNT, [Part(number=1, text="none", key="k")]) == []
