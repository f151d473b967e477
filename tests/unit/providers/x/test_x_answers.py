"""Tests of how X's answers become outcomes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.domain.outcomes import Accepted, Ours, RateLimited, Rejected, Transient
from socialq.providers.base import MediaItem, Part
from socialq.providers.x import X
from socialq.providers.x.answers import read_failure
from tests.unit.providers.x.script import NOW, NOW_HEADER, answer, id_at, problem

if TYPE_CHECKING:
    from socialq.domain import outcomes
    from socialq.providers.http import Answer

PART = Part(number=1, text="hello", key="k")
PROBLEMS = "https://api.x.com/2/problems"
BAD_MEDIA = {
    "errors": [{"parameters": {"media.media_ids": ["[1]"]}, "message": "Your media IDs are invalid."}],
    **problem(400, "One or more parameters to your request was invalid.", title="Invalid Request"),
    "type": f"{PROBLEMS}/invalid-request",
}
DUPLICATE = problem(403, "You are not allowed to create a Tweet with duplicate content.")
UNSEEN = problem(403, "You attempted to reply to a Tweet that is deleted or not visible to you.")


def read(given: Answer, part: Part = PART) -> outcomes.PublishOutcome:
    return X().read_publish(given, part)


@pytest.mark.parametrize(
    ("status", "body", "publish", "otherwise"),
    [
        (201, b"", "Unknown", "Transient"),
        (200, {"data": {}}, "Unknown", "Transient"),
        (201, {"data": {"id": "abc"}}, "Unknown", "Transient"),
        (201, {"data": {"id": True}}, "Unknown", "Transient"),
        (201, {"data": [{"id": "1"}]}, "Unknown", "Transient"),
        (201, {"errors": [{"detail": "partial"}]}, "Unknown", "Transient"),
        (204, b"", "Unknown", "Transient"),
        (302, b"", "Transient", "Transient"),
        (303, b"", "Unknown", "Transient"),
        (400, {"errors": [{"message": "x"}], "title": "Invalid Request"}, "Rejected", "Rejected"),
        (400, BAD_MEDIA, "Rejected", "Rejected"),
        (400, b"<html>", "Rejected", "Rejected"),
        (401, problem(401, "Unauthorized", title="Unauthorized"), "AuthLost", "AuthLost"),
        (401, b"", "AuthLost", "AuthLost"),
        (402, {"title": "CreditsDepleted", "detail": "Your credits are depleted."}, "Ours", "Ours"),
        (402, b"", "Ours", "Ours"),
        (403, DUPLICATE, "Duplicate", "Rejected"),
        (403, {"errors": [{"code": 187, "message": "Status is a duplicate."}]}, "Duplicate", "Rejected"),
        (403, problem(403, "You are not permitted to perform this action."), "Rejected", "PermissionLost"),
        (
            403,
            problem(403, "Your account is suspended and is not permitted to access this."),
            "AuthLost",
            "AuthLost",
        ),
        (403, problem(403, "User has been suspended."), "AuthLost", "AuthLost"),
        (403, {"errors": [{"code": 63, "message": "Log in to x.com"}]}, "AuthLost", "AuthLost"),
        (403, {"errors": [{"code": 64, "message": "Log in to x.com"}]}, "AuthLost", "AuthLost"),
        (
            403,
            problem(403, "To protect our users, this account is temporarily locked."),
            "AuthLost",
            "AuthLost",
        ),
        (403, {"errors": [{"code": 326, "message": "Log in to x.com"}]}, "AuthLost", "AuthLost"),
        (403, problem(403, "When authenticating", kind=f"{PROBLEMS}/client-forbidden"), "Ours", "Ours"),
        (403, {"reason": "client-not-enrolled", "detail": "Appropriate Level of API Access"}, "Ours", "Ours"),
        (403, problem(403, "x", kind=f"{PROBLEMS}/unsupported-authentication"), "Ours", "Ours"),
        (403, problem(403, "x", kind=f"{PROBLEMS}/oauth1-permissions"), "Ours", "Ours"),
        (403, problem(403, "Forbidden"), "PermissionLost", "PermissionLost"),
        (403, problem(403, "Missing scope tweet.write"), "PermissionLost", "PermissionLost"),
        (
            403,
            problem(403, "x", kind=f"{PROBLEMS}/not-authorized-for-resource"),
            "PermissionLost",
            "PermissionLost",
        ),
        (403, problem(403, "Reply to this conversation is not allowed"), "Rejected", "PermissionLost"),
        (403, UNSEEN, "Rejected", "Rejected"),
        (403, b"<html>blocked</html>", "Transient", "Transient"),
        (404, problem(404, "Not Found", title="Not Found"), "Rejected", "Rejected"),
        (408, b"", "Unknown", "Transient"),
        (409, problem(409, "Conflict"), "Rejected", "Rejected"),
        (410, b"", "Ours", "Ours"),
        (413, b"", "Rejected", "Rejected"),
        (425, b"", "Transient", "Transient"),
        (429, problem(429, "Too Many Requests", title="Too Many Requests"), "RateLimited", "RateLimited"),
        (429, problem(429, "x", kind=f"{PROBLEMS}/usage-capped", title="UsageCapExceeded"), "Ours", "Ours"),
        (500, {"data": {"id": "1"}}, "Unknown", "Transient"),
        (502, b"", "Unknown", "Transient"),
        (503, problem(503, "Service Unavailable"), "Unknown", "Transient"),
        (799, b"", "Unknown", "Transient"),
    ],
)
def test_each_answer_has_one_outcome(status: int, body: object, publish: str, otherwise: str) -> None:
    """By status and parsed problem, on the publish step and on all others."""
    given = answer(status, body)
    assert type(read(given)).__name__ == publish
    assert type(read_failure(given)).__name__ == otherwise


def test_an_accepted_post_has_id_link_and_time() -> None:
    """The id itself tells when it was given out; where it tells nonsense, the answer's date stands in."""
    post = id_at(NOW + timedelta(milliseconds=-250))
    outcome = read(
        answer(201, {"data": {"id": post, "text": "hello"}}, Date=NOW_HEADER, X_Transaction_Id="t-1")
    )
    assert isinstance(outcome, Accepted)
    assert (outcome.remote_id, outcome.permalink) == (post, f"https://x.com/i/web/status/{post}")
    assert outcome.accepted_at == NOW - timedelta(milliseconds=250)
    assert outcome.evidence.request_id == "t-1"
    small = read(answer(201, {"data": {"id": 12, "text": "hello"}}, Date=NOW_HEADER))
    assert isinstance(small, Accepted)
    assert (small.remote_id, small.accepted_at) == ("12", NOW)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_digits_and_words_outside_of_a_problem_decide_nothing(status: int) -> None:
    """An id with 187 in it and a text about duplicate content classify no answer."""
    plain = read(answer(status, {"detail": "no"}))
    echo = {"detail": "no", "id": "187326402429", "text": "duplicate content; account suspended", "type": 187}
    assert type(read(answer(status, echo))) is type(plain)


@pytest.mark.parametrize(("age_seconds", "expected"), [(3, Transient), (110, Transient), (130, Rejected)])
def test_a_reply_to_a_post_of_a_moment_ago_is_tried_again(age_seconds: int, expected: type) -> None:
    """X may not see its newest posts everywhere; the parent's own id tells whether it is that new."""
    part = replace(PART, number=2, parent_id=id_at(NOW - timedelta(seconds=age_seconds)))
    outcome = read(answer(403, UNSEEN, Date=NOW_HEADER), part)
    assert isinstance(outcome, expected)
    if isinstance(outcome, Transient):
        assert outcome.retry_after_seconds == 5.0
        assert outcome.spends_budget


def test_files_that_x_does_not_see_yet_are_tried_again_within_the_budget() -> None:
    """A 400 for a media id that X gave out within hours; without files it is a refusal."""
    item = MediaItem(media_id="m", mime_type="image/png", byte_size=1, alt_text="", open=lambda: None)  # type: ignore[arg-type,return-value]
    outcome = read(answer(400, BAD_MEDIA), replace(PART, media=(item,)))
    assert isinstance(outcome, Transient)
    assert (outcome.retry_after_seconds, outcome.spends_budget) == (5.0, True)
    assert isinstance(read(answer(400, BAD_MEDIA)), Rejected)


RESET_IN_77 = str(int(NOW.timestamp()) + 77)


@pytest.mark.parametrize(
    ("headers", "seconds", "scope"),
    [
        ({}, 300, "account"),
        ({"x_rate_limit_remaining": "0", "x_rate_limit_reset": RESET_IN_77}, 78, "account"),
        ({"x_rate_limit_reset": RESET_IN_77}, 78, "account"),
        ({"x_rate_limit_remaining": "0", "x_rate_limit_reset": "0"}, 1, "account"),
        ({"x_rate_limit_remaining": "0", "x_rate_limit_reset": "99999999999999"}, 300, "account"),
        ({"x_rate_limit_remaining": "0", "x_rate_limit_reset": "99999999999"}, 86400, "account"),
        ({"x_rate_limit_remaining": "0", "x_rate_limit_reset": "soon"}, 300, "account"),
        ({"x_rate_limit_remaining": "42", "x_rate_limit_reset": RESET_IN_77}, 3600, "app"),
        ({"x_rate_limit_remaining": "42", "retry_after": "7200"}, 7200, "app"),
        ({"retry_after": "30"}, 30, "account"),
        (
            {
                "x_rate_limit_remaining": "0",
                "x_rate_limit_reset": RESET_IN_77,
                "x_app_limit_24hour_remaining": "0",
                "x_app_limit_24hour_reset": str(int(NOW.timestamp()) + 5000),
            },
            5001,
            "app",
        ),
        (
            {
                "x_rate_limit_remaining": "9",
                "x_user_limit_24hour_remaining": "0",
                "x_user_limit_24hour_reset": str(int(NOW.timestamp()) + 5000),
            },
            5001,
            "account",
        ),
    ],
)
def test_a_rate_limit_says_how_long_and_for_whom(headers: dict[str, str], seconds: float, scope: str) -> None:
    """By the limit that has nothing left, against the answer's own date; a larger one that nobody names: an hour."""
    outcome = read(answer(429, problem(429, "Too Many Requests"), Date=NOW_HEADER, **headers))
    assert isinstance(outcome, RateLimited)
    assert (outcome.retry_after_seconds, outcome.scope) == (seconds, scope)


def test_our_failures_pause_the_application_or_the_platform() -> None:
    """Credits and permissions are the application's; a retired endpoint is everybody's."""
    unpaid, retired = read(answer(402, b"")), read(answer(410, b""))
    assert isinstance(unpaid, Ours)
    assert isinstance(retired, Ours)
    assert (unpaid.scope, retired.scope) == ("app", "platform")


def test_evidence_holds_the_problem_and_no_token() -> None:
    """What X says is kept for a person; what it echoes of the request is not."""
    given = replace(
        answer(403, problem(403, "No: Bearer s3cret-token-s3cret")), secrets=("s3cret-token-s3cret",)
    )
    outcome = read(given)
    assert "No:" in outcome.evidence.message
    assert "s3cret" not in repr(outcome)
    assert "hello" not in read(answer(201, {"data": {"text": "hello"}})).evidence.message


RESET = str(int((NOW + timedelta(seconds=90)).timestamp()))


@pytest.mark.parametrize(
    ("headers", "scope"),
    [
        ({"x-rate-limit-remaining": "0", "x-rate-limit-reset": RESET}, "account"),
        ({"x-app-limit-24hour-remaining": "0", "x-app-limit-24hour-reset": RESET}, "app"),
        ({"x-rate-limit-remaining": "1", "x-rate-limit-reset": RESET}, None),
        ({"x-rate-limit-remaining": "none"}, None),
        ({}, None),
    ],
)
def test_a_good_answer_tells_that_it_was_the_last_of_its_window(headers: dict[str, str], scope: str | None):
    """Only a plain 0 counts; the wait is until the reset, by X's own clock."""
    told = X().usage(answer(201, {"data": {"id": "1"}}, **{"date": NOW_HEADER, **headers}))
    if scope is None:
        assert told is None
    else:
        assert isinstance(told, RateLimited)
        assert (told.scope, told.retry_after_seconds) == (scope, 91.0)
