"""Instagram accounts that are connected through a Facebook Page: Facebook's login, each Page's account."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from socialq.domain.outcomes import AuthLost, Transient
from socialq.providers.base import AppCredentials, Connection
from socialq.providers.consent import Channel, Granted
from socialq.providers.http import Answer, Call
from socialq.providers.instagram import Instagram

BASE = "https://graph.facebook.com"
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
APP = AppCredentials(client_id="77", client_secret="the-secret")
CONSENT = Instagram.consent
assert CONSENT is not None


class Facebook:
    """Answers by the end of the path, and keeps what it was asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[Call] = []

    def send(self, call: Call, **_: Any) -> Answer:
        self.asked.append(call)
        body = self.answers[call.url.rpartition("/")[2]]
        body = body.pop(0) if isinstance(body, list) and len(body) > 1 else body
        body = body[0] if isinstance(body, list) else body
        return Answer(status=body.pop("_status", 200), body=json.dumps(body).encode())


def granted(**more: Any) -> Granted:
    return Granted(**{"access_token": "long", "scopes": frozenset({"instagram_business_basic"}), **more})


def test_the_dialog_is_facebooks_and_asks_for_pages_too() -> None:
    """With the permissions' names there; the secret stands in no address."""
    address = CONSENT.address(
        app=APP, base_url=BASE, redirect_uri="https://us.example/cb", state="s", code_challenge="c"
    )
    split = urlsplit(address)
    query = parse_qs(split.query)
    assert (split.hostname, query["state"], query["response_type"]) == ("www.facebook.com", ["s"], ["code"])
    assert {"instagram_content_publish", "pages_show_list"} <= set(query["scope"][0].split(","))
    assert "the-secret" not in address


def test_a_code_ends_with_a_login_of_sixty_days_and_what_was_granted() -> None:
    """Permissions are told by the names of Instagram's own login; those that were left out are missing."""
    rows = [
        {"permission": "instagram_basic", "status": "granted"},
        {"permission": "instagram_content_publish", "status": "declined"},
    ]
    facebook = Facebook(
        access_token=[{"access_token": "short"}, {"access_token": "long", "expires_in": 5_184_000}],
        permissions={"data": rows},
    )
    result = CONSENT.exchange(
        facebook,  # type: ignore[arg-type]
        app=APP,
        base_url=BASE,
        code="the-code",
        redirect_uri="https://us.example/cb",
        code_verifier="",
        now=NOW,
    )
    assert isinstance(result, Granted), result
    assert (result.access_token, result.expires_at) == ("long", NOW + timedelta(days=60))
    assert result.scopes == frozenset({"instagram_business_basic"})
    assert all("secret" not in call.url for call in facebook.asked)


def test_each_page_names_its_instagram_account_or_says_that_it_has_none() -> None:
    """All pages of the listing are read; the token is the Page's and never ends."""
    first = {
        "data": [
            {
                "id": "1",
                "name": "Mill",
                "access_token": "page-token",
                "instagram_business_account": {"id": "178", "username": "mill.bakes"},
            }
        ],
        "paging": {"cursors": {"after": "next-one"}, "next": "https://graph.facebook.com/leads-elsewhere"},
    }
    second = {"data": [{"id": "2", "name": "Barn", "access_token": "other"}, "nonsense"]}
    facebook = Facebook(me={"id": "501"}, accounts=[first, second])
    found = CONSENT.channels(facebook, base_url=BASE, granted=granted())  # type: ignore[arg-type]
    assert isinstance(found, list)
    mill, barn = found
    assert isinstance(mill, Channel)
    assert (mill.remote_user_id, mill.name, mill.token, mill.expires_at, mill.problem) == (
        "178",
        "mill.bakes",
        "page-token",
        None,
        None,
    )
    assert "no professional Instagram account" in (barn.problem or "")
    assert dict(facebook.asked[2].params)["after"] == "next-one"
    assert all(call.url.startswith(f"{BASE}/v26.0/me") for call in facebook.asked)
    assert {mill.granted_by, barn.granted_by} == {"501"}


@pytest.mark.parametrize("paging", [{"next": "https://x"}, {"next": 5}, "odd", {"next": "x", "cursors": {}}])
def test_a_list_of_pages_that_can_not_be_read_to_its_end_is_told(paging: Any) -> None:
    """A Page that is missing from the choice would be taken for one that was not allowed."""
    facebook = Facebook(me={"id": "501"}, accounts={"data": [{"id": "1"}], "paging": paging})
    found = CONSENT.channels(facebook, base_url=BASE, granted=granted())  # type: ignore[arg-type]
    assert isinstance(found, Transient)


def test_a_lost_login_is_told() -> None:
    """Neither an empty list nor a crash."""
    lost = {"_status": 400, "error": {"code": 190, "message": "Session has expired"}}
    facebook = Facebook(me=lost, accounts=lost)
    assert isinstance(CONSENT.channels(facebook, base_url=BASE, granted=granted()), AuthLost)  # type: ignore[arg-type]


def test_an_account_of_a_page_is_asked_for_by_its_number() -> None:
    """`me` would be the Page there."""
    facebook = Facebook(**{"178": {"id": "178", "username": "mill.bakes", "name": "The Mill"}})
    result = Instagram().connect(facebook, base_url=BASE, token="page-token", remote_user_id="178")  # type: ignore[arg-type]
    assert isinstance(result, Connection)
    assert (result.handle, result.remote_user_id, result.display_name) == ("mill.bakes", "178", "The Mill")
    assert facebook.asked[0].url == f"{BASE}/v26.0/178"
