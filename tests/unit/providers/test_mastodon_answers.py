"""Tests of how Mastodon's answers become outcomes."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from socialq.domain import outcomes
from socialq.domain.outcomes import Accepted, RateLimited, Rejected, Transient
from socialq.providers.base import Part
from socialq.providers.http import Answer, Headers
from socialq.providers.mastodon import Mastodon
from socialq.providers.mastodon.answers import read_failure

PART = Part(number=1, text="hello", key="k")


def answer(status: int, body: object = None, **headers: str) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Answer(status=status, body=raw, headers=Headers(pairs))


def read(given: Answer) -> outcomes.PublishOutcome:
    return Mastodon().read_publish(given, PART)


@pytest.mark.parametrize(
    ("status", "body", "publish", "otherwise"),
    [
        (200, b"", "Unknown", "Transient"),
        (200, b"<html>", "Unknown", "Transient"),
        (200, {}, "Unknown", "Transient"),
        (200, {"id": ""}, "Unknown", "Transient"),
        (200, {"id": None}, "Unknown", "Transient"),
        (200, [{"id": "1"}], "Unknown", "Transient"),
        (204, b"", "Unknown", "Transient"),
        (301, b"", "Transient", "Transient"),
        (302, b"", "Transient", "Transient"),
        (303, b"", "Unknown", "Transient"),
        (400, {"error": "Bad Request: too long"}, "Rejected", "Rejected"),
        (401, {"error": "The access token is invalid"}, "AuthLost", "AuthLost"),
        (403, {"error": "This action is outside the authorized scopes"}, "PermissionLost", "PermissionLost"),
        (403, b"<html>blocked</html>", "Transient", "Transient"),
        (404, {"error": "Record not found"}, "Rejected", "Rejected"),
        (408, b"", "Unknown", "Transient"),
        (410, b"", "Rejected", "Rejected"),
        (413, b"", "Rejected", "Rejected"),
        (422, {"error": "Validation failed: Text can't be blank"}, "Rejected", "Rejected"),
        (
            422,
            {"error": "Cannot attach files that have not finished processing. Try again"},
            "Transient",
            "Transient",
        ),
        (400, {"error": "Bad Request: files not finished processing"}, "Transient", "Transient"),
        (422, {"error": {"text": "not finished processing"}}, "Rejected", "Rejected"),
        (422, b"not finished processing", "Rejected", "Rejected"),
        (422, {"error": "Duplicate record"}, "Duplicate", "Rejected"),
        (429, {"error": "Too many requests"}, "RateLimited", "RateLimited"),
        (500, {"id": "1"}, "Unknown", "Transient"),
        (502, b"", "Unknown", "Transient"),
        (503, {"error": "There was a temporary problem"}, "Unknown", "Transient"),
        (599, b"", "Unknown", "Transient"),
        (799, b"", "Unknown", "Transient"),
    ],
)
def test_each_answer_has_one_outcome(status: int, body: object, publish: str, otherwise: str) -> None:
    """By status and parsed JSON, on the publish step and on all others."""
    given = answer(status, body)
    assert type(read(given)).__name__ == publish
    assert type(read_failure(given)).__name__ == otherwise


def test_an_accepted_post_has_id_link_and_time() -> None:
    """Taken from the status; a missing link or odd time costs nothing."""
    body = {"id": "114", "url": "https://m.example/@a/114", "created_at": "2026-11-30T18:05:00.123Z"}
    outcome = read(answer(200, body, X_Request_Id="req-1"))
    assert isinstance(outcome, Accepted)
    assert (outcome.remote_id, outcome.permalink) == ("114", "https://m.example/@a/114")
    assert outcome.accepted_at == datetime(2026, 11, 30, 18, 5, 0, 123000, tzinfo=UTC)
    assert outcome.evidence.request_id == "req-1"
    bare = read(answer(200, {"id": 115, "url": "javascript:alert(1)", "created_at": "soon"}))
    assert isinstance(bare, Accepted)
    assert (bare.remote_id, bare.permalink, bare.accepted_at) == ("115", None, None)


@pytest.mark.parametrize("status", [401, 403, 404, 422, 429, 500])
def test_digits_in_a_body_decide_nothing(status: int) -> None:
    """An id that contains 401 or 422 classifies no answer: the status does."""
    plain = read(answer(status, {"error": "no"}))
    full_of_numbers = read(answer(status, {"error": "no", "id": "401403404422429500200"}))
    assert type(plain) is type(full_of_numbers)


def test_a_rate_limit_waits_by_the_servers_own_clock() -> None:
    """The reset is measured against the answer's Date, so a skewed server asks for what it means."""
    headers = {"Date": "Mon, 30 Nov 2020 12:00:00 GMT", "X_RateLimit_Reset": "2020-11-30T12:03:00.000000Z"}
    outcome = read(answer(429, {"error": "Too many requests"}, **headers))
    assert isinstance(outcome, RateLimited)
    assert outcome.retry_after_seconds == 181


def test_evidence_is_redacted_and_short() -> None:
    """What the platform said is kept within 500 characters, without anything like a token."""
    said = "Bearer abcdef12345 access_token=xyz987 " + "long " * 300
    outcome = read(answer(422, {"error": said}))
    assert isinstance(outcome, Rejected)
    assert len(outcome.evidence.message) == 500
    assert "abcdef" not in outcome.evidence.message
    assert "xyz987" not in outcome.evidence.message
    assert outcome.evidence.code == "mastodon.validation"


def test_an_unreadable_success_keeps_no_body() -> None:
    """A 2xx without an id may hold the post's text, so the evidence only says how long it was."""
    outcome = read(answer(200, {"content": "secret draft"}))
    assert isinstance(outcome, outcomes.Unknown)
    assert "secret draft" not in outcome.evidence.message


def test_a_redirect_says_where_to_without_its_query() -> None:
    """The host helps a person to correct the address; a query might hold a secret."""
    outcome = read(answer(301, b"", Location="https://new.example/x?token=abc"))
    assert isinstance(outcome, Transient)
    assert "new.example" in outcome.evidence.message
    assert "abc" not in outcome.evidence.message


@pytest.mark.parametrize(("remaining", "wait"), [("0", 91.0), ("1", None), ("", None), (None, None)])
def test_a_good_answer_tells_that_it_was_the_last_of_its_window(remaining: str | None, wait: float | None):
    """Only a plain 0 counts; the wait is until the ISO reset, by the server's own clock."""
    headers = {} if remaining is None else {"x_ratelimit_remaining": remaining}
    headers |= {"date": "Mon, 30 Nov 2026 18:00:00 GMT", "x_ratelimit_reset": "2026-11-30T18:01:30.000000Z"}
    told = Mastodon().usage(answer(200, {"id": "1"}, **headers))
    assert (None if told is None else told.retry_after_seconds) == wait
