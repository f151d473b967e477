"""Each kind of fault at each step of the simulated X, as a caller meets it, and rate limits."""

import time
from collections.abc import Callable

import pytest
import requests

from tests.fixtures_sandbox import RunningSandbox
from tests.unit.sandbox.x.conftest import XUser, problem
from tests.unit.sandbox.x.test_media import picture

REFUSALS = {
    "refuse_500": (500, "Internal Server Error", "Internal Server Error"),
    "refuse_503": (503, "Service Unavailable", "Service Unavailable"),
    "rate_limit": (429, "Too Many Requests", "Too Many Requests"),
    "auth_revoked": (401, "Unauthorized", "Unauthorized"),
    "permission": (403, "Forbidden", "Forbidden"),
    "validation": (400, "Invalid Request", "One or more parameters to your request was invalid."),
    "duplicate": (403, "Forbidden", "You are not allowed to create a Tweet with duplicate content."),
}
SILENT = {
    "accept_then_hang": (requests.exceptions.ReadTimeout, True),
    "accept_then_reset": (requests.exceptions.ConnectionError, True),
    "hang_before": (requests.exceptions.ReadTimeout, False),
    "reset_before": (requests.exceptions.ConnectionError, False),
}


def plan(sandbox: RunningSandbox, user: XUser, step: str, kind: str, **more: object) -> None:
    sandbox.faults([{"platform": "x", "account": user.name, "step": step, "kind": kind, **more}])


def texts(sandbox: RunningSandbox, user: XUser) -> list[str]:
    return [row["text"] for row in sandbox.ledger("x", user.name)]


def publish(user: XUser, timeout: float) -> requests.Response:
    return user.post("fault", timeout=timeout)


def prepare(user: XUser, timeout: float) -> requests.Response:
    files = {"media": ("upload.bin", picture(), "image/png")}
    data = {"media_category": "tweet_image"}
    return user.call("POST", "/2/media/upload", files=files, data=data, timeout=timeout)


def look(user: XUser, timeout: float) -> requests.Response:
    return user.call("GET", "/2/users/1/tweets", timeout=timeout)


STEPS: dict[str, Callable[[XUser, float], requests.Response]] = {
    "publish": publish,
    "prepare": prepare,
    "look": look,
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", REFUSALS)
def test_refusals_are_x_own_problems(sandbox: RunningSandbox, alice: XUser, step: str, kind: str) -> None:
    """Problem details in X's words; nothing is done; the next request goes through."""
    plan(sandbox, alice, step, kind)
    assert problem(STEPS[step](alice, 5)) == REFUSALS[kind]
    assert texts(sandbox, alice) == []
    assert STEPS[step](alice, 5).ok
    assert sandbox.faults()[0]["fired"] == 1


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", SILENT)
def test_lost_answers_tell_nothing_of_what_was_done(
    sandbox: RunningSandbox, alice: XUser, step: str, kind: str
) -> None:
    """Silence or a reset; only the ledger knows whether there is a post."""
    error, is_done = SILENT[kind]
    plan(sandbox, alice, step, kind)
    with pytest.raises(error):
        STEPS[step](alice, 0.4)
    assert texts(sandbox, alice) == (["fault"] if is_done and step == "publish" else [])


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["empty_2xx", "garbage_2xx", "accept_then_500"])
def test_unreadable_answers_are_of_things_done(
    sandbox: RunningSandbox, alice: XUser, step: str, kind: str
) -> None:
    """Done, then an empty body, a body that is no JSON, or X's own 500."""
    plan(sandbox, alice, step, kind)
    answer = STEPS[step](alice, 5)
    assert answer.status_code == (500 if kind == "accept_then_500" else 200)
    if kind != "accept_then_500":
        with pytest.raises(requests.exceptions.JSONDecodeError):
            answer.json()
    assert texts(sandbox, alice) == (["fault"] if step == "publish" else [])


@pytest.mark.parametrize("step", STEPS)
def test_slow_is_right_but_late(sandbox: RunningSandbox, alice: XUser, step: str) -> None:
    """The answer comes after delay_ms, and is what it would have been."""
    plan(sandbox, alice, step, "slow", delay_ms=300)
    began = time.monotonic()
    assert STEPS[step](alice, 5).ok
    assert time.monotonic() - began >= 0.3


def test_a_repeat_after_a_lost_answer_is_a_duplicate(sandbox: RunningSandbox, alice: XUser) -> None:
    """The post is live, so the same text again is refused: the evidence of the first."""
    plan(sandbox, alice, "publish", "accept_then_reset")
    with pytest.raises(requests.exceptions.ConnectionError):
        alice.post("once")
    assert problem(alice.post("once")) == REFUSALS["duplicate"]
    assert texts(sandbox, alice) == ["once"]
    assert sandbox.calls()["x"][alice.name] == {"requests": 2, "accepted": 1}


def test_a_lost_answer_needs_something_to_lose(sandbox: RunningSandbox, alice: XUser) -> None:
    """A post that X itself refuses is refused, and the fault waits for the next."""
    plan(sandbox, alice, "publish", "accept_then_reset")
    assert alice.post("x" * 281).status_code == 403
    assert sandbox.faults()[0]["fired"] == 0


def test_a_rate_limit_fault_says_when_to_come_back(sandbox: RunningSandbox, alice: XUser) -> None:
    """Nothing remaining, and the reset in epoch seconds."""
    plan(sandbox, alice, "publish", "rate_limit", retry_after_s=90)
    headers = alice.post("x").headers
    assert (headers["x-rate-limit-limit"], headers["x-rate-limit-remaining"]) == ("100", "0")
    assert 85 < int(headers["x-rate-limit-reset"]) - time.time() < 92


def test_every_endpoint_has_its_own_count(sandbox: RunningSandbox, alice: XUser) -> None:
    """Remaining falls per endpoint; unlimited by default, so it never comes near zero."""
    first = int(alice.post("one").headers["x-rate-limit-remaining"])
    assert int(alice.post("two").headers["x-rate-limit-remaining"]) == first - 1
    assert int(alice.call("GET", "/2/users/me").headers["x-rate-limit-remaining"]) >= 99_990
    reset = int(alice.post("three").headers["x-rate-limit-reset"])
    assert 0 <= reset - time.time() <= 900


def test_documented_limits_can_be_enforced(sandbox: RunningSandbox, alice: XUser) -> None:
    """With enforces_limits the 76th users/me within a window is refused; other endpoints go on."""
    sandbox.settings("x", enforces_limits=True)
    answers = [alice.call("GET", "/2/users/me") for _ in range(76)]
    # A window may end in between; then the count begins anew, which 76 more requests can't hide.
    answers += [alice.call("GET", "/2/users/me") for _ in range(76)] if answers[-1].ok else []
    assert problem(answers[-1]) == REFUSALS["rate_limit"]
    assert answers[0].headers["x-rate-limit-limit"] == "75"
    assert answers[-1].headers["x-rate-limit-remaining"] == "0"
    assert alice.post("still").status_code == 201


def test_a_limit_can_be_given_at_the_start(start_sandbox: Callable[..., RunningSandbox]) -> None:
    """--rate-limit holds for each endpoint."""
    alice = XUser(start_sandbox("--rate-limit", "2").create_account("alice", "x"))
    answers = [alice.post(f"post {number}").status_code for number in range(5)]
    assert answers[:2] == [201, 201]
    assert 429 in answers[2:]


def test_no_credits_is_the_apps_trouble(sandbox: RunningSandbox, alice: XUser) -> None:
    """402 CreditsDepleted on every call, until the setting is taken back."""
    sandbox.settings("x", credits_depleted=True)
    answer = alice.post("x")
    assert problem(answer)[:2] == (402, "CreditsDepleted")
    assert answer.json()["type"].endswith("/problems/credits")
    sandbox.settings("x", credits_depleted=False)
    assert alice.post("x").status_code == 201


def test_an_unknown_path_is_a_problem_too(alice: XUser) -> None:
    """404 about:blank."""
    assert problem(alice.call("GET", "/2/nothing")) == (404, "Not Found", "Not Found")
