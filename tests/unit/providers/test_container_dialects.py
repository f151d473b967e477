"""The refusals of Threads and Instagram, each with the outcome that it must have."""

from __future__ import annotations

import json

import pytest

from socialq.domain.outcomes import (
    AuthLost,
    Duplicate,
    Ours,
    PermissionLost,
    RateLimited,
    Rejected,
    Transient,
    Unknown,
)
from socialq.providers.base import Part
from socialq.providers.graph.answers import read_failure
from socialq.providers.http import Answer
from socialq.providers.instagram import Instagram
from socialq.providers.threads import Threads

PART = Part(number=1, text="Hello", key="k")
ADAPTERS = {"instagram": Instagram(), "threads": Threads()}
BOTH = ("instagram", "threads")

# Where it is said, code and subcode, then what it comes to at publish and elsewhere, and how long to wait.
TABLE = [
    (BOTH, 190, None, AuthLost, AuthLost, None),
    (BOTH, 190, 463, AuthLost, AuthLost, None),
    (BOTH, 190, 459, AuthLost, AuthLost, None),
    (BOTH, 10, None, PermissionLost, PermissionLost, None),
    (BOTH, 200, None, PermissionLost, PermissionLost, None),
    (BOTH, 4, None, RateLimited, RateLimited, 900),
    (BOTH, 341, None, RateLimited, RateLimited, 900),
    (BOTH, 17, None, RateLimited, RateLimited, 900),
    (BOTH, 4, 2207051, Unknown, Rejected, None),
    (BOTH, 9, 2207042, RateLimited, RateLimited, 3600),
    (BOTH, 25, 2207050, Rejected, Rejected, None),
    (BOTH, 9007, 2207027, Transient, Transient, 10),
    (BOTH, 24, 2207008, Transient, Transient, 60),
    (BOTH, 24, 2207006, Transient, Transient, 60),
    (BOTH, 9004, 2207052, Transient, Transient, 30),
    (BOTH, -2, 2207003, Transient, Transient, 30),
    (BOTH, 100, None, Rejected, Rejected, None),
    (BOTH, 100, 33, Rejected, Rejected, None),
    (BOTH, 1, None, Unknown, Transient, None),
    (BOTH, 2, None, Unknown, Transient, None),
    (BOTH, 506, 1455006, Duplicate, Rejected, None),
    (BOTH, 191, None, Ours, Ours, 3600),
    (("threads",), 24, 4279009, Transient, Transient, 10),
    (("threads",), 100, 4279004, Transient, Transient, 10),
    (("threads",), 10, 4279013, Rejected, Rejected, None),
    (("instagram",), -1, 2207001, Unknown, Transient, None),
    (("instagram",), -1, 2207032, Transient, Transient, 30),
    (("instagram",), -1, 2207053, Transient, Transient, 30),
    (("instagram",), -2, 2207020, Transient, Transient, 30),
    (("instagram",), 100, 2207082, Transient, Transient, 30),
    (("instagram",), 1, 2207057, Rejected, Rejected, None),
    (("instagram",), 100, 2207023, Rejected, Rejected, None),
    (("instagram",), 100, 2207028, Rejected, Rejected, None),
    (("instagram",), 100, 2207035, Rejected, Rejected, None),
    (("instagram",), 100, 2207036, Rejected, Rejected, None),
    (("instagram",), 100, 2207037, Rejected, Rejected, None),
    (("instagram",), 100, 2207040, Rejected, Rejected, None),
    (("instagram",), 352, 2207026, Rejected, Rejected, None),
    (("instagram",), 36000, 2207004, Rejected, Rejected, None),
    (("instagram",), 36001, 2207005, Rejected, Rejected, None),
    (("instagram",), 36003, 2207009, Rejected, Rejected, None),
    (("instagram",), 36004, 2207010, Rejected, Rejected, None),
    (("instagram",), 100, 2207081, Rejected, Rejected, None),
    (("instagram",), 80002, None, RateLimited, RateLimited, 900),
]
CASES = [(platform, *row[1:]) for row in TABLE for platform in row[0]]


def refusal(
    code: int, subcode: int | None, *, status: int = 400, message: str = "It says 2207051 and 190 here"
) -> Answer:
    error: dict[str, object] = {
        "message": message,
        "type": "OAuthException",
        "code": code,
    }
    if subcode is not None:
        error["error_subcode"] = subcode
    return Answer(status=status, body=json.dumps({"error": error}).encode())


@pytest.mark.parametrize(("platform", "code", "subcode", "publish", "otherwise", "wait"), CASES)
def test_a_refusal_is_read_by_its_numbers(
    platform: str, code: int, subcode: int | None, publish: type, otherwise: type, wait: float | None
) -> None:
    """Code and subcode decide; numbers in its words do not."""
    adapter = ADAPTERS[platform]
    answer = refusal(code, subcode)
    at_publish = adapter.read_publish(answer, PART)
    elsewhere = read_failure(answer, adapter.containers.dialect)
    assert isinstance(at_publish, publish), at_publish
    assert isinstance(elsewhere, otherwise), elsewhere
    if wait is not None:
        assert getattr(elsewhere, "retry_after_seconds", None) == wait
    assert at_publish.evidence.code.startswith(f"{platform}.")


@pytest.mark.parametrize(
    ("platform", "code", "subcode", "message", "expected", "name"),
    [
        (
            "instagram",
            100,
            None,
            "(#100) The user is not an Instagram Business",
            AuthLost,
            "not_professional",
        ),
        ("instagram", 100, 33, "The user is not an Instagram Business.", AuthLost, "not_professional"),
        ("instagram", 10, None, "(#10) The user is not an Instagram Business", AuthLost, "not_professional"),
        ("instagram", 36003, 2207009, "The user is not an Instagram Business", Rejected, "image_ratio"),
        ("threads", 100, None, "The user is not an Instagram Business", Rejected, "invalid"),
        ("threads", 100, None, "Param text: THREADS_API__LINK_LIMIT_EXCEEDED", Rejected, "too_many_links"),
        ("threads", 1, None, "THREADS_API__LINK_LIMIT_EXCEEDED", Unknown, "server_error"),
    ],
)
def test_a_sentence_counts_only_beside_its_code(
    platform: str, code: int, subcode: int | None, message: str, expected: type, name: str
) -> None:
    """Code 100 stands for anything that is invalid: there, what the error's own `message` says is told apart."""
    outcome = ADAPTERS[platform].read_publish(refusal(code, subcode, message=message), PART)
    assert isinstance(outcome, expected), outcome
    assert outcome.evidence.code == f"{platform}.{name}"


@pytest.mark.parametrize("platform", BOTH)
@pytest.mark.parametrize(("code", "subcode"), [(4, 2207051), (25, 2207050)])
def test_a_restricted_account_rests_for_a_day(platform: str, code: int, subcode: int) -> None:
    """Whatever becomes of the post: others of the account must not knock."""
    held = ADAPTERS[platform].usage(refusal(code, subcode))
    assert isinstance(held, RateLimited)
    assert (held.retry_after_seconds, held.scope) == (86_400.0, "account")


@pytest.mark.parametrize("platform", BOTH)
@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b"", Unknown),
        (200, b'{"id": ""}', Unknown),
        (200, b'{"id": "1"', Unknown),
        (302, b"", Transient),
        (403, b"<html>blocked</html>", Transient),
        (408, b"", Unknown),
        (429, b"{}", RateLimited),
        (500, b"", Unknown),
        (502, b"<html>", Unknown),
    ],
)
def test_an_answer_without_an_error_is_read_by_its_status(
    platform: str, status: int, body: bytes, expected: type
) -> None:
    """A 2xx without an id is accepted, most likely, and nobody can say under which."""
    outcome = ADAPTERS[platform].read_publish(Answer(status=status, body=body), PART)
    assert isinstance(outcome, expected), outcome
