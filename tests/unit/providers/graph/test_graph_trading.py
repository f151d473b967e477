"""Tests of token endpoints: what is given, and what a refusal means there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from socialq.domain.outcomes import Transient
from socialq.providers.graph.trading import Traded, trade
from socialq.providers.http import Answer, Call, NetworkFailure
from tests.unit.providers.graph.script import NOW, PLAIN, Script, answer, error

CALL = Call(method="POST", url="https://graph.example/oauth/access_token", form=[("code", "c0de")])


def traded(given: Answer | NetworkFailure) -> Any:
    script = Script(given)
    result = trade(script.http, CALL, dialect=PLAIN, hidden=("s3cret-word", ""), now=NOW)
    assert len(script.calls) == 1
    return result


def test_a_token_is_taken_with_its_end() -> None:
    """Seconds from now; the user and the permissions where they are told."""
    body = {"access_token": "EAA", "expires_in": 60, "user_id": 77, "permissions": "a,b"}
    result = traded(answer(200, body))
    expected = Traded(
        access_token="EAA",
        expires_at=NOW + timedelta(seconds=60),
        user_id="77",
        scopes=frozenset({"a", "b"}),
    )
    assert result == expected
    assert "EAA" not in repr(result)


def test_the_wrapped_form_is_read_too() -> None:
    """The newest endpoint answers with a list."""
    body = {"data": [{"access_token": "IG", "user_id": "5", "permissions": ["x"]}]}
    result = traded(answer(200, body))
    assert (result.access_token, result.expires_at, result.scopes) == ("IG", None, frozenset({"x"}))


@pytest.mark.parametrize(
    "body", [{}, {"access_token": ""}, {"access_token": "  "}, {"access_token": 5}, {"data": []}, b"oops"]
)
def test_an_answer_without_a_token_is_never_taken_for_one(body: Any) -> None:
    """It may be tried again."""
    assert isinstance(traded(answer(200, body)), Transient)


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (400, error(100, 36009), "Rejected", "plain.code_spent"),
        (400, error(100, 36007), "Rejected", "plain.code_spent"),
        (400, error(100, 36008), "Ours", "plain.redirect_refused"),
        (400, error(1), "Ours", "plain.secret_refused"),
        (500, error(1), "Transient", "plain.server_error"),
        (400, error(101), "Ours", "plain.app_refused"),
        (401, error(190, 463), "AuthLost", "plain.token_expired"),
    ],
)
def test_what_is_wrong_with_the_application_is_ours(status: int, body: Any, kind: str, code: str) -> None:
    """A spent code is the person's to repeat; a secret or an address that is refused is the operator's to mend."""
    result = traded(answer(status, body))
    assert (type(result).__name__, result.evidence.code) == (kind, code)


def test_no_secret_gets_into_evidence() -> None:
    """Even if it is repeated by the platform."""
    result = traded(answer(400, error(100, message="your s3cret-word is wrong")))
    assert "s3cret-word" not in repr(result)


def test_a_lost_answer_is_transient() -> None:
    """Nothing is known of it."""
    assert isinstance(traded(NetworkFailure(kind="reset", sent=True)), Transient)
