"""Tests of the look on X, of connecting and of the publish call, on scripted answers."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialq.domain.clock import ManualClock
from socialq.domain.outcomes import (
    Absent,
    AuthLost,
    CannotTell,
    Found,
    Ours,
    RateLimited,
    Rejected,
    Transient,
)
from socialq.providers.base import AppCredentials, Connection, Part
from socialq.providers.http import NetworkFailure
from socialq.providers.registry import adapter_for
from socialq.providers.x import X
from tests.unit.providers.x.script import ACCOUNT, NOW, NOW_HEADER, Script, answer, problem

if TYPE_CHECKING:
    from socialq.domain.outcomes import LookResult
    from socialq.providers.http import Answer

PART = Part(number=1, text="hello", key="k")
REPLY = replace(PART, number=3, parent_id="55", root_id="50")
REFUSED = answer(400, problem(400, "invalid", title="Invalid Request"), Date=NOW_HEADER)


def post(
    post_id: str, *, minutes: float = 0, text: str = "hello", reply_to: str | None = None, **more: Any
) -> Any:
    created = (NOW + timedelta(minutes=minutes)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    references = [] if reply_to is None else [{"type": "replied_to", "id": reply_to}]
    shown = {"id": post_id, "text": text, "created_at": created, "edit_history_tweet_ids": [post_id]}
    return shown | ({"referenced_tweets": references} if references else {}) | more


def listing(*posts: Any, token: str | None = None, date: str = NOW_HEADER, **more: Any) -> Answer:
    meta: dict[str, Any] = {"result_count": len(posts)} | ({"next_token": token} if token else {})
    body: dict[str, Any] = {"meta": meta} | ({"data": list(posts)} if posts else {}) | more
    return answer(200, body, Date=date)


def look(script: Script, part: Part = PART, *, sent_after: datetime = NOW) -> LookResult:
    adapter = X(clock=ManualClock(NOW))
    return adapter.look(
        script.http, ACCOUNT, part, sent_after=sent_after, claimed_ids=frozenset({"77"}), prepared={}
    )


def found(result: LookResult) -> str | None:
    return result.remote_id if isinstance(result, Found) else None


def test_one_request_asks_for_what_is_needed_from_the_window_on() -> None:
    """The account's own posts since two minutes before the mark, with all that undoing needs."""
    script = Script(listing(post("1")))
    result = look(script, sent_after=NOW - timedelta(minutes=5))
    assert result == Found(remote_id="1", permalink="https://x.com/i/web/status/1", created_at=NOW)
    assert script.asked() == ["GET /2/users/7/tweets"]
    params = dict(script.calls[0].params)
    assert params["start_time"] == "2026-11-30T17:52:59Z"
    assert (params["max_results"], params["exclude"]) == ("100", "retweets")
    assert {"created_at", "entities", "note_tweet", "referenced_tweets", "attachments"} <= set(
        params["tweet.fields"].split(",")
    )


def test_an_empty_listing_is_absence() -> None:
    """X leaves `data` out where there is nothing."""
    assert look(Script(listing())) == Absent(examined=0)


def test_only_the_part_itself_is_found() -> None:
    """Other words, files, parents, times and claims are passed over."""
    script = Script(
        listing(
            post("1", text="other"),
            post("2", attachments={"media_keys": ["3_1"]}),
            post("3", reply_to="55"),
            post("77"),
            post("5", minutes=-3),
        )
    )
    assert look(script) == Absent(examined=4)


def test_the_oldest_since_the_mark_is_taken_before_what_is_older() -> None:
    """Two that match: the one after the mark wins; seconds that X cuts off don't matter."""
    script = Script(listing(post("3", minutes=1), post("2", minutes=-0.01), post("1", minutes=-1)))
    assert found(look(script)) == "2"


@pytest.mark.parametrize(
    ("part", "more", "expected"),
    [
        (REPLY, {"reply_to": "55"}, True),
        (REPLY, {"reply_to": "50"}, False),
        (REPLY, {"conversation_id": "50"}, True),
        (REPLY, {"conversation_id": "51"}, False),
        (REPLY, {}, False),
        (PART, {"conversation_id": "1"}, True),
        (PART, {"conversation_id": "50"}, False),
        (PART, {"referenced_tweets": [{"type": "quoted", "id": "4"}]}, True),
    ],
)
def test_a_part_is_found_in_its_place_of_the_thread_only(
    part: Part, more: dict[str, Any], expected: bool
) -> None:
    """By the post replied to; where X does not tell that, by the conversation."""
    assert (found(look(Script(listing(post("1", **more))), part)) == "1") is expected


def test_the_newer_name_of_the_fields_is_used_where_the_older_is_refused() -> None:
    """And kept for the pages that follow; a parent that X does not tell excludes nothing then."""
    script = Script(REFUSED, listing(post("2", text="x"), token="t2"), listing(post("1")))
    assert found(look(script, REPLY)) == "1"
    names = [next(name for name, _ in call.params if name.endswith(".fields")) for call in script.calls]
    assert names == ["tweet.fields", "post.fields", "post.fields"]
    assert ("pagination_token", "t2") in script.calls[2].params


def test_an_x_whose_clock_is_behind_is_asked_again_from_earlier() -> None:
    """Its Date header tells; otherwise its posts would seem older than the window, and absence false."""
    behind = "Mon, 30 Nov 2026 17:00:00 GMT"
    script = Script(listing(date=behind), listing(post("1", minutes=-60), date=behind))
    assert found(look(script)) == "1"
    assert dict(script.calls[1].params)["start_time"] == "2026-11-30T16:57:59Z"
    refused = answer(400, problem(400, "'start_time' must be earlier"), Date=behind)
    assert found(look(Script(refused, refused, listing(post("1", minutes=-60), date=behind)))) == "1"


def test_a_mark_that_lies_ahead_is_not_asked_for_in_the_future() -> None:
    """X refuses a start in its future: an earlier one is sent, and what is too old is left out here."""
    script = Script(listing(post("1")))
    assert look(script, sent_after=NOW + timedelta(minutes=10)) == Absent(examined=0)
    assert dict(script.calls[0].params)["start_time"] == "2026-11-30T17:57:59Z"


def test_an_endless_listing_proves_nothing() -> None:
    """When the bound of pages is reached the look can't tell."""
    script = Script(listing(post("1", text="other"), token="more"))
    result = look(script)
    assert isinstance(result, CannotTell)
    assert result.failure.evidence.code == "x.look_too_far"
    assert len(script.calls) == 10


@pytest.mark.parametrize(
    ("given_answer", "failure"),
    [
        (answer(401, b""), AuthLost),
        (answer(402, b""), Ours),
        (answer(429, b""), RateLimited),
        (answer(500, b""), Transient),
        (answer(200, b""), Transient),
        (answer(200, {"error": "x"}), Transient),
        (answer(200, {"data": "x", "meta": {}}), Transient),
        (answer(200, {"data": [], "meta": {"result_count": 1}}), Transient),
        (listing({"id": "1", "text": "hello"}), Transient),
        (listing({"id": "x1", "text": "hello", "created_at": "2026-11-30T18:00:00Z"}), Transient),
        (listing(post("1") | {"created_at": "soon"}), Transient),
        (listing(post("1") | {"text": None}), Transient),
        (listing("hello"), Transient),
        (listing(post("1", text="x"), errors=[{"detail": "some could not be read"}]), Transient),
        (listing(post("1", text="hello https://t.co/A1")), Transient),
        (REFUSED, Rejected),
        (NetworkFailure(kind="reset", sent=True), Transient),
    ],
)
def test_what_can_not_be_read_proves_nothing(given_answer: Answer, failure: type) -> None:
    """Any entry that is missing or unclear might be the part."""
    part = replace(PART, text="hello https://example.com/a")
    result = look(Script(given_answer), part)
    assert isinstance(result, CannotTell), result
    assert isinstance(result.failure, failure)


def test_a_clear_match_counts_although_another_post_is_unclear() -> None:
    """Found is proof; only absence needs everything to be read."""
    part = replace(PART, text="hello https://example.com/a")
    entities = {"urls": [{"url": "https://t.co/B2", "expanded_url": "https://example.com/a"}]}
    script = Script(
        listing(
            post("2", text="hello https://t.co/B2", entities=entities),
            post("1", text="hello https://t.co/A1"),
        )
    )
    assert found(look(script, part)) == "2"


def test_connecting_tells_who_the_account_is() -> None:
    """The handle is the user name; scopes are assumed, and limits are X's own."""
    me = answer(200, {"data": {"id": "7", "name": "Acme Corp", "username": "acme"}})
    script = Script(me)
    connection = X().connect(script.http, base_url=ACCOUNT.base_url, token="tok")
    assert isinstance(connection, Connection)
    assert (connection.handle, connection.remote_user_id, connection.display_name) == (
        "acme",
        "7",
        "Acme Corp",
    )
    assert connection.scopes == X.required_scopes
    assert connection.limits["max_weighted_length"] == 280
    assert script.asked() == ["GET /2/users/me"]


@pytest.mark.parametrize(
    ("given_answer", "failure"),
    [
        (answer(401, b""), AuthLost),
        (answer(403, b"<html>"), Transient),
        (answer(200, b""), Transient),
        (answer(200, {"data": {"id": "seven", "username": "acme"}}), Rejected),
        (answer(200, {"data": {"id": "7"}}), Rejected),
        (NetworkFailure(kind="dns", sent=False), Transient),
    ],
)
def test_connecting_to_what_is_not_x_says_why(given_answer: Answer, failure: type) -> None:
    """A value of the right kind, and nothing raised."""
    assert isinstance(X().connect(Script(given_answer).http, base_url=ACCOUNT.base_url, token="t"), failure)


@pytest.mark.parametrize(
    ("part", "body"),
    [
        (PART, {"text": "hello"}),
        (
            replace(PART, options={"reply_settings": "following", "x": 1}),
            {"text": "hello", "reply_settings": "following"},
        ),
        (replace(PART, options={"reply_settings": ""}), {"text": "hello"}),
        (REPLY, {"text": "hello", "reply": {"in_reply_to_tweet_id": "55"}}),
        (
            replace(REPLY, options={"reply_settings": "verified"}),
            {"text": "hello", "reply": {"in_reply_to_tweet_id": "55"}},
        ),
    ],
)
def test_the_publish_call_says_all_that_was_chosen(part: Part, body: dict[str, Any]) -> None:
    """Text, parent, and who may reply with the first post alone; the token in the header alone."""
    call = X().publish_call(ACCOUNT, part, {})
    assert (call.method, call.url, call.json) == ("POST", "https://api.x.example/2/tweets", body)
    assert call.headers == {"Authorization": "Bearer tok"}
    assert "tok" not in repr(call)


def test_x_is_registered_and_promises_no_deduplication() -> None:
    """A repeat is never harmless there."""
    assert isinstance(adapter_for("x"), X)
    assert not adapter_for("x").promises_deduplication(ACCOUNT)
    assert X.deduplicates is None


_NAMES = st.sampled_from(
    ["data", "id", "errors", "meta", "code", "type", "title", "detail", "message", "error", "text", "created_at",
     "entities", "urls", "url", "expanded_url", "note_tweet", "attachments", "media_keys", "referenced_tweets",
     "processing_info", "state", "access_token", "expires_in", "scope", "result_count", "next_token"]
)  # fmt: skip
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(
        ["1", "hello", "https://t.co/A1", "2026-11-30T18:00:00Z", "failed", "succeeded", "about:blank"]
    )
)
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=5),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(status=st.sampled_from([200, 201, 204, 302, 400, 401, 403, 404, 408, 429, 500, 503]), body=_JSON)
def test_no_answer_raises(status: int, body: object) -> None:
    """Whatever JSON comes, at whatever step, an outcome leaves; and nothing but a 2xx is an acceptance."""
    reply = answer(status, body)
    outcome = X().read_publish(reply, PART)
    assert status < 300 or type(outcome).__name__ != "Accepted"
    assert isinstance(look(Script(reply)), Found | Absent | CannotTell)
    assert not isinstance(X().connect(Script(reply).http, base_url="https://x", token="t"), BaseException)


def test_credentials_are_never_shown() -> None:
    """Neither an application's secret nor a pair of tokens has a repr."""
    assert "s3cret" not in repr(AppCredentials(client_id="c", client_secret="s3cret"))
