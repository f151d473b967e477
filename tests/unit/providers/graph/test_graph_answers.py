"""Tests of how a Graph API's refusals become outcomes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.domain.outcomes import Ours, RateLimited, Rejected, Unknown
from socialq.providers.graph.answers import (
    COMMON,
    Meaning,
    meaning_of,
    read_failure,
    read_refusal,
    read_usage,
)
from socialq.providers.graph.said import error_of, graph_id, web_address
from tests.unit.providers.graph.script import OWN, PLAIN, answer, error

BUSINESS = {"7": [{"type": "pages", "call_count": 100, "estimated_time_to_regain_access": 19}]}


@pytest.mark.parametrize(
    ("status", "body", "publish", "otherwise", "name"),
    [
        (200, {}, "Unknown", "Transient", "unreadable"),
        (200, b'<html>{"id": "1', "Unknown", "Transient", "unreadable"),
        (302, b"", "Transient", "Transient", "redirected"),
        (303, b"", "Unknown", "Transient", "redirected"),
        (500, error(1), "Unknown", "Transient", "server_error"),
        (503, error(2, is_transient=True), "Unknown", "Transient", "server_error"),
        (502, b"bad gateway", "Unknown", "Transient", "server_error"),
        (408, b"", "Unknown", "Transient", "timeout"),
        (400, error(190), "AuthLost", "AuthLost", "token_ended"),
        (401, error(190, 460), "AuthLost", "AuthLost", "password_changed"),
        (400, error(190, 458), "AuthLost", "AuthLost", "app_removed"),
        (400, error(190, 459), "AuthLost", "AuthLost", "user_must_act"),
        (400, error(190, 463), "AuthLost", "AuthLost", "token_expired"),
        (400, error(190, 464), "AuthLost", "AuthLost", "user_must_act"),
        (400, error(190, 467), "AuthLost", "AuthLost", "token_invalid"),
        (400, error(190, 492), "AuthLost", "AuthLost", "role_lost"),
        (400, error(190, 999), "AuthLost", "AuthLost", "token_ended"),
        (400, error(102), "AuthLost", "AuthLost", "token_ended"),
        (403, error(200), "PermissionLost", "PermissionLost", "permission"),
        (400, error(3), "PermissionLost", "PermissionLost", "permission"),
        (400, error(10), "PermissionLost", "PermissionLost", "permission"),
        (400, error(299), "PermissionLost", "PermissionLost", "permission"),
        (403, error(4, is_transient=True), "RateLimited", "RateLimited", "app_rate_limit"),
        (400, error(341), "RateLimited", "RateLimited", "app_rate_limit"),
        (400, error(32), "RateLimited", "RateLimited", "rate_limit"),
        *((400, error(code), "RateLimited", "RateLimited", "rate_limit") for code in range(80000, 80015)),
        (400, error(613), "RateLimited", "RateLimited", "rate_limit"),
        (429, b"slow down", "RateLimited", "RateLimited", "rate_limit"),
        (400, error(368), "Rejected", "Rejected", "policy_block"),
        (400, error(368, is_transient=True), "Rejected", "Rejected", "policy_block"),
        (400, error(100), "Rejected", "Rejected", "invalid"),
        (400, error(100, 33), "Rejected", "Rejected", "not_found"),
        (400, error(2635), "Ours", "Ours", "version_retired"),
        (400, error(101), "Ours", "Ours", "app_refused"),
        (400, error(100, is_transient=True), "Unknown", "Transient", "transient"),
        (400, error(987654, is_transient=True), "Unknown", "Transient", "transient"),
        (400, error(987654), "Rejected", "Rejected", "refused"),
        (500, error(987654), "Unknown", "Transient", "server_error"),
        (401, error(987654), "AuthLost", "AuthLost", "token_refused"),
        (400, error("190"), "Rejected", "Rejected", "refused"),
        (400, error(True), "Rejected", "Rejected", "refused"),
        (403, b"<html>a firewall</html>", "Transient", "Transient", "not_the_api"),
        (401, b"<html>a proxy</html>", "Transient", "Transient", "not_the_api"),
        (404, b"", "Transient", "Transient", "not_the_api"),
        (413, b"too large", "Rejected", "Rejected", "refused"),
        (400, {"error": "text"}, "Rejected", "Rejected", "refused"),
        (700, b"", "Unknown", "Transient", "odd_status"),
    ],
)
def test_each_refusal_is_told_as_what_it_is(
    status: int, body: Any, publish: str, otherwise: str, name: str
) -> None:
    """Code and subcode first, as numbers; then whether it passes by itself; then the status."""
    refusal = answer(status, body)
    outcome = read_refusal(refusal, PLAIN)
    assert (type(outcome).__name__, outcome.evidence.code) == (publish, f"plain.{name}")
    assert type(read_failure(refusal, PLAIN)).__name__ == otherwise


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
@pytest.mark.parametrize("row", COMMON, ids=lambda row: row.name)
def test_a_server_error_leaves_open_what_was_published_whatever_number_it_holds(
    row: Meaning, status: int
) -> None:
    """The post may be stored by then: none of Meta's numbers turns a 5xx or 408 of the publish step into a refusal."""
    for code in row.codes:
        for subcode in row.subcodes or {None}:
            outcome = read_refusal(answer(status, error(code, subcode)), PLAIN)
            assert isinstance(outcome, Unknown), (code, subcode)
            assert meaning_of(answer(400, error(code, subcode)), PLAIN) == row or len(row.codes) > 1


def test_a_pair_of_numbers_counts_before_the_code_alone() -> None:
    """Code 4 is the application's rate limit; with subcode 2207051 it is a spam block."""
    assert meaning_of(answer(403, error(4)), OWN).name == "app_rate_limit"
    outcome = read_refusal(answer(403, error(4, 2207051, is_transient=True)), OWN)
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "policy"


def test_a_platforms_own_meaning_counts_before_the_common_one() -> None:
    """Only where the platform knows of it."""
    assert type(read_refusal(answer(400, error(506)), OWN)).__name__ == "Duplicate"
    assert type(read_failure(answer(400, error(506)), OWN)).__name__ == "Rejected"
    assert type(read_refusal(answer(400, error(506)), PLAIN)).__name__ == "Rejected"
    passing = answer(400, error(506, is_transient=True))
    assert type(read_refusal(passing, OWN)).__name__ == "Duplicate"
    assert type(read_failure(passing, OWN)).__name__ == "Transient"


@given(
    st.sampled_from([190, 4, 368, 506, 1, 2, 200]),
    st.sampled_from(["message", "error_user_msg", "fbtrace_id"]),
)
def test_digits_in_words_decide_nothing(code: int, place: str) -> None:
    """Ids and sentences hold such digits too."""
    body = error(100, **{place: f"object {code}_{code}190 code {code}"})
    assert meaning_of(answer(400, body), OWN).name == "invalid"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "code", "error_subcode", "debug_info", "message"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=12,
    )
)
def test_no_body_breaks_the_reading(body: Any) -> None:
    """Whatever stands there, an outcome comes of it."""
    for status in (200, 400, 500):
        assert read_refusal(answer(status, body), OWN).evidence.code.startswith("own.")


def test_evidence_shows_people_words_and_no_token() -> None:
    """What Meta writes for people comes first, then the message; secrets are taken out, the trace is kept."""
    body = error(
        324, 1366046, message="bad token=EAAsecretsecret123", error_user_title="No", error_user_msg="Too big."
    )
    said = read_refusal(answer(400, body), PLAIN).evidence
    assert said.message.startswith("(324/1366046) No: Too big. bad")
    assert "EAAsecret" not in said.message
    assert said.request_id == "Abc-1_2"


def test_the_upload_hosts_and_the_flat_shape_of_errors_are_read_too() -> None:
    """Their numbers say nothing, so `retriable` and the status decide."""
    upload = answer(
        400, {"debug_info": {"retriable": True, "type": "ProcessingFailedError", "message": "again"}}
    )
    assert meaning_of(upload, PLAIN).name == "transient"
    flat = answer(400, {"error_type": "OAuthException", "code": 400, "error_message": "Invalid code"})
    told = error_of(flat)
    assert told is not None
    assert (told.code, told.message) == (None, "Invalid code")
    assert meaning_of(flat, PLAIN).name == "refused"


def test_a_body_without_an_error_is_never_shown() -> None:
    """It may hold a token or somebody's text."""
    said = read_refusal(answer(200, {"access_token": "EAAverysecret", "message": "words"}), PLAIN).evidence
    assert "EAAverysecret" not in said.message
    assert "words" not in said.message


@pytest.mark.parametrize(
    ("code", "headers", "seconds", "scope"),
    [
        (32, {"x_business_use_case_usage": json.dumps(BUSINESS)}, 19 * 60, "account"),
        (32, {}, 900, "account"),
        (4, {}, 900, "app"),
        (341, {}, 900, "app"),
    ],
)
def test_a_rate_limit_says_how_long_and_for_whom(
    code: int, headers: dict[str, str], seconds: float, scope: str
) -> None:
    """Minutes to regain access where they are told; codes 4 and 341 are the whole application's."""
    outcome = read_refusal(answer(400, error(code), **headers), PLAIN)
    assert isinstance(outcome, RateLimited)
    assert (outcome.retry_after_seconds, outcome.scope) == (seconds, scope)


def test_usage_is_read_from_refusals_that_are_not_of_one_post() -> None:
    """A policy block holds the account, a retired version the platform; a plain refusal holds nobody."""
    blocked = read_usage(answer(400, error(4, 2207051)), OWN)
    assert isinstance(blocked, RateLimited)
    assert (blocked.scope, blocked.retry_after_seconds) == ("account", 100.0)
    retired = read_usage(answer(400, error(2635)), OWN)
    assert isinstance(retired, Ours)
    assert retired.scope == "platform"
    assert read_usage(answer(400, error(100)), OWN) is None
    assert read_usage(answer(400, error(190)), OWN) is None
    assert read_usage(answer(200, {"id": "1"}), OWN) is None
    slowed = read_usage(answer(200, {"id": "1"}, x_app_usage='{"call_count":85}'), OWN)
    assert isinstance(slowed, RateLimited)
    assert (slowed.retry_after_seconds, slowed.scope, slowed.reads_go_on) == (60.0, "app", True)
    assert slowed.evidence.code == "own.calls_nearly_used_up"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("12_34", "12_34"),
        (7, "7"),
        ("12", "12"),
        (True, None),
        ("", None),
        ("1/2", None),
        ("a1", None),
        (-1, None),
    ],
)
def test_ids_are_digits(value: object, expected: str | None) -> None:
    """What is put into addresses can't lead anywhere else."""
    assert graph_id(value) == expected


def test_only_web_addresses_are_shown_as_links() -> None:
    """Nothing that a browser would run."""
    assert web_address("https://www.facebook.com/1") == "https://www.facebook.com/1"
    assert web_address("javascript:alert(1)") is None
