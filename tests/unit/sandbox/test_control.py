"""The control interface that other programs steer the sandbox with."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from tests.fixtures_sandbox import MastodonUser, RunningSandbox

RULE = {"platform": "mastodon", "step": "publish", "kind": "refuse_503"}


def send(sandbox: RunningSandbox, method: str, path: str, **arguments: Any) -> requests.Response:
    return requests.request(method, f"{sandbox.url}{path}", timeout=10, **arguments)


def test_a_ledger_row_has_the_promised_fields(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """Exactly the seven fields, text as it was sent, times in UTC."""
    first = alice.post("one").json()["id"]
    alice.post("two", in_reply_to_id=first)
    one, two = sandbox.ledger()
    assert list(one) == ["platform", "account", "id", "text", "media", "created_at", "reply_to"]
    assert (one["platform"], one["account"], one["id"], one["text"]) == ("mastodon", "alice", first, "one")
    assert (one["reply_to"], two["reply_to"]) == (None, first)
    age = datetime.now(UTC) - datetime.fromisoformat(one["created_at"])
    assert timedelta(0) <= age < timedelta(minutes=1)


def test_the_ledger_is_filtered_and_emptied(sandbox: RunningSandbox, user: Any) -> None:
    """By platform and account; after DELETE there is nothing, and an old key makes a new post."""
    user("alice").post("a", key="k")
    user("bob").post("b")
    assert [row["text"] for row in sandbox.ledger("mastodon")] == ["a", "b"]
    assert [row["text"] for row in sandbox.ledger(account="bob")] == ["b"]
    assert sandbox.ledger("mastodon", "carol") == []
    assert sandbox.ledger("elsewhere") == []
    sandbox.control("DELETE", "/_ledger")
    assert sandbox.ledger() == []
    user("alice").post("again", key="k")
    assert [row["text"] for row in sandbox.ledger()] == ["again"]


def test_calls_count_requests_and_acceptances_apart(sandbox: RunningSandbox, user: Any) -> None:
    """Refused, repeated and unreadable requests count as requests only; DELETE begins anew."""
    alice = user("alice")
    alice.post("fine", key="k")
    alice.post("fine", key="k")
    alice.post("")
    alice.call("POST", "/api/v1/statuses", data=b"{", headers={"Content-Type": "application/json"})
    user("bob").post("fine")
    alice.call("POST", "/api/v1/statuses", headers={"Authorization": "Bearer nobody's"})
    assert sandbox.calls() == {
        "mastodon": {
            "alice": {"requests": 4, "accepted": 1},
            "bob": {"requests": 1, "accepted": 1},
            "(unknown)": {"requests": 1, "accepted": 0},
        }
    }
    sandbox.control("DELETE", "/_calls")
    assert sandbox.calls() == {}
    assert sandbox.requests() == []


def test_requests_show_when_each_arrived(sandbox: RunningSandbox, user: Any) -> None:
    """Arrival with microseconds on both clocks, key, text, accepted; filtered, the last ones kept."""
    before = datetime.now(UTC)
    user("alice").post("first", key="k-1")
    user("alice").post(" ", key="k-2")
    user("bob").post("other")
    first, second = sandbox.requests("mastodon", "alice")
    assert (first["idempotency_key"], first["text"], first["accepted"]) == ("k-1", "first", True)
    assert (second["idempotency_key"], second["text"], second["accepted"]) == ("k-2", " ", False)
    assert before <= datetime.fromisoformat(first["received_at"]) <= datetime.now(UTC)
    assert len(first["received_at"]) == len("2026-11-30T18:00:00.000000Z")
    assert first["received_monotonic"] < second["received_monotonic"]
    last = send(sandbox, "GET", "/_requests?limit=1").json()
    assert [entry["account"] for entry in last] == ["bob"]


def test_an_account_is_made_once_and_keeps_its_token(sandbox: RunningSandbox) -> None:
    """The same answer twice; listed; revoked it has no token, and asking again gives a new one."""
    first = sandbox.create_account("dora", display_name="Dora D.")
    assert sandbox.create_account("dora") == first
    assert first["base_url"] == f"{sandbox.url}/mastodon"
    assert first["scopes"] == "read:accounts read:statuses write:statuses write:media"
    assert first in sandbox.accounts("mastodon")
    sandbox.revoke("dora")
    shown = next(account for account in sandbox.accounts() if account["account"] == "dora")
    assert shown["access_token"] is None
    renewed = sandbox.create_account("dora")
    assert renewed["access_token"] not in {None, first["access_token"]}
    assert MastodonUser(first).post("x").status_code == 401
    assert MastodonUser(renewed).post("x").status_code == 200


def test_the_shown_plan_counts_what_fired(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """GET /_faults has each rule's fields with defaults filled in, and its counts."""
    sandbox.faults([{**RULE, "skip": 1}])
    alice.post("passes")
    alice.post("struck")
    assert sandbox.faults() == [
        {
            **RULE,
            "account": None,
            "skip": 1,
            "times": 1,
            "probability": 1,
            "seed": None,
            "delay_ms": None,
            "retry_after_s": None,
            "fired": 1,
            "seen": 2,
        }
    ]


def test_a_wrong_plan_replaces_nothing(sandbox: RunningSandbox) -> None:
    """400, the rule's index, field and problem; the plan in force stays as it was."""
    kept = sandbox.faults([RULE])
    answer = send(sandbox, "POST", "/_faults", json=[RULE, {**RULE, "times": -1}])
    assert answer.status_code == 400
    problem = "must be a whole number of at least 0 or null"
    assert answer.json() == {
        "error": f"rule 1, times: {problem}",
        "rule": 1,
        "field": "times",
        "problem": problem,
    }
    assert sandbox.faults() == kept


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "problem"),
    [
        ("POST", "/_faults", b"{not json", 400, "Body is not JSON"),
        ("POST", "/_accounts", b"[]", 400, "JSON object"),
        (
            "POST",
            "/_accounts",
            b'{"platform":"nope","account":"x"}',
            400,
            "platform: must be one of ",
        ),
        ("POST", "/_accounts", b'{"platform":"mastodon","account":"a b"}', 400, "account: must be"),
        ("POST", "/_accounts", b'{"platform":"mastodon"}', 400, "account: must be"),
        ("POST", "/_accounts", b'{"platform":["x"],"account":"a"}', 400, "platform: must be"),
        (
            "POST",
            "/_accounts",
            b'{"platform":"mastodon","account":"a","display_name":5}',
            400,
            "display_name: must be text",
        ),
        ("POST", "/_accounts/revoke", b'{"platform":"mastodon","account":"ghost"}', 400, "does not exist"),
        ("POST", "/_settings", b'{"mastodon":{"speed":1}}', 400, "mastodon.speed: no such setting"),
        ("POST", "/_settings", b'{"mastodon":{"max_characters":"9"}}', 400, "must be of type int"),
        ("POST", "/_settings", b'{"myspace":{}}', 400, "myspace: no such platform"),
        ("POST", "/_settings", b"[]", 400, "{platform: {setting: value}}"),
        ("GET", "/_requests?limit=many", None, 400, "limit: must be a whole number"),
        ("GET", "/_nothing", None, 404, "/_nothing is not offered"),
        ("DELETE", "/_faults", None, 405, "DELETE /_faults is not offered"),
    ],
)
def test_wrong_input_is_answered_clearly(
    sandbox: RunningSandbox, method: str, path: str, body: bytes | None, status: int, problem: str
) -> None:
    """A status and one sentence; never a 500."""
    answer = send(sandbox, method, path, data=body)
    assert answer.status_code == status
    assert problem in answer.json()["error"]
