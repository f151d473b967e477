"""Mastodon's consent and takedown on scripted answers: what each comes to, and that nothing empty is a grant."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from socialq.domain.outcomes import AuthLost, Ours, PermissionLost, TakenDown, Transient, Unknown
from socialq.providers.base import AppCredentials
from socialq.providers.consent import Channel, Granted
from socialq.providers.http import NetworkFailure
from socialq.providers.mastodon import Mastodon
from socialq.providers.mastodon.consent import MastodonConsent
from tests.unit.providers.test_mastodon_steps import ACCOUNT, Script, answer

BASE = ACCOUNT.base_url
APP = AppCredentials(client_id="cid", client_secret="s3cret-of-the-app")
CODE, VERIFIER, BACK = "c0de-of-the-person", "v3rifier", "https://posts.example/cb"
NOW = datetime(2026, 11, 30, tzinfo=UTC)
GRANT = {"access_token": "new-token", "token_type": "Bearer", "scope": "write:statuses", "created_at": 1}
LOST = NetworkFailure(kind="read_timeout", sent=True, detail="no answer")


def exchange(script: Script) -> Any:
    return MastodonConsent().exchange(
        script.http, app=APP, base_url=BASE, code=CODE, redirect_uri=BACK, code_verifier=VERIFIER, now=NOW
    )


def test_an_application_registers_for_one_address_and_the_scopes_it_will_ask_for():
    """Id and secret come back; nothing else is needed of a person."""
    script = Script(answer(200, {"client_id": "cid", "client_secret": "sec", "name": "socialq"}))
    made = MastodonConsent().register(script.http, base_url=BASE, redirect_uri=BACK)
    assert made == AppCredentials(client_id="cid", client_secret="sec")
    assert script.calls[0].url == f"{BASE}/api/v1/apps"
    assert dict(script.calls[0].form or ())["redirect_uris"] == BACK
    assert set(dict(script.calls[0].form or ())["scopes"].split()) == set(MastodonConsent.scopes)


@pytest.mark.parametrize("body", [{}, {"client_id": "cid"}, {"client_id": 1, "client_secret": "s"}])
def test_a_registration_without_id_or_secret_is_none(body: dict[str, Any]):
    """A 200 that holds neither says nothing."""
    script = Script(answer(200, body))
    assert isinstance(MastodonConsent().register(script.http, base_url=BASE, redirect_uri=BACK), Transient)


def test_the_address_has_state_and_challenge():
    """And what publishing needs; the secret is not in it."""
    address = MastodonConsent().address(
        app=APP, base_url=BASE, redirect_uri=BACK, state="st&te", code_challenge="ch"
    )
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert address.startswith(f"{BASE}/oauth/authorize?")
    assert (asked["state"], asked["code_challenge"], asked["code_challenge_method"]) == (
        "st&te",
        "ch",
        "S256",
    )
    assert Mastodon.required_scopes <= set(asked["scope"].split())
    assert APP.client_secret not in address


def test_a_code_becomes_a_token_that_does_not_end():
    """With the scopes that were granted, not those that were asked for."""
    script = Script(answer(200, GRANT))
    assert exchange(script) == Granted(access_token="new-token", scopes=frozenset({"write:statuses"}))
    assert dict(script.calls[0].form or ())["code_verifier"] == VERIFIER


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (answer(200, {}), Transient),
        (answer(200, {**GRANT, "access_token": "  "}), Transient),
        (answer(400, {"error": "invalid_grant", "error_description": f"code {CODE} is spent"}), AuthLost),
        (answer(401, {"error": "invalid_client"}), Ours),
        (answer(503, {}), Transient),
        (LOST, Transient),
    ],
)
def test_what_is_no_token_is_no_grant(given: Any, kind: type):
    """A refused code, a refused application, an empty token, a lost answer: each its own, without a secret."""
    failure = exchange(Script(given))
    assert isinstance(failure, kind)
    assert all(secret not in repr(failure) for secret in (CODE, VERIFIER, APP.client_secret))


def test_the_grant_serves_one_profile():
    """Named as people know it, with the grant's own token."""
    script = Script(answer(200, {"id": "7", "username": "ada"}))
    found = MastodonConsent().channels(script.http, base_url=BASE, granted=Granted(access_token="tok"))
    assert found == [Channel(remote_user_id="7", name="@ada", kind="profile", token="tok")]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (answer(200, {"id": "1", "text": "x"}), TakenDown),
        (answer(404, {"error": "Record not found"}), TakenDown),
        (answer(410, {"error": "gone"}), TakenDown),
        (answer(404, {}), Unknown),
        (answer(404, ["error"]), Unknown),
        (answer(408, {}), Unknown),
        (answer(503, {"error": "busy"}), Unknown),
        (answer(200, {}), Unknown),
        (answer(502, {}), Unknown),
        (answer(401, {"error": "revoked"}), AuthLost),
        (answer(403, {"error": "no"}), PermissionLost),
    ],
)
def test_a_takedown_is_done_when_the_api_says_so(given: Any, kind: type):
    """Gone already counts; a page that is not the API's own 404 does not."""
    assert isinstance(Mastodon().read_takedown(given), kind)


def test_a_takedown_deletes_the_one_status():
    """By its id, with the account's token."""
    call = Mastodon().takedown_call(ACCOUNT, remote_id="17")
    assert call is not None
    assert (call.method, call.url) == ("DELETE", f"{BASE}/api/v1/statuses/17")
