"""Each kind of fault as a caller meets it, and what is in the ledger afterwards."""

import socket
import struct
import time
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.fixtures_sandbox import MastodonUser, RunningSandbox


def plan(sandbox: RunningSandbox, kind: str, **more: Any) -> None:
    sandbox.faults([{"platform": "mastodon", "step": "publish", "kind": kind, **more}])


def texts(sandbox: RunningSandbox) -> list[str]:
    return [row["text"] for row in sandbox.ledger("mastodon", "alice")]


def counts(sandbox: RunningSandbox) -> dict[str, int]:
    return sandbox.calls()["mastodon"]["alice"]


def test_accept_then_hang_keeps_the_caller_waiting_for_a_live_post(
    sandbox: RunningSandbox, alice: MastodonUser
) -> None:
    """No byte of an answer comes; the post is in the ledger while the caller still waits."""
    plan(sandbox, "accept_then_hang")
    with pytest.raises(requests.exceptions.ReadTimeout):
        alice.post("live", timeout=0.4)
    assert texts(sandbox) == ["live"]
    assert counts(sandbox) == {"requests": 1, "accepted": 1}


def test_a_hang_ends_after_its_delay(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """delay_ms bounds the silence: then the socket closes without an answer."""
    plan(sandbox, "accept_then_hang", delay_ms=200)
    began = time.monotonic()
    with pytest.raises(requests.exceptions.ConnectionError):
        alice.post("live")
    assert 0.2 <= time.monotonic() - began < 5
    assert texts(sandbox) == ["live"]


@pytest.mark.parametrize(("kind", "live"), [("accept_then_reset", ["x"]), ("reset_before", [])])
def test_a_reset_is_a_real_one(
    sandbox: RunningSandbox, alice: MastodonUser, kind: str, live: list[str]
) -> None:
    """The caller's socket sees ECONNRESET, not an orderly end; the ledger tells the two kinds apart."""
    plan(sandbox, kind)
    with pytest.raises(ConnectionResetError), raw_publish(alice, "x") as connection:
        connection.recv(1000)
    assert texts(sandbox) == live


def test_accept_then_500_answers_an_error_page_for_a_live_post(
    sandbox: RunningSandbox, alice: MastodonUser
) -> None:
    """The body is the static page of a crashed server, and the post is live."""
    plan(sandbox, "accept_then_500")
    answer = alice.post("live")
    assert (answer.status_code, answer.headers["Content-Type"]) == (500, "text/html; charset=utf-8")
    assert "something went wrong" in answer.text
    assert texts(sandbox) == ["live"]


def test_hang_before_accepts_nothing(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """The request is counted, and that is all that ever happens."""
    plan(sandbox, "hang_before")
    with pytest.raises(requests.exceptions.ReadTimeout):
        alice.post("never", timeout=0.3)
    assert texts(sandbox) == []
    assert counts(sandbox) == {"requests": 1, "accepted": 0}


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        ("refuse_503", 503, "There was a temporary problem serving your request, please try again"),
        ("rate_limit", 429, "Too many requests"),
        ("auth_revoked", 401, "The access token is invalid"),
        ("permission", 403, "This action is outside the authorized scopes"),
        ("validation", 422, "Validation failed: Text character limit of 500 exceeded"),
        ("duplicate", 422, "Validation failed: duplicate"),
    ],
)
def test_refusals_speak_as_mastodon_does(
    sandbox: RunningSandbox, alice: MastodonUser, kind: str, status: int, error: str
) -> None:
    """Status and body are the platform's own; nothing is accepted; the next request goes through."""
    plan(sandbox, kind)
    answer = alice.post("refused")
    assert (answer.status_code, answer.json()) == (status, {"error": error})
    assert texts(sandbox) == []
    assert alice.post("fine").status_code == 200
    assert counts(sandbox) == {"requests": 2, "accepted": 1}


def test_refuse_500_accepts_nothing(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """The same page as after a lost answer: only the ledger knows the difference."""
    plan(sandbox, "refuse_500")
    answer = alice.post("refused")
    assert (answer.status_code, answer.headers["Content-Type"]) == (500, "text/html; charset=utf-8")
    assert texts(sandbox) == []


def test_a_rate_limit_says_when_to_come_back(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """Remaining 0 and a reset, ISO with microseconds, retry_after_s from now; no Retry-After."""
    plan(sandbox, "rate_limit", retry_after_s=90)
    headers = alice.post("x").headers
    reset = time.mktime(time.strptime(headers["X-RateLimit-Reset"], "%Y-%m-%dT%H:%M:%S.%fZ")) - time.timezone
    assert 85 < reset - time.time() < 92
    assert headers["X-RateLimit-Remaining"] == "0"
    assert "Retry-After" not in headers


def test_slow_answers_rightly_but_late(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """After delay_ms the post is accepted and answered."""
    plan(sandbox, "slow", delay_ms=300)
    began = time.monotonic()
    answer = alice.post("late")
    assert time.monotonic() - began >= 0.3
    assert answer.json()["content"] == "<p>late</p>"
    assert texts(sandbox) == ["late"]


def test_slow_accepts_even_if_the_caller_gave_up(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """A caller that times out first has published all the same, a moment later."""
    plan(sandbox, "slow", delay_ms=400)
    with pytest.raises(requests.exceptions.ReadTimeout):
        alice.post("late", timeout=0.15)
    assert texts(sandbox) == []
    deadline = time.monotonic() + 5
    while texts(sandbox) != ["late"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("kind", ["empty_2xx", "garbage_2xx"])
def test_an_unreadable_success_is_of_a_live_post(
    sandbox: RunningSandbox, alice: MastodonUser, kind: str
) -> None:
    """200 with a body that is empty or no JSON; the post is live."""
    plan(sandbox, kind)
    answer = alice.post("live")
    assert answer.status_code == 200
    with pytest.raises(requests.exceptions.JSONDecodeError):
        answer.json()
    assert (answer.content == b"") is (kind == "empty_2xx")
    assert texts(sandbox) == ["live"]


def test_a_lost_answer_needs_something_to_lose(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """A post that the platform itself refuses is refused; the fault waits for one that it accepts."""
    plan(sandbox, "accept_then_reset")
    assert alice.post(" ").status_code == 422
    assert sandbox.faults()[0]["fired"] == 0
    with pytest.raises(requests.exceptions.ConnectionError):
        alice.post("live")
    assert texts(sandbox) == ["live"]
    assert sandbox.faults()[0]["fired"] == 1


def test_a_repeat_with_the_same_key_finds_the_post_behind_a_lost_answer(
    sandbox: RunningSandbox, alice: MastodonUser
) -> None:
    """Answer lost, request repeated with its key: one post, its id in the second answer."""
    plan(sandbox, "accept_then_reset")
    with pytest.raises(requests.exceptions.ConnectionError):
        alice.post("once", key="k")
    answer = alice.post("once", key="k")
    assert [row["id"] for row in sandbox.ledger()] == [answer.json()["id"]]
    assert counts(sandbox) == {"requests": 2, "accepted": 1}


def test_steps_are_told_apart(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """Rules for look and prepare strike listings and uploads and leave publishing alone."""
    rule = {"platform": "mastodon", "kind": "refuse_503", "times": None}
    account_id = alice.account_id()
    sandbox.faults([{**rule, "step": "look"}, {**rule, "step": "prepare", "kind": "rate_limit"}])
    post_id = alice.post("fine").json()["id"]
    looks = [f"/api/v1/accounts/{account_id}/statuses", f"/api/v1/statuses/{post_id}/source"]
    assert [alice.call("GET", path).status_code for path in looks] == [503, 503]
    assert alice.call("GET", "/api/v2/instance").status_code == 429
    assert alice.upload(b"x").status_code == 429


def test_a_rule_for_one_account_spares_the_others(
    sandbox: RunningSandbox, alice: MastodonUser, user: Any
) -> None:
    """`account` is the account behind the token."""
    plan(sandbox, "refuse_503", account="bob", times=None)
    assert alice.post("x").status_code == 200
    assert user("bob").post("x").status_code == 503


def test_a_hanging_caller_that_leaves_frees_the_sandbox(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """When the caller closes, the hang is over and its thread ends at once, long before delay_ms."""
    plan(sandbox, "hang_before", times=None)
    connections = [raw_publish(alice, "x") for _ in range(20)]
    wait_for(lambda: counts(sandbox)["requests"] == 20)
    assert threads_of(sandbox.pid) > 20
    for connection in connections:
        connection.close()
    wait_for(lambda: threads_of(sandbox.pid) < 20)


def raw_publish(user: MastodonUser, text: str) -> socket.socket:
    """A publish request on a bare socket, its answer unread."""
    host, port = user.base_url.split("/")[2].split(":")
    connection = socket.create_connection((host, int(port)), timeout=5)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
    body = f"status={text}".encode()
    head = (
        f"POST /mastodon/api/v1/statuses HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Authorization: {user.headers['Authorization']}\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection


def threads_of(pid: int) -> int:
    with Path(f"/proc/{pid}/status").open() as status:
        return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))


def wait_for(condition: Any, seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
