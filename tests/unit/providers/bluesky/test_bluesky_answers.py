"""Tests of how a server's answers become outcomes."""

from __future__ import annotations

import pytest

from socialq.domain.outcomes import Accepted, RateLimited, Transient
from socialq.providers.bluesky import Bluesky
from socialq.providers.bluesky.answers import FILE_LIFE_SECONDS, read_deleted, read_failure
from socialq.providers.bluesky.record_keys import record_key, record_uri
from tests.unit.providers.bluesky.bluesky_script import CID, DID, NOW, NOW_HEADER, answer, error, part

PART = part()
URI = record_uri(DID, record_key(PART))


@pytest.mark.parametrize(
    ("status", "body", "publish", "otherwise"),
    [
        (200, b"", "Unknown", "Transient"),
        (200, {"uri": URI}, "Unknown", "Transient"),
        (200, {"uri": URI, "cid": "nonsense"}, "Unknown", "Transient"),
        (200, {"uri": URI.replace("post/", "post/x"), "cid": CID}, "Unknown", "Transient"),
        (200, {"results": [None]}, "Unknown", "Transient"),
        (200, [1], "Unknown", "Transient"),
        (302, b"", "Transient", "Transient"),
        (303, b"", "Unknown", "Transient"),
        (400, error("ExpiredToken"), "AuthLost", "AuthLost"),
        (400, error("InvalidToken"), "AuthLost", "AuthLost"),
        (401, error("AuthMissing"), "AuthLost", "AuthLost"),
        (401, error("AuthFactorTokenRequired"), "AuthLost", "AuthLost"),
        (401, error("AuthenticationRequired"), "AuthLost", "AuthLost"),
        (400, error("AuthenticationRequired"), "AuthLost", "AuthLost"),
        (401, error("AccountTakedown"), "AuthLost", "AuthLost"),
        (403, error("AccountSuspended"), "AuthLost", "AuthLost"),
        (400, error("AccountSuspended"), "AuthLost", "AuthLost"),
        (401, error("AccountDeactivated"), "AuthLost", "AuthLost"),
        (400, error("RepoDeactivated"), "AuthLost", "AuthLost"),
        (403, error("AccountNotFound"), "AuthLost", "AuthLost"),
        (401, b"<html>", "AuthLost", "AuthLost"),
        (403, error("ScopeMissingError"), "PermissionLost", "PermissionLost"),
        (403, b"<html>blocked</html>", "Transient", "Transient"),
        (400, error("InvalidSwap"), "Duplicate", "Rejected"),
        (400, error("InvalidRequest", "grapheme too big (maximum 300, got 429)"), "Rejected", "Rejected"),
        (400, error("InvalidRequest", "InvalidSwap"), "Rejected", "Rejected"),
        (400, b"<html>", "Rejected", "Rejected"),
        (400, error("BlobNotFound"), "Transient", "Transient"),
        (413, error("PayloadTooLarge"), "Rejected", "Rejected"),
        (415, error("InvalidRequest"), "Rejected", "Rejected"),
        (404, b"", "Rejected", "Rejected"),
        (408, b"", "Unknown", "Transient"),
        (429, error("RateLimitExceeded"), "RateLimited", "RateLimited"),
        (500, error("InternalServerError"), "Unknown", "Transient"),
        (501, error("MethodNotImplemented"), "Unknown", "Rejected"),
        (502, error("UpstreamFailure"), "Unknown", "Transient"),
        (503, error("NotEnoughResources"), "Unknown", "Transient"),
        (504, error("UpstreamTimeout"), "Unknown", "Transient"),
        (299, b"", "Unknown", "Transient"),
        (600, b"", "Unknown", "Transient"),
    ],
)
def test_an_answer_is_told_as_what_it_means(status: int, body: object, publish: str, otherwise: str) -> None:
    """By the error's name and the status, on the publish step and on all others."""
    given = answer(status, body)
    assert type(Bluesky().read_publish(given, PART)).__name__ == publish
    assert type(read_failure(given)).__name__ == otherwise


def test_a_written_record_is_accepted_with_what_a_reply_needs() -> None:
    """Address, content's name, link and time."""
    outcome = Bluesky().read_publish(
        answer(200, {"uri": URI, "cid": CID, "commit": {"rev": "x"}}, date=NOW_HEADER), PART
    )
    assert isinstance(outcome, Accepted)
    assert (outcome.remote_id, outcome.remote_ref) == (URI, {"cid": CID})
    assert outcome.permalink == f"https://bsky.app/profile/{DID}/post/{record_key(PART)}"
    assert outcome.accepted_at == NOW
    assert outcome.evidence.message == ""


def test_a_record_that_was_there_before_is_accepted_without_a_time() -> None:
    """Nothing was committed now, so now is not when it went out."""
    outcome = Bluesky().read_publish(answer(200, {"uri": URI, "cid": CID}, date=NOW_HEADER), PART)
    assert isinstance(outcome, Accepted)
    assert outcome.accepted_at is None


def test_the_first_of_several_records_is_the_post() -> None:
    """`applyWrites` answers with the post and its gate."""
    gate = {"uri": URI.replace("feed.post", "feed.threadgate"), "cid": CID}
    body = {"commit": {}, "results": [{"uri": URI, "cid": CID}, gate]}
    outcome = Bluesky().read_publish(answer(200, body), PART)
    assert isinstance(outcome, Accepted)
    assert outcome.remote_id == URI


def test_a_file_that_is_gone_is_waited_for_until_it_is_brought_anew() -> None:
    """By then the stored upload is not trusted any more."""
    outcome = Bluesky().read_publish(answer(400, error("BlobNotFound")), PART)
    assert isinstance(outcome, Transient)
    assert outcome.retry_after_seconds == FILE_LIFE_SECONDS


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "77"}, 77),
        ({"ratelimit_reset": str(int(NOW.timestamp()) + 60), "date": NOW_HEADER}, 61),
        ({"retry_after": "0"}, 1),
        ({"ratelimit_reset": "99999999999", "date": NOW_HEADER}, 86_400),
        ({"retry_after": "soon"}, 300),
        ({}, 300),
    ],
)
def test_a_limit_says_how_long(headers: dict[str, str], seconds: float) -> None:
    """By `Retry-After`, else by `RateLimit-Reset` in seconds since 1970; for this account alone."""
    outcome = Bluesky().read_publish(answer(429, error("RateLimitExceeded"), **headers), PART)
    assert isinstance(outcome, RateLimited)
    assert (outcome.retry_after_seconds, outcome.scope) == (seconds, "account")


def test_the_last_request_of_a_window_says_to_wait() -> None:
    """Also where it was answered well."""
    reset = str(int(NOW.timestamp()) + 60)
    given = {"ratelimit_reset": reset, "date": NOW_HEADER}
    used = Bluesky().usage(answer(200, {"uri": URI, "cid": CID}, ratelimit_remaining="0", **given))
    assert isinstance(used, RateLimited)
    assert used.retry_after_seconds == 61
    assert Bluesky().usage(answer(200, {}, ratelimit_remaining="1", **given)) is None
    assert Bluesky().usage(answer(200, {})) is None


def test_what_an_answer_says_is_kept_without_a_token() -> None:
    """A sentence, on one line, redacted."""
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzY29wZSI6ImNvbS5hdHByb3RvIn0.abc123def456"
    said = Bluesky().read_publish(answer(400, error("InvalidToken", f"bad token {token}\nhere")), PART)
    assert token not in repr(said)
    assert "\n" not in said.evidence.message


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (200, {}, "TakenDown"),
        (200, {"commit": {}}, "TakenDown"),
        (400, error("ExpiredToken"), "AuthLost"),
        (429, error("RateLimitExceeded"), "RateLimited"),
        (500, error("InternalServerError"), "Unknown"),
        (408, {}, "Unknown"),
        (200, "<html>", "Unknown"),
    ],
)
def test_a_deletion_says_what_it_came_to(status: int, body: object, outcome: str) -> None:
    """A record that is gone already is answered like one that was deleted."""
    assert type(read_deleted(answer(status, body))).__name__ == outcome
