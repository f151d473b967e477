"""Each answer of LinkedIn and the outcome that it means, at publish and elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from socialq.domain.outcomes import (
    Accepted,
    AuthLost,
    Duplicate,
    Ours,
    PermissionLost,
    RateLimited,
    Rejected,
    TakenDown,
    Transient,
    Unknown,
)
from socialq.providers.base import Part
from socialq.providers.http import Answer, Headers
from socialq.providers.linkedin.adapter import LinkedIn
from socialq.providers.linkedin.answers import read_created, read_failure

POST = Part(number=1, text="Words", key="k")
COMMENT = Part(number=2, text="Words", key="k", role="comment", parent_id="urn:li:share:7")
DATE = ("Date", "Mon, 30 Nov 2026 18:05:00 GMT")


def answer(status: int, body: Any = b"", *headers: tuple[str, str]) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status=status, headers=Headers([DATE, *headers]), body=content)


def error(status: int, code: str = "", message: str = "words", **more: Any) -> Answer:
    return answer(status, {"status": status, "code": code, "message": message, **more})


TABLE = {
    "empty token": (error(401, "EMPTY_ACCESS_TOKEN"), AuthLost, AuthLost),
    "invalid token": (error(401, "INVALID_ACCESS_TOKEN", serviceErrorCode=65600), AuthLost, AuthLost),
    "revoked token": (error(401, "REVOKED_ACCESS_TOKEN", serviceErrorCode=65601), AuthLost, AuthLost),
    "expired token": (error(401, serviceErrorCode=65602), AuthLost, AuthLost),
    "denied": (error(403, "ACCESS_DENIED", serviceErrorCode=100), PermissionLost, PermissionLost),
    "a firewall's page": (answer(403, b"<html>blocked</html>"), Transient, Transient),
    "too long": (error(400, "FIELD_LENGTH_TOO_LONG"), Rejected, Rejected),
    "missing field": (error(400, "MISSING_FIELD"), Rejected, Rejected),
    "invalid value": (error(400, "INVALID_VALUE_FOR_FIELD"), Rejected, Rejected),
    "invalid urn": (error(400, "INVALID_URN_TYPE"), Rejected, Rejected),
    "blank": (error(400, "INVALID_VALUE_BLANK_FIELD"), Rejected, Rejected),
    "asset still waits": (error(400, "MEDIA_ASSET_WAITING_UPLOAD"), Transient, Transient),
    "asset failed": (error(400, "MEDIA_ASSET_PROCESSING_FAILED"), Rejected, Rejected),
    "upload address over": (error(400, "EXPIRED_UPLOAD_URL"), Transient, Transient),
    "no version": (error(400, "VERSION_MISSING"), Ours, Ours),
    "version over": (error(426, "NONEXISTENT_VERSION"), Ours, Ours),
    "version over, in no words": (answer(426, b""), Ours, Ours),
    "not found": (error(404, "NOT_FOUND"), Rejected, Rejected),
    "gone": (error(410, "GONE"), Rejected, Rejected),
    "gone, says a page": (answer(410, b"<html>Gone</html>"), Transient, Transient),
    "gone with its version": (error(410, "NONEXISTENT_VERSION"), Ours, Ours),
    "timeout": (error(408), Unknown, Transient),
    "conflict": (error(409, "CONFLICT"), Transient, Transient),
    "duplicate by code": (error(422, "DUPLICATE_POST", "Content is a duplicate"), Duplicate, Rejected),
    "duplicate by words": (
        error(422, "", "Content is a duplicate of urn:li:share:12"),
        Duplicate,
        Rejected,
    ),
    "other 422": (error(422, "INVALID_CONTENT"), Rejected, Rejected),
    "throttled": (error(429, "TOO_MANY_REQUESTS"), RateLimited, RateLimited),
    "server error": (error(500, "INTERNAL_SERVER_ERROR"), Unknown, Transient),
    "unavailable": (answer(503, b"<html>"), Unknown, Transient),
    "created without an id": (answer(201), Unknown, Transient),
    "created with another id": (answer(201, b"", ("x-restli-id", "urn:li:group:4")), Unknown, Transient),
    "done, see there": (answer(303), Unknown, Transient),
    "moved": (answer(301), Transient, Transient),
    "digits that look like codes": (error(422, "INVALID", "id 65601426429 is invalid"), Rejected, Rejected),
}


@pytest.mark.parametrize("name", TABLE)
def test_an_answer_means_one_outcome(name: str) -> None:
    """At publish what may have been stored is unknown; elsewhere it is transient."""
    given, at_publish, elsewhere = TABLE[name]
    assert isinstance(read_created(given, POST), at_publish)
    assert isinstance(read_failure(given), elsewhere)


@pytest.mark.parametrize("header", ["x-restli-id", "X-RestLi-Id", "X-RESTLI-ID", "x-linkedin-id"])
@pytest.mark.parametrize("urn", ["urn:li:share:7123", "urn:li:ugcPost:7123", "urn%3Ali%3Ashare%3A7123"])
def test_the_id_of_a_new_post_stands_in_a_header_of_any_case(header: str, urn: str) -> None:
    """The body is empty; the address and the time are told too."""
    outcome = read_created(answer(201, b"", (header, urn)), POST)
    assert isinstance(outcome, Accepted)
    assert outcome.remote_id == urn.replace("%3A", ":")
    assert outcome.permalink == f"https://www.linkedin.com/feed/update/{outcome.remote_id}/"
    assert outcome.accepted_at is not None


def test_success_without_an_id_is_told_as_such() -> None:
    """Nobody can say what to show, or take down: a look or a person finds out."""
    outcome = read_created(answer(201), POST)
    assert isinstance(outcome, Unknown)
    assert outcome.evidence.code == "linkedin.no_id"


COMMENTS = {
    "by its number in the header": (b"", [("x-restli-id", "99")], "urn:li:comment:(urn:li:share:7,99)"),
    "by its number in the body": ({"id": "99"}, [], "urn:li:comment:(urn:li:share:7,99)"),
    "by its own name": (
        {"id": "99", "commentUrn": "urn:li:comment:(urn:li:activity:8,99)"},
        [("x-restli-id", "99")],
        "urn:li:comment:(urn:li:activity:8,99)",
    ),
}


@pytest.mark.parametrize("name", COMMENTS)
def test_a_comment_is_named_in_the_header_or_in_the_body(name: str) -> None:
    """Its whole name is kept, since its number alone says nothing."""
    body, headers, expected = COMMENTS[name]
    outcome = read_created(answer(201, body, *headers), COMMENT)
    assert isinstance(outcome, Accepted)
    assert outcome.remote_id == expected
    assert outcome.permalink is not None
    assert "commentUrn=urn%3Ali%3Acomment" in outcome.permalink


NAMED = {
    "Content is a duplicate of urn:li:share:12": "urn:li:share:12",
    "Content is a duplicate of urn:li:ugcPost:12": "urn:li:ugcPost:12",
    "Content is a duplicate of urn:li:activity:12, see above": "urn:li:activity:12",
    "Content is a duplicate of urn:li:person:abc": None,
    "Content is a duplicate of urn:li:share:1 and of urn:li:share:2": None,
    "Content is a duplicate": None,
}


@pytest.mark.parametrize("words", NAMED)
def test_a_duplicate_names_a_post_and_only_a_post(words: str) -> None:
    """Shares, ugcPosts and activities, and only where exactly one is named."""
    outcome = read_created(error(422, "DUPLICATE_POST", words), POST)
    assert isinstance(outcome, Duplicate)
    assert outcome.existing_id == NAMED[words]


def throttled(words: str, *headers: tuple[str, str]) -> RateLimited:
    body = {"serviceErrorCode": 101, "code": "TOO_MANY_REQUESTS", "message": words, "status": 429}
    outcome = read_created(answer(429, body, *headers), POST)
    assert isinstance(outcome, RateLimited)
    return outcome


def test_a_limit_of_the_day_ends_at_midnight_utc() -> None:
    """By the answer's own clock, and a little later."""
    outcome = throttled("Resource level throttle MEMBER DAY limit for calls to this resource is reached.")
    assert (outcome.scope, outcome.retry_after_seconds) == ("account", 5 * 3600 + 55 * 60 + 30)


def test_a_limit_of_the_application_pauses_the_application() -> None:
    """The sentence says whose limit it is."""
    outcome = throttled(
        "Resource level throttle APPLICATION DAY limit for calls to this resource is reached."
    )
    assert outcome.scope == "app"


def test_a_retry_after_is_believed() -> None:
    """LinkedIn sends none, and a machine in front of it may."""
    assert throttled("slow down", ("Retry-After", "7")).retry_after_seconds == 7


def test_a_version_that_is_over_pauses_the_platform() -> None:
    """It is nobody's account, and no other application's version either."""
    outcome = read_created(
        error(426, "NONEXISTENT_VERSION", "Requested version 20240501 is not active"), POST
    )
    assert isinstance(outcome, Ours)
    assert outcome.scope == "platform"
    assert "20240501" in outcome.evidence.message


TAKEDOWNS = {
    "deleted, or gone already": (answer(204), TakenDown),
    "not there": (error(404, "NOT_FOUND", "Could not find entity: urn:li:share:7"), TakenDown),
    "gone": (error(410, "GONE"), TakenDown),
    "not there, says a page": (answer(404, b"<html>Not Found</html>"), Unknown),
    "not there, says other JSON": (answer(404, {"detail": "no route"}), Unknown),
    "gone, says a page": (answer(410, b"<html>Gone</html>"), Unknown),
    "no such resource": (error(404, "RESOURCE_NOT_FOUND", "No virtual resource found"), Rejected),
    "version over": (error(410, "NONEXISTENT_VERSION"), Ours),
    "odd success": (answer(200, b"<html>"), Unknown),
    "timeout": (error(408), Unknown),
    "server error": (error(500, "INTERNAL_SERVER_ERROR"), Unknown),
    "unavailable": (answer(503, b"<html>"), Unknown),
    "denied": (error(403, "ACCESS_DENIED"), PermissionLost),
}


@pytest.mark.parametrize("name", TAKEDOWNS)
def test_a_takedown_is_done_when_linkedin_says_so(name: str) -> None:
    """Gone already counts; a page that is not the API's own says nothing, and neither does a server's fault."""
    given, outcome = TAKEDOWNS[name]
    assert isinstance(LinkedIn().read_takedown(given), outcome)
