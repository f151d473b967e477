"""Tests of whether what was to be deleted is gone, on scripted answers."""

from __future__ import annotations

from typing import Any

import pytest

from socialq.domain.outcomes import Evidence, TakenDown, Unknown
from socialq.providers.graph.gone import look_gone, read_deletion
from socialq.providers.http import NetworkFailure
from tests.unit.providers.graph.script import PLAIN, Script, answer, error

DOUBT = Unknown(evidence=Evidence(code="plain.not_found"))
GONE = answer(400, error(100, 33))
POSTS = answer(200, {"data": [{"id": "8"}, {"id": "9"}]})
LOST = NetworkFailure(kind="reset", sent=True)


def looked(*answers: Any) -> tuple[Any, Script]:
    script = Script(*answers)
    outcome = look_gone(
        script.http,
        address="https://graph.example/7",
        posts="https://graph.example/me/posts",
        remote_id="7",
        token="s3cret",
        dialect=PLAIN,
        doubt=DOUBT,
    )
    return outcome, script


@pytest.mark.parametrize("status", [408, 500, 502, 503])
@pytest.mark.parametrize("body", [error(100, 33), error(190), error(4), error(368), b"a proxy"])
def test_a_deletion_that_ends_in_a_server_error_may_be_done(status: int, body: Any) -> None:
    """Whatever number stands in the body."""
    assert isinstance(read_deletion(answer(status, body), PLAIN), Unknown)


def test_not_found_alone_proves_nothing() -> None:
    """Meta says the same of what a token may not see."""
    assert isinstance(read_deletion(GONE, PLAIN), Unknown)


def test_what_a_reading_does_not_find_either_is_gone_while_other_posts_can_be_read() -> None:
    """The token stands in a header of both requests, and in no address."""
    outcome, script = looked(GONE, POSTS)
    assert isinstance(outcome, TakenDown)
    assert [call.url for call in script.calls] == [
        "https://graph.example/7",
        "https://graph.example/me/posts",
    ]
    assert all("s3cret" not in str(call.params) + call.url for call in script.calls)


@pytest.mark.parametrize(
    "answers",
    [
        (LOST, POSTS),
        (answer(500, error(100, 33)), POSTS),
        (answer(404, b"<html>a proxy"), POSTS),
        (answer(400, error(190)), POSTS),
        (answer(200, {}), POSTS),
        (GONE, LOST),
        (GONE, answer(400, error(10))),
        (GONE, answer(500, {"data": []})),
        (GONE, answer(200, b"oops")),
        (GONE, answer(200, {"data": [{"id": "7"}]})),
    ],
)
def test_without_proof_a_doubt_stays_one(answers: tuple[Any, ...]) -> None:
    """Lost, refused, unreadable, or still listed."""
    assert looked(*answers)[0] == DOUBT


def test_what_is_shown_is_told_as_still_there() -> None:
    """With what a person does next."""
    outcome, _ = looked(answer(200, {"id": "7"}))
    assert isinstance(outcome, Unknown)
    assert (outcome.evidence.code, "delete it" in outcome.evidence.message) == ("plain.still_there", True)
