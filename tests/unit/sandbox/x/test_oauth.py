"""Access to the simulated X: consent, codes, refresh tokens that work once, and what happens when they don't."""

import base64
import hashlib
import threading
import time
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from tests.fixtures_sandbox import REQUEST_SECONDS, RunningSandbox
from tests.unit.sandbox.x.conftest import XUser, problem

MakeUser = Callable[..., XUser]
VERIFIER = "a-verifier-of-more-than-forty-three-characters-1234"
CALLBACK = "http://127.0.0.1:9/callback"
INVALID = {"error": "invalid_request", "error_description": "Value passed for the token was invalid."}


def test_an_account_comes_with_credentials_of_an_app(sandbox: RunningSandbox, alice: XUser) -> None:
    """Tokens, their life, the app's id and secret; asked again, the same; others see no such fields."""
    names = {"access_token", "refresh_token", "expires_in", "client_id", "client_secret", "scopes"}
    assert names <= alice.account.keys()
    assert alice.account["expires_in"] == 7200
    again = sandbox.create_account(alice.name, "x")
    same = names - {"expires_in"}
    assert {name: again[name] for name in same} == {name: alice.account[name] for name in same}
    assert "refresh_token" not in sandbox.create_account("plain")


def test_a_refresh_rotates_both_tokens(sandbox: RunningSandbox, alice: XUser) -> None:
    """A new pair, X's form of answer; the new access token works, and the old one until it expires."""
    answer = alice.refresh()
    pair = answer.json()
    assert (answer.status_code, pair["token_type"], pair["expires_in"]) == (200, "bearer", 7200)
    assert pair["scope"] == alice.account["scopes"]
    assert pair["access_token"] != alice.access_token
    assert pair["refresh_token"] != alice.account["refresh_token"]
    assert alice.call("GET", "/2/users/me").status_code == 200
    alice.access_token = pair["access_token"]
    assert alice.call("GET", "/2/users/me").status_code == 200
    assert sandbox.create_account(alice.name, "x")["refresh_token"] == pair["refresh_token"]


def test_a_refresh_can_end_the_old_access_token(sandbox: RunningSandbox, alice: XUser) -> None:
    """With old_access_token_grace_s 0 only the newest works."""
    sandbox.settings("x", old_access_token_grace_s=0)
    pair = alice.refresh().json()
    assert alice.call("GET", "/2/users/me").status_code == 401
    alice.access_token = pair["access_token"]
    assert alice.call("GET", "/2/users/me").status_code == 200


def test_a_spent_refresh_token_kills_the_family(alice: XUser) -> None:
    """The second use is refused, and with it dies what the first use brought: the account must reconnect."""
    pair = alice.refresh().json()
    spent = alice.refresh()
    assert (spent.status_code, spent.json()) == (400, INVALID)
    assert alice.refresh(pair["refresh_token"]).json() == INVALID
    for token in (alice.access_token, pair["access_token"]):
        alice.access_token = token
        assert problem(alice.call("GET", "/2/users/me")) == (401, "Unauthorized", "Unauthorized")


def test_of_eight_refreshes_at_once_one_succeeds_and_nobody_keeps_access(alice: XUser) -> None:
    """A race of workers bricks the account, as it does on X."""
    answers: list[requests.Response] = []
    barrier = threading.Barrier(8)

    def refresh() -> None:
        barrier.wait()
        answers.append(alice.refresh())

    threads = [threading.Thread(target=refresh) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 7
    winner = next(answer.json() for answer in answers if answer.status_code == 200)
    alice.access_token = winner["access_token"]
    assert alice.call("GET", "/2/users/me").status_code == 401


def test_a_reconnected_account_gets_a_new_family(sandbox: RunningSandbox, alice: XUser) -> None:
    """After all was revoked the control interface grants anew; the dead tokens stay dead."""
    assert sandbox.control("POST", "/_accounts/revoke", {"platform": "x", "account": alice.name})["revoked"]
    assert alice.call("GET", "/2/users/me").status_code == 401
    assert alice.refresh().json() == INVALID
    fresh = XUser(sandbox.create_account(alice.name, "x"))
    assert fresh.access_token != alice.access_token
    assert fresh.call("GET", "/2/users/me").status_code == 200


def test_an_access_token_expires(x_user: MakeUser) -> None:
    """After expires_in seconds it is unauthorized, the refresh token is not, and its successor lives 7200 s."""
    bob = x_user("bob", expires_in=1)
    assert bob.account["expires_in"] == 1
    assert bob.call("GET", "/2/users/me").status_code == 200
    wait_for(lambda: bob.call("GET", "/2/users/me").status_code == 401)
    pair = bob.refresh().json()
    assert pair["expires_in"] == 7200
    bob.access_token = pair["access_token"]
    assert bob.post("back").status_code == 201


def test_an_accepted_refresh_whose_answer_is_lost_has_rotated(sandbox: RunningSandbox, alice: XUser) -> None:
    """The caller sees a reset; its refresh token is spent, and using it again kills the family."""
    rule = {"platform": "x", "account": alice.name, "step": "prepare", "kind": "accept_then_reset"}
    sandbox.faults([rule])
    with pytest.raises(requests.exceptions.ConnectionError):
        alice.refresh()
    newest = sandbox.create_account(alice.name, "x")
    assert newest["refresh_token"] != alice.account["refresh_token"]
    assert alice.refresh().json() == INVALID
    alice.access_token = newest["access_token"]
    assert alice.call("GET", "/2/users/me").status_code == 401


def test_a_refresh_survives_a_kill(start_sandbox: Callable[..., RunningSandbox]) -> None:
    """Once answered it is on disk: after a kill the new pair works and the old is spent."""
    sandbox = start_sandbox()
    before = XUser(sandbox.create_account("durable", "x"))
    pair = before.refresh().json()
    sandbox.kill()
    sandbox.start()
    after = XUser(sandbox.create_account("durable", "x"))
    assert (after.access_token, after.account["refresh_token"]) == (
        pair["access_token"],
        pair["refresh_token"],
    )
    assert after.refresh(before.account["refresh_token"]).json() == INVALID


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        ("auth_revoked", 400, "invalid_request"),
        ("validation", 400, "invalid_request"),
        ("rate_limit", 429, None),
        ("refuse_503", 503, None),
        ("refuse_500", 500, None),
        ("permission", 403, None),
    ],
)
def test_faults_strike_a_refresh_before_it_rotates(
    sandbox: RunningSandbox, alice: XUser, kind: str, status: int, error: str | None
) -> None:
    """Refused, and the refresh token is as good as before."""
    sandbox.faults([{"platform": "x", "account": alice.name, "step": "prepare", "kind": kind}])
    answer = alice.refresh()
    assert (answer.status_code, answer.json().get("error")) == (status, error)
    assert alice.refresh().status_code == 200


def test_a_client_must_prove_itself(sandbox: RunningSandbox, alice: XUser) -> None:
    """Wrong or no secret: 401 unauthorized_client. Another app's: the token is not valid, and lives on."""
    form = {"grant_type": "refresh_token", "refresh_token": alice.account["refresh_token"]}
    wrong = alice.token(auth=(alice.account["client_id"], "wrong"), **form)
    assert (wrong.status_code, wrong.json()["error"]) == (401, "unauthorized_client")
    url = f"{alice.base_url}/2/oauth2/token"
    named = {**form, "client_id": alice.account["client_id"]}
    assert requests.post(url, data=named, timeout=REQUEST_SECONDS).status_code == 401
    other = sandbox.control("POST", "/_apps", {"platform": "x"})
    strange = alice.token(auth=(other["client_id"], other["client_secret"]), **form)
    assert (strange.status_code, strange.json()) == (400, INVALID)
    assert alice.refresh().status_code == 200


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({}, "Missing required parameter [grant_type]."),
        ({"grant_type": "password"}, "Unsupported grant type."),
        ({"grant_type": "refresh_token"}, "Missing required parameter [refresh_token]."),
        ({"grant_type": "refresh_token", "refresh_token": "nonsense"}, INVALID["error_description"]),
        ({"grant_type": "authorization_code"}, "Missing required parameter [code]."),
    ],
)
def test_wrong_token_requests_are_told_why(alice: XUser, form: dict[str, str], words: str) -> None:
    """400 with an OAuth error."""
    answer = alice.token(**form)
    assert (answer.status_code, answer.json()["error_description"]) == (400, words)


def test_without_offline_access_there_is_nothing_to_refresh(x_user: MakeUser) -> None:
    """No refresh token is handed out."""
    assert x_user("brief", scopes="tweet.read users.read").account["refresh_token"] is None


def test_a_missing_scope_is_forbidden(x_user: MakeUser) -> None:
    """Reading alone may not post or upload."""
    reader = x_user("reader", scopes="tweet.read users.read")
    assert problem(reader.post("x")) == (403, "Forbidden", "Forbidden")
    assert problem(reader.upload(b"x"))[0] == 403
    assert reader.call("GET", "/2/users/me").status_code == 200


@pytest.mark.parametrize("header", [None, "Bearer nonsense", "Bearer", "Basic abc"])
def test_without_a_token_nothing_is_allowed(alice: XUser, header: str | None) -> None:
    """401 about:blank."""
    headers = {} if header is None else {"Authorization": header}
    answer = requests.get(f"{alice.base_url}/2/users/me", headers=headers, timeout=REQUEST_SECONDS)
    assert problem(answer) == (401, "Unauthorized", "Unauthorized")
    assert answer.json()["type"] == "about:blank"


def test_a_token_can_be_given_back(alice: XUser) -> None:
    """Revoking either token ends both."""
    url = f"{alice.base_url}/2/oauth2/revoke"
    auth = (alice.account["client_id"], alice.account["client_secret"])
    answer = requests.post(url, data={"token": alice.access_token}, auth=auth, timeout=REQUEST_SECONDS)
    assert answer.json() == {"revoked": True}
    assert alice.call("GET", "/2/users/me").status_code == 401
    assert alice.refresh().json() == INVALID


class Flow:
    """An app that sends a person to the consent page."""

    def __init__(self, sandbox: RunningSandbox, **app: Any) -> None:
        self.app = sandbox.control("POST", "/_apps", {"platform": "x", "redirect_uris": [CALLBACK], **app})
        self.url = f"{sandbox.url}/x"
        digest = hashlib.sha256(VERIFIER.encode()).digest()
        self.asked = {
            "response_type": "code",
            "client_id": self.app["client_id"],
            "redirect_uri": CALLBACK,
            "scope": "tweet.read tweet.write users.read offline.access",
            "state": 'st&te"1',
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }

    def page(self, **changes: str | None) -> requests.Response:
        asked = {name: value for name, value in {**self.asked, **changes}.items() if value is not None}
        url = f"{self.url}/i/oauth2/authorize"
        return requests.get(url, params=asked, allow_redirects=False, timeout=REQUEST_SECONDS)

    def decide(self, account: str, decision: str = "authorize") -> dict[str, str]:
        """What comes back to the app in the address."""
        form = {**self.asked, "account": account, "decision": decision}
        url = f"{self.url}/i/oauth2/authorize"
        answer = requests.post(url, data=form, allow_redirects=False, timeout=REQUEST_SECONDS)
        assert answer.status_code == 302
        location = urlsplit(answer.headers["Location"])
        assert answer.headers["Location"].startswith(CALLBACK)
        return {name: values[0] for name, values in parse_qs(location.query).items()}

    def exchange(self, code: str, **changes: str) -> requests.Response:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
        form |= {"code_verifier": VERIFIER, **changes}
        auth = (self.app["client_id"], self.app["client_secret"])
        return requests.post(f"{self.url}/2/oauth2/token", data=form, auth=auth, timeout=REQUEST_SECONDS)


@pytest.fixture
def flow(sandbox: RunningSandbox) -> Flow:
    return Flow(sandbox, name="Planner <b>")


def test_a_person_consents_and_the_app_gets_tokens(flow: Flow, alice: XUser) -> None:
    """The page names app, scopes and accounts; the code, with state, leads to a pair that works."""
    page = flow.page()
    assert page.status_code == 200
    assert "Planner &lt;b&gt;" in page.text
    assert f"@{alice.name}" in page.text
    assert "Stay connected until you revoke access." in page.text
    assert 'st&te"1' in unescape(page.text)
    back = flow.decide(alice.name)
    assert back["state"] == 'st&te"1'
    pair = flow.exchange(back["code"]).json()
    alice.access_token = pair["access_token"]
    assert alice.post("by consent").status_code == 201
    assert problem(alice.upload(b"x"))[0] == 403


def test_a_code_works_once_for_its_app_with_its_proof(
    sandbox: RunningSandbox, flow: Flow, alice: XUser
) -> None:
    """Wrong verifier, address or app: refused and still good. Used: spent."""
    code = flow.decide(alice.name)["code"]
    assert "code verifier" in flow.exchange(code, code_verifier="x" * 43).json()["error_description"]
    wrong_address = flow.exchange(code, redirect_uri="http://127.0.0.1:9/other")
    assert "redirect uri" in wrong_address.json()["error_description"]
    assert Flow(sandbox).exchange(code).status_code == 400
    assert flow.exchange(code).status_code == 200
    spent = flow.exchange(code)
    assert (spent.status_code, spent.json()["error"]) == (400, "invalid_request")


def test_a_code_dies_young(sandbox: RunningSandbox, flow: Flow, alice: XUser) -> None:
    """After code_life_s it is not valid."""
    sandbox.settings("x", code_life_s=0)
    code = flow.decide(alice.name)["code"]
    words = "Value passed for the authorization code was invalid."
    assert flow.exchange(code).json()["error_description"] == words


def test_a_person_may_refuse(flow: Flow, alice: XUser) -> None:
    """The app is told access_denied, and its state."""
    assert flow.decide(alice.name, "cancel") == {"error": "access_denied", "state": 'st&te"1'}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"client_id": "unknown"}, "No app is registered"),
        ({"redirect_uri": "http://127.0.0.1:9/elsewhere"}, "not one of those registered"),
        ({"redirect_uri": None}, "not one of those registered"),
        ({"code_challenge": None}, "code_challenge"),
        ({"code_challenge_method": "plain"}, "code_challenge"),
    ],
)
def test_an_app_that_asks_wrongly_is_refused_on_the_page(
    flow: Flow, changes: dict[str, str | None], words: str
) -> None:
    """The person sees why; nothing is sent to an address that may not be the app's."""
    page = flow.page(**changes)
    assert page.status_code == 400
    assert words in page.text


def test_an_unknown_scope_goes_back_to_the_app(flow: Flow) -> None:
    """invalid_scope in the address."""
    answer = flow.page(scope="tweet.read nonsense")
    assert answer.status_code == 302
    assert "error=invalid_scope" in answer.headers["Location"]


def test_a_public_app_names_itself_in_the_form(sandbox: RunningSandbox, alice: XUser) -> None:
    """No secret is made, and none is asked for."""
    flow = Flow(sandbox, confidential=False)
    assert flow.app["client_secret"] is None
    form = {"grant_type": "authorization_code", "code": flow.decide(alice.name)["code"]}
    form |= {"redirect_uri": CALLBACK, "code_verifier": VERIFIER, "client_id": flow.app["client_id"]}
    answer = requests.post(f"{flow.url}/2/oauth2/token", data=form, timeout=REQUEST_SECONDS)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"platform": "x", "redirect_uris": "http://a"}, "redirect_uris"),
        ({"platform": "x", "redirect_uris": ["nonsense"]}, "redirect_uris"),
        ({"platform": "x", "name": ""}, "name"),
        ({"platform": "x", "confidential": 1}, "confidential"),
        ({"platform": "mastodon"}, "has no apps to register here"),
        ({"platform": "nowhere"}, "platform: must be one of"),
        ([], "must be a JSON object"),
    ],
)
def test_a_wrong_registration_is_refused(sandbox: RunningSandbox, body: Any, words: str) -> None:
    """400 that names the field."""
    answer = requests.post(f"{sandbox.url}/_apps", json=body, timeout=REQUEST_SECONDS)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


@pytest.mark.parametrize(
    "wishes", [{"expires_in": -1}, {"expires_in": "1"}, {"scopes": "nonsense"}, {"client_id": "nobody"}]
)
def test_wrong_wishes_for_an_account_are_refused(sandbox: RunningSandbox, wishes: dict[str, Any]) -> None:
    """400 that names the wish."""
    body = {"platform": "x", "account": "wished", **wishes}
    answer = requests.post(f"{sandbox.url}/_accounts", json=body, timeout=REQUEST_SECONDS)
    assert answer.status_code == 400
    assert next(iter(wishes)) in answer.json()["error"]


def wait_for(condition: Callable[[], bool], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
