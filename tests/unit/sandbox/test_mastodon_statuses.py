"""Statuses of the simulated Mastodon: limits, keys, listings, threads, tokens, rates."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from socialq.sandbox.mastodon.rate import RateWindow
from tests.fixtures_sandbox import MastodonUser, RunningSandbox


def ids(answer: requests.Response) -> list[str]:
    return [status["id"] for status in answer.json()]


def test_form_json_and_multipart_make_the_same_status(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """The three ways in which clients send a status."""
    fields = {"status": "naïve 🎈", "visibility": "unlisted", "language": "fr", "spoiler_text": "cw"}
    answers = [
        alice.call("POST", "/api/v1/statuses", **{way: fields}).json() for way in ("data", "json", "params")
    ]
    files = {name: (None, value) for name, value in fields.items()}
    answers.append(alice.call("POST", "/api/v1/statuses", files=files).json())
    for answer in answers:
        shown = {name: answer[name] for name in ("visibility", "language", "spoiler_text", "sensitive")}
        assert shown == {"visibility": "unlisted", "language": "fr", "spoiler_text": "cw", "sensitive": True}
    assert [row["text"] for row in sandbox.ledger()] == ["naïve 🎈"] * 4


def test_500_are_allowed_and_501_are_not(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """The limit is counted, a link as 23; one more is refused in Mastodon's words, nothing is posted."""
    link = "https://example.com/" + "x" * 300
    assert alice.post("é" * 476 + " " + link).status_code == 200
    answer = alice.post("é" * 477 + " " + link)
    assert answer.status_code == 422
    assert answer.json() == {"error": "Validation failed: Text character limit of 500 exceeded"}
    assert alice.post("é" * 477 + " " + link, spoiler_text="").status_code == 422
    assert len(sandbox.ledger()) == 1


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"status": " \n\u00a0 "}, 422, "Validation failed: Text can't be blank"),
        ({}, 422, "Validation failed: Text can't be blank"),
        ({"status": "x", "visibility": "secret"}, 422, "Validation failed: Visibility is not included"),
        ({"status": "x", "scheduled_at": "2030-01-01T00:00:00Z"}, 422, "Validation failed: Scheduled at"),
        ({"status": "x", "poll": {"options": ["a", "b"]}}, 422, "Validation failed: Poll"),
        ({"status": "x", "in_reply_to_id": "1"}, 404, "The post you are trying to reply to does not appear"),
        ({"status": "x", "media_ids": ["1", "2"]}, 422, "Media 1, 2 not found or already attached"),
        ({"status": "x", "media_ids": ["1", "2", "3", "4", "5"]}, 422, "Cannot attach more than 4 files"),
    ],
)
def test_what_mastodon_refuses_is_refused(
    sandbox: RunningSandbox, alice: MastodonUser, fields: dict[str, Any], status: int, error: str
) -> None:
    """Status and words as Mastodon's; the ledger stays empty."""
    answer = alice.call("POST", "/api/v1/statuses", json=fields)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(error)
    assert sandbox.ledger() == []


def test_a_repeated_key_returns_the_first_status(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """Also when the text changed; another account's same key is another key; no key is never a repeat."""
    first = alice.post("first", key="k")
    again = alice.post("second", key="k")
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    assert again.json()["content"] == "<p>first</p>"
    bob = MastodonUser(sandbox.create_account("bob"))
    bob.post("first", key="k")
    alice.post("same")
    alice.post("same")
    assert [row["text"] for row in sandbox.ledger()] == ["first", "first", "same", "same"]


def test_a_refused_request_does_not_use_up_its_key(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """A key is kept after success only."""
    assert alice.post("", key="k").status_code == 422
    assert alice.post("now", key="k").json()["content"] == "<p>now</p>"


def test_concurrent_requests_with_one_key_make_one_status(
    sandbox: RunningSandbox, alice: MastodonUser
) -> None:
    """Twenty at once: one post, and every answer is of it."""
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: alice.post("once", key="k").json()["id"], range(20)))
    assert answers == [sandbox.ledger()[0]["id"]] * 20
    assert len(sandbox.ledger()) == 1


def test_an_instance_may_ignore_keys(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """With the setting off a repeat is a second post, as on some compatible software."""
    sandbox.settings(honours_idempotency_key=False, max_characters=5)
    alice.post("twice", key="k")
    alice.post("twice", key="k")
    assert len(sandbox.ledger()) == 2
    assert alice.post("longer").json() == {"error": "Validation failed: Text character limit of 5 exceeded"}


def test_the_key_of_a_deleted_status_finds_nothing(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """The key still names the deleted status: 404, and no new post."""
    first = alice.post("first", key="k").json()["id"]
    alice.call("DELETE", f"/api/v1/statuses/{first}")
    answer = alice.post("first", key="k")
    assert (answer.status_code, answer.json()) == (404, {"error": "Record not found"})
    assert sandbox.ledger() == []


def test_ids_grow_and_listings_are_newest_first(alice: MastodonUser) -> None:
    """Ids are longer numbers the later the post; a listing has the newest on top."""
    made = [alice.post(f"post {number}").json()["id"] for number in range(5)]
    assert made == sorted(made, key=int)
    assert ids(alice.call("GET", f"/api/v1/accounts/{alice.account_id()}/statuses")) == made[::-1]


def test_a_listing_pages_both_ways(alice: MastodonUser) -> None:
    """limit, max_id, min_id and since_id as Mastodon reads them, and Link headers that lead on."""
    made = [alice.post(f"post {number}").json()["id"] for number in range(5)]
    path = f"/api/v1/accounts/{alice.account_id()}/statuses"
    first = alice.call("GET", f"{path}?limit=2&exclude_reblogs=true")
    assert ids(first) == [made[4], made[3]]
    links = dict(re.findall(r'<([^>]+)>; rel="(\w+)"', first.headers["Link"]))
    pages = {relation: address for address, relation in links.items()}
    assert "exclude_reblogs=true" in pages["next"]
    second = requests.get(pages["next"], headers=alice.headers, timeout=10)
    assert ids(second) == [made[2], made[1]]
    assert ids(requests.get(pages["prev"], headers=alice.headers, timeout=10)) == []
    assert ids(alice.call("GET", f"{path}?min_id={made[0]}&limit=2")) == [made[2], made[1]]
    assert ids(alice.call("GET", f"{path}?since_id={made[0]}&limit=2")) == [made[4], made[3]]
    last = alice.call("GET", f"{path}?max_id={made[1]}&limit=2")
    assert ids(last) == [made[0]]
    assert 'rel="next"' not in last.headers["Link"]


def test_exclude_replies_keeps_own_threads(alice: MastodonUser, user: Callable[[str], MastodonUser]) -> None:
    """A reply to somebody else is left out, the next part of an own thread is not."""
    foreign = user("bob").post("hello").json()["id"]
    root = alice.post("root").json()["id"]
    part = alice.post("part", in_reply_to_id=root).json()["id"]
    reply = alice.post("reply", in_reply_to_id=foreign).json()["id"]
    path = f"/api/v1/accounts/{alice.account_id()}/statuses"
    assert ids(alice.call("GET", path)) == [reply, part, root]
    assert ids(alice.call("GET", f"{path}?exclude_replies=true")) == [part, root]


def test_private_posts_are_seen_by_their_author_only(
    alice: MastodonUser, user: Callable[[str], MastodonUser]
) -> None:
    """Others find neither the status nor its line in the listing."""
    public = alice.post("open").json()["id"]
    private = alice.post("closed", visibility="private").json()["id"]
    path = f"/api/v1/accounts/{alice.account_id()}/statuses"
    assert ids(alice.call("GET", path)) == [private, public]
    bob = user("bob")
    assert ids(bob.call("GET", path)) == [public]
    assert bob.call("GET", f"/api/v1/statuses/{private}").status_code == 404


def test_a_thread_is_read_through_its_context(alice: MastodonUser) -> None:
    """Ancestors from the root down, descendants depth first."""
    root = alice.post("1").json()["id"]
    second = alice.post("2", in_reply_to_id=root).json()["id"]
    third = alice.post("3", in_reply_to_id=second).json()["id"]
    side = alice.post("2b", in_reply_to_id=root).json()["id"]
    context = alice.call("GET", f"/api/v1/statuses/{third}/context").json()
    assert [status["id"] for status in context["ancestors"]] == [root, second]
    context = alice.call("GET", f"/api/v1/statuses/{root}/context").json()
    assert [status["id"] for status in context["descendants"]] == [second, third, side]
    assert alice.call("GET", f"/api/v1/statuses/{root}").json()["replies_count"] == 2


def test_source_is_the_plain_text(alice: MastodonUser, user: Callable[[str], MastodonUser]) -> None:
    """What was sent, without surrounding space, for its author only."""
    post_id = alice.post("  see https://example.com/x & @bob@example.org\n", spoiler_text="cw").json()["id"]
    source = alice.call("GET", f"/api/v1/statuses/{post_id}/source").json()
    expected = {"text": "see https://example.com/x & @bob@example.org", "spoiler_text": "cw"}
    assert source == {"id": post_id, **expected}
    assert user("bob").call("GET", f"/api/v1/statuses/{post_id}/source").status_code == 404


def test_a_deleted_status_is_gone(
    sandbox: RunningSandbox, alice: MastodonUser, user: Callable[[str], MastodonUser]
) -> None:
    """Only its author can delete it; the answer has its text; nobody sees it afterwards."""
    post_id = alice.post("oops").json()["id"]
    path = f"/api/v1/statuses/{post_id}"
    assert user("bob").call("DELETE", path).status_code == 404
    assert alice.call("DELETE", path).json()["text"] == "oops"
    assert sandbox.ledger() == []
    assert alice.call("GET", path).json() == {"error": "Record not found"}
    assert alice.post("reply", in_reply_to_id=post_id).status_code == 404


def test_a_permalink_leads_to_the_wall(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """The status's url redirects to its place on the page, and that page has it."""
    status = alice.post("findable").json()
    answer = requests.get(status["url"], timeout=10)
    assert answer.url == f"{sandbox.url}/?platform=mastodon&account=alice#mastodon-{status['id']}"
    assert f'id="mastodon-{status["id"]}"' in answer.text


@pytest.mark.parametrize(
    ("authorization", "error"),
    [
        (None, "The access token is invalid"),
        ("Bearer wrong", "The access token is invalid"),
        ("Basic YTpi", "The access token is invalid"),
    ],
)
def test_no_valid_token_no_status(sandbox: RunningSandbox, authorization: str, error: str) -> None:
    """401 with Mastodon's words and challenge."""
    headers = {} if authorization is None else {"Authorization": authorization}
    url = f"{sandbox.url}/mastodon/api/v1/statuses"
    answer = requests.post(url, json={"status": "x"}, headers=headers, timeout=10)
    assert (answer.status_code, answer.json()) == (401, {"error": error})
    assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="Doorkeeper", error="invalid_token"')


def test_an_apps_own_token_speaks_for_nobody(sandbox: RunningSandbox) -> None:
    """client_credentials: the token verifies the app, and is outside the scopes or without a user."""
    base = f"{sandbox.url}/mastodon"
    registration = {"client_name": "t", "redirect_uris": "urn:ietf:wg:oauth:2.0:oob", "scopes": "read write"}
    app = requests.post(f"{base}/api/v1/apps", data=registration, timeout=10).json()
    grant = {"grant_type": "client_credentials", "client_id": app["client_id"], "scope": "read write"}
    grant["client_secret"] = app["client_secret"]
    token = requests.post(f"{base}/oauth/token", data=grant, timeout=10).json()
    assert (token["token_type"], token["scope"]) == ("Bearer", "read write")
    headers = {"Authorization": f"Bearer {token['access_token']}"}
    verified = requests.get(f"{base}/api/v1/apps/verify_credentials", headers=headers, timeout=10)
    assert verified.json()["scopes"] == ["read", "write"]
    answer = requests.post(f"{base}/api/v1/statuses", data={"status": "x"}, headers=headers, timeout=10)
    assert answer.json() == {"error": "This method requires an authenticated user"}
    wrong = requests.post(f"{base}/oauth/token", data={**grant, "client_secret": "x"}, timeout=10)
    assert (wrong.status_code, wrong.json()["error"]) == (401, "invalid_client")
    read_only = requests.post(f"{base}/oauth/token", data={**grant, "scope": "read"}, timeout=10).json()
    headers = {"Authorization": f"Bearer {read_only['access_token']}"}
    answer = requests.post(f"{base}/api/v1/statuses", data={"status": "x"}, headers=headers, timeout=10)
    assert answer.status_code == 403
    assert answer.json() == {"error": "This action is outside the authorized scopes"}


def test_every_answer_to_a_token_shows_the_rate(alice: MastodonUser) -> None:
    """Limit, remaining (going down) and reset, ISO with microseconds, also on errors."""
    first, second = alice.post("x").headers, alice.post("").headers
    assert first["X-RateLimit-Limit"] == "100000"
    assert int(second["X-RateLimit-Remaining"]) < int(first["X-RateLimit-Remaining"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", first["X-RateLimit-Reset"])


def test_a_rate_limit_can_be_enforced(start_sandbox: Callable[..., RunningSandbox]) -> None:
    """--rate-limit 3: soon an account is refused, while another's first request is not."""
    running = start_sandbox("--rate-limit", "3")
    alice, bob = (MastodonUser(running.create_account(name)) for name in ("alice", "bob"))
    # Eight, because a new window of five minutes may begin in between.
    refused = [answer for number in range(8) if (answer := alice.post(f"{number}")).status_code != 200]
    assert (refused[0].status_code, refused[0].json()) == (429, {"error": "Too many requests"})
    assert refused[0].headers["X-RateLimit-Remaining"] == "0"
    assert refused[0].headers["X-RateLimit-Limit"] == "3"
    assert bob.post("x").status_code == 200


def test_a_rate_window_counts_and_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly the limit passes within five minutes on the clock, then again as many."""
    clock = [1_000_000_200.0]
    monkeypatch.setattr("socialq.sandbox.mastodon.rate.time.time", lambda: clock[0])
    window = RateWindow(3)
    assert [window.take("alice") for _ in range(5)] == [True, True, True, False, False]
    assert window.headers("alice")["X-RateLimit-Reset"] == "2001-09-09T01:55:00.000000Z"
    clock[0] += 299
    assert window.take("alice") is ((clock[0] // 300) != (1_000_000_200 // 300))
    clock[0] = 1_000_000_500.0
    assert [window.take("alice") for _ in range(4)] == [True, True, True, False]


def test_the_instance_tells_its_limits(sandbox: RunningSandbox) -> None:
    """v1 and v2 say what is enforced, and follow the settings."""
    sandbox.settings(max_characters=5000)
    v2 = requests.get(f"{sandbox.url}/mastodon/api/v2/instance", timeout=10).json()
    v1 = requests.get(f"{sandbox.url}/mastodon/api/v1/instance", timeout=10).json()
    for answer in (v1, v2):
        statuses = answer["configuration"]["statuses"]
        assert statuses["max_characters"] == 5000
        assert (statuses["max_media_attachments"], statuses["characters_reserved_per_url"]) == (4, 23)
    assert v2["configuration"]["media_attachments"]["image_size_limit"] == 16_777_216


def test_an_unknown_path_is_mastodons_404(sandbox: RunningSandbox) -> None:
    """JSON, not the sandbox's own page."""
    answer = requests.get(f"{sandbox.url}/mastodon/api/v1/nothing", timeout=10)
    assert (answer.status_code, answer.json()) == (404, {"error": "Not Found"})
