"""Tests of how Facebook's answers become outcomes, on scripted answers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from socialq.domain.outcomes import Accepted, RateLimited, Rejected, TakenDown, Transient
from socialq.providers.base import Part
from socialq.providers.facebook import Facebook
from tests.unit.providers.graph.script import NOW, NOW_HEADER, answer, error

PART = Part(number=1, text="hello", key="k")
POST_ID = "105_9"
FRESH = {"seen_at": (NOW - timedelta(seconds=90)).isoformat()}
STALE = {"seen_at": (NOW - timedelta(seconds=180)).isoformat()}


def test_an_accepted_post_has_its_id_its_address_and_its_time() -> None:
    """The id is two groups of digits; the time is the answer's own."""
    outcome = Facebook().read_publish(answer(200, {"id": POST_ID}, date=NOW_HEADER), PART)
    assert isinstance(outcome, Accepted)
    assert (outcome.remote_id, outcome.accepted_at) == (POST_ID, NOW)
    assert outcome.permalink == f"https://www.facebook.com/{POST_ID}"
    assert outcome.remote_ref == {"seen_at": NOW.isoformat()}


def test_a_video_is_accepted_under_the_id_that_was_asked_about() -> None:
    """`success` names nothing; without a subject nobody can say which video it was."""
    done = answer(200, {"success": True}, date=NOW_HEADER)
    outcome = Facebook().read_publish(replace(done, subject="777"), PART)
    assert isinstance(outcome, Accepted)
    assert outcome.remote_id == "777"
    assert type(Facebook().read_publish(done, PART)).__name__ == "Unknown"


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, {}, "Unknown"),
        (200, {"success": False}, "Unknown"),
        (200, {"success": "true"}, "Unknown"),
        (200, {"id": "abc"}, "Unknown"),
        (200, {"id": True}, "Unknown"),
        (200, b"", "Unknown"),
        (500, error(2), "Unknown"),
        (400, error(506, 1455006), "Duplicate"),
        (400, error(506), "Duplicate"),
        (400, error(506, 1455006, is_transient=True), "Duplicate"),
        (400, error(100, 1366051), "Duplicate"),
        (400, error(100, 1609005), "Rejected"),
        (400, error(100, 1609008), "Rejected"),
        (400, error(324, 1366046), "Rejected"),
        (400, error(324), "Rejected"),
        (400, error(352), "Rejected"),
        (400, error(389), "Transient"),
        (400, error(6000), "Rejected"),
        (400, error(6001), "Rejected"),
        (400, error(100, 1363040), "Rejected"),
        (400, error(100, 1363127), "Rejected"),
        (400, error(100, 1363128), "Rejected"),
        (400, error(100, 1363129), "Rejected"),
        (400, error(368), "Rejected"),
        (400, error(368, is_transient=True), "Rejected"),
        (400, error(368, 1390008), "RateLimited"),
        (400, error(200, 1404078), "AuthLost"),
        (400, error(100, 4854002), "AuthLost"),
        (400, error(190, 460), "AuthLost"),
        (403, error(200), "PermissionLost"),
        (400, error(4), "RateLimited"),
        (400, error(2635), "Ours"),
        (400, error(100, message="object 506 1455006 190"), "Rejected"),
    ],
)
def test_each_answer_to_a_publish_step(status: int, body: Any, expected: str) -> None:
    """By the table of the platform, before the one that all share."""
    outcome = Facebook().read_publish(answer(status, body), PART)
    assert type(outcome).__name__ == expected, outcome


def test_a_duplicate_names_no_id_to_adopt() -> None:
    """Digits in its words are never taken for one."""
    body = error(506, 1455006, message="Duplicate of 105_9", error_user_msg="See 105_9")
    outcome = Facebook().read_publish(answer(400, body), PART)
    assert getattr(outcome, "existing_id", "missing") is None


@pytest.mark.parametrize(
    ("parent_ref", "expected"),
    [(FRESH, Transient), (STALE, Rejected), ({}, Rejected), ({"seen_at": "x"}, Rejected)],
)
def test_a_post_that_was_just_accepted_may_only_be_unseen(
    parent_ref: dict[str, str], expected: type[object]
) -> None:
    """100/33 means lag for two minutes after the acceptance, and gone from then on."""
    comment = replace(PART, number=2, role="comment", parent_id=POST_ID, parent_ref=parent_ref)
    outcome = Facebook().read_publish(answer(400, error(100, 33), date=NOW_HEADER), comment)
    assert isinstance(outcome, expected), outcome


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, {"success": True}, "TakenDown"),
        (400, error(100, 33), "Unknown"),
        (500, error(100, 33), "Unknown"),
        (408, error(190), "Unknown"),
        (503, error(4), "Unknown"),
        (200, {"success": False}, "Unknown"),
        (200, b"oops", "Unknown"),
        (500, error(1), "Unknown"),
        (403, error(200), "PermissionLost"),
        (400, error(190), "AuthLost"),
        (400, error(32), "RateLimited"),
    ],
)
def test_each_answer_to_a_deletion(status: int, body: Any, expected: str) -> None:
    """What is not found may only not be seen; what nobody can read, or a 5xx left open, may be repeated."""
    outcome = Facebook().read_takedown(answer(status, body))
    assert type(outcome).__name__ == expected, outcome
    assert isinstance(outcome, TakenDown) or "token" not in outcome.evidence.message


@pytest.mark.parametrize("subcode", [None, 1346003, 1404102, 1404112])
def test_a_policy_block_holds_the_page_for_a_day(subcode: int | None) -> None:
    """The post is refused for what it is, and no other goes out meanwhile."""
    blocked = answer(400, error(368, subcode))
    outcome = Facebook().read_publish(blocked, PART)
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "policy"
    held = Facebook().usage(blocked)
    assert isinstance(held, RateLimited)
    assert (held.scope, held.retry_after_seconds) == ("account", 86_400.0)
