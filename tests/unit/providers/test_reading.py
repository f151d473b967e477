"""Tests of reading one post by its id, on scripted answers of every platform."""

from __future__ import annotations

from typing import Any

import pytest

from socialq.domain.outcomes import CannotTell, NotStanding, Standing
from socialq.providers.base import AccountAccess, Adapter
from socialq.providers.http import NetworkFailure
from socialq.providers.registry import adapter_for
from tests.unit.providers.graph.script import Script, answer, error

ACCOUNTS = {
    "mastodon": ("https://social.example", "ann@social.example", "7"),
    "x": ("https://api.x.example", "ann", "7"),
    "bluesky": ("https://pds.example", "ann.example", "did:plc:ann"),
    "linkedin": ("https://api.linkedin.com", "mill", "urn:li:organization:7"),
    "facebook": ("https://graph.facebook.com", "mill", "7"),
    "instagram": ("https://graph.instagram.com", "ann", "7"),
    "threads": ("https://graph.threads.net", "ann", "7"),
}
IDS = {"bluesky": "at://did:plc:ann/app.bsky.feed.post/3kabc", "linkedin": "urn:li:share:9"}
LOST = NetworkFailure(kind="reset", sent=True)
GONE = answer(400, error(100, 33))
NO_POST = {
    "errors": [{"title": "Not Found Error", "type": "https://api.twitter.com/2/problems/resource-not-found"}]
}
RECORD = {"uri": IDS["bluesky"], "cid": "b" + "a" * 40, "value": {"text": "Hello"}}


def read(platform: str, *answers: Any, remote_id: str | None = None, **more: Any) -> tuple[Any, Script]:
    base_url, handle, number = ACCOUNTS[platform]
    account = AccountAccess(
        account_id="a",
        platform=platform,
        **{
            "base_url": base_url,
            "handle": handle,
            "remote_user_id": number,
            "token": "s3cret",
            "scopes": frozenset({"r_organization_social"}),
            **more,
        },
    )
    script = Script(*answers)
    which = remote_id or IDS.get(platform, "9")
    return adapter_for(platform).read_post(script.http, account, remote_id=which), script


@pytest.mark.parametrize(
    ("platform", "body"),
    [
        ("mastodon", {"id": "9", "account": {"id": "7"}}),
        ("x", {"data": {"id": "9", "author_id": "7"}}),
        ("bluesky", RECORD),
        (
            "linkedin",
            {"id": "urn:li:share:9", "author": "urn:li:organization:7", "lifecycleState": "PUBLISHED"},
        ),
        ("facebook", {"id": "9", "from": {"id": "7", "name": "Mill"}}),
        ("instagram", {"id": "9", "owner": {"id": "7"}}),
        ("instagram", {"id": "9", "username": "Ann", "owner": {"id": "1784"}}),
        ("threads", {"id": "9", "username": "ann"}),
    ],
)
def test_what_is_there_and_of_the_account_stands(platform: str, body: Any) -> None:
    """One request is enough, and the token stands in its header alone."""
    reading, script = read(platform, answer(200, body))
    assert reading == Standing()
    [call] = script.calls
    assert call.method == "GET"
    assert "s3cret" not in call.url + str(call.params)


@pytest.mark.parametrize(
    ("platform", "answers", "said"),
    [
        ("mastodon", [answer(404, {"error": "Record not found"})], "names no post"),
        ("mastodon", [answer(200, {"id": "9", "account": {"id": "8"}})], "another account"),
        (
            "mastodon",
            [answer(200, {"id": "9", "account": {"id": "7"}, "reblog": {"account": {"id": "8"}}})],
            "another account",
        ),
        ("x", [answer(200, NO_POST)], "names no post"),
        ("x", [answer(404, {"title": "Not Found", "detail": "no such post"})], "names no post"),
        ("x", [answer(200, {"data": {"id": "9", "author_id": "8"}})], "another account"),
        ("bluesky", [answer(400, {"error": "RecordNotFound", "message": "none"})], "names no post"),
        ("linkedin", [answer(404, {"status": 404, "code": "NOT_FOUND", "message": "none"})], "names no post"),
        (
            "linkedin",
            [answer(200, {"id": "urn:li:share:9", "author": "urn:li:organization:8"})],
            "another account",
        ),
        (
            "linkedin",
            [
                answer(
                    200,
                    {"id": "urn:li:share:9", "author": "urn:li:organization:7", "lifecycleState": "DRAFT"},
                )
            ],
            "not public",
        ),
        ("facebook", [GONE, answer(200, {"data": [{"id": "8"}]})], "names no post"),
        ("facebook", [answer(200, {"id": "9", "from": {"id": "8"}})], "another account"),
        ("instagram", [GONE, answer(200, {"data": [{"id": "8"}]})], "names no post"),
        ("threads", [GONE, answer(200, {"data": [{"id": "8"}]})], "names no post"),
        ("threads", [answer(200, {"id": "9", "username": "bob", "owner": {"id": "8"}})], "a post of bob"),
    ],
)
def test_what_is_not_there_or_anothers_is_refuted(platform: str, answers: Any, said: str) -> None:
    """By the platform's own word only."""
    reading, _ = read(platform, *answers)
    assert isinstance(reading, NotStanding)
    assert said in reading.problem


@pytest.mark.parametrize("platform", ACCOUNTS)
@pytest.mark.parametrize(
    "given",
    [
        LOST,
        answer(503, b"busy"),
        answer(401, {"error": "no"}),
        answer(404, b"<html>a proxy"),
        answer(200, {}),
    ],
)
def test_what_can_not_be_read_refutes_nothing(platform: str, given: Any) -> None:
    """A platform that is away, a token that is over, a page of something in between."""
    reading, _ = read(platform, given)
    assert isinstance(reading, CannotTell)
    assert "s3cret" not in repr(reading)


@pytest.mark.parametrize(
    ("platform", "answers"),
    [
        ("mastodon", [answer(200, {"id": "9"})]),
        ("x", [answer(200, {"data": {"id": "9"}})]),
        ("facebook", [answer(200, {"id": "9"})]),
        ("instagram", [answer(200, {"id": "9", "owner": {"id": "8"}})]),
        ("instagram", [GONE, answer(400, error(10))]),
        ("facebook", [GONE, LOST]),
        ("threads", [GONE, answer(200, {"data": []})]),
    ],
)
def test_an_author_who_is_not_told_refutes_nothing(platform: str, answers: Any) -> None:
    """Nor does a post that is not found while the account's own can't be listed."""
    assert isinstance(read(platform, *answers)[0], CannotTell)


def test_what_stands_in_the_accounts_own_listing_stands() -> None:
    """One of Meta's machines may not have seen it yet."""
    reading, _ = read("facebook", GONE, answer(200, {"data": [{"id": "9"}]}))
    assert reading == Standing()


@pytest.mark.parametrize(
    "who", [{"remote_user_id": "urn:li:person:ab"}, {"scopes": frozenset({"w_organization_social"})}]
)
def test_linkedin_is_not_asked_where_nobody_may_read(who: dict[str, Any]) -> None:
    """A person's posts, and an organisation's without the permission."""
    reading, script = read("linkedin", answer(500), **who)
    assert isinstance(reading, CannotTell)
    assert "lets nobody read" in reading.failure.evidence.message
    assert script.calls == []


def test_a_record_of_another_repository_is_not_asked_for() -> None:
    """Its address says whose it is."""
    reading, script = read("bluesky", answer(500), remote_id="at://did:plc:bob/app.bsky.feed.post/3kabc")
    assert isinstance(reading, NotStanding)
    assert script.calls == []


def test_a_platform_without_such_a_reading_can_not_tell() -> None:
    """Nothing is asked, and a person's word is all there is."""
    script = Script(answer(500))
    reading = Adapter.read_post(adapter_for("x"), script.http, None, remote_id="9")  # type: ignore[arg-type]
    assert isinstance(reading, CannotTell)
    assert script.calls == []
