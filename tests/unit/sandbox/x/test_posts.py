"""Posts on the simulated X: what is accepted, what is refused and with which words, what is found again."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.fixtures_sandbox import RunningSandbox
from tests.unit.sandbox.x.conftest import XUser, problem

MakeUser = Callable[..., XUser]
DUPLICATE = "You are not allowed to create a Tweet with duplicate content."
NOT_PERMITTED = "You are not permitted to perform this action."
EPOCH_MS = 1_288_834_974_657


def test_a_post_is_accepted_and_in_the_ledger_as_it_was_sent(sandbox: RunningSandbox, alice: XUser) -> None:
    """201 with id, text and edit history; the ledger has the text before X changed it."""
    answer = alice.post("A & B https://example.com")
    data = answer.json()["data"]
    assert (answer.status_code, data["edit_history_tweet_ids"]) == (201, [data["id"]])
    (row,) = sandbox.ledger("x", alice.name)
    assert (row["id"], row["text"], row["reply_to"]) == (data["id"], "A & B https://example.com", None)


def test_ids_tell_the_time_as_those_of_x_do(alice: XUser) -> None:
    """Milliseconds since X's own epoch, shifted by 22 bits: nineteen digits, growing."""
    post_id = alice.posted("one")
    assert abs((int(post_id) >> 22) + EPOCH_MS - time.time() * 1000) < 60_000
    assert int(alice.posted("two")) > int(post_id)
    assert len(post_id) == 19


def test_a_thread_is_a_chain_of_replies(sandbox: RunningSandbox, alice: XUser) -> None:
    """Each part names its parent, its conversation and whom it answers."""
    first = alice.posted("one")
    second = alice.reply("two", first).json()["data"]["id"]
    third = alice.reply("three", second).json()["data"]["id"]
    wanted = ("referenced_tweets", "conversation_id", "in_reply_to_user_id", "author_id")
    read = alice.read(third, *wanted)
    assert read["referenced_tweets"] == [{"type": "replied_to", "id": second}]
    assert (read["conversation_id"], read["in_reply_to_user_id"]) == (first, read["author_id"])
    assert [row["reply_to"] for row in sandbox.ledger("x", alice.name)] == [None, first, second]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"text": "x", "unknown": 1}, "$.unknown: is not defined in the schema"),
        ({"text": 5}, "$.text: must be a string"),
        ({"text": " "}, "One of `text` or `media` must be given."),
        ({}, "One of `text` or `media` must be given."),
        ({"text": "x", "media": {"media_ids": []}}, "must be between 1 and 4 items"),
        ({"text": "x", "media": {"media_ids": ["1"] * 5}}, "must be between 1 and 4 items"),
        ({"text": "x", "media": {"media_ids": [1]}}, "must be an array of ids"),
        ({"text": "x", "media": {"media_ids": ["1"]}}, "Your media IDs are invalid."),
        ({"text": "x", "reply": {}}, "in_reply_to_tweet_id: does not match"),
        ({"text": "x", "reply_settings": "nobody"}, "$.reply_settings: does not have a value"),
        ({"text": "x", "poll": {"options": ["a", "b"]}}, "not offered by this sandbox"),
        ({"text": "$AAPL and $MSFT"}, "Posts are limited to a maximum of one cashtag."),
        ({"text": "bad \ufeff"}, "contains invalid characters"),
    ],
)
def test_invalid_requests_are_named(
    sandbox: RunningSandbox, alice: XUser, body: dict[str, Any], words: str
) -> None:
    """400 invalid-request; the error says which field; nothing is accepted."""
    answer = alice.call("POST", "/2/tweets", json=body)
    status, title, _ = problem(answer)
    assert (status, title) == (400, "Invalid Request")
    assert answer.json()["type"] == "https://api.x.com/2/problems/invalid-request"
    assert words in answer.json()["errors"][0]["message"]
    assert sandbox.ledger("x", alice.name) == []


def test_one_cashtag_is_fine(alice: XUser) -> None:
    """Only a second one is too many."""
    assert alice.post("Up: $AAPL").status_code == 201


def test_a_body_must_be_json(alice: XUser) -> None:
    """Forms are refused with X's words."""
    answer = alice.call("POST", "/2/tweets", data={"text": "x"})
    detail = "Requests with bodies must have content-type of application/json."
    assert problem(answer) == (400, "Invalid Request", detail)
    broken = alice.call("POST", "/2/tweets", data=b"{", headers={"Content-Type": "application/json"})
    assert problem(broken)[0] == 400


def test_half_a_character_is_refused_and_spoils_nothing(sandbox: RunningSandbox, alice: XUser) -> None:
    """A lone surrogate in JSON: 400, and the log of requests can still be read."""
    headers = {"Content-Type": "application/json"}
    answer = alice.call("POST", "/2/tweets", data=b'{"text": "half \\ud83d"}', headers=headers)
    assert problem(answer)[0] == 400
    assert [request["text"] for request in sandbox.requests("x", alice.name)] == ["half ?"]


@pytest.mark.parametrize("text", ["x" * 281, "€" * 141, "👍" * 141, f"{'x' * 257} b.org"])
def test_a_text_above_the_limit_is_not_permitted(alice: XUser, text: str) -> None:
    """403, whose words say nothing about length; one unit less is accepted."""
    assert problem(alice.post(text)) == (403, "Forbidden", NOT_PERMITTED)
    assert alice.post(text[1:]).status_code == 201


def test_the_limit_can_be_a_subscribers(sandbox: RunningSandbox, alice: XUser) -> None:
    """With max_characters 25000 a long text is accepted, shown cut, and whole in its note."""
    sandbox.settings("x", max_characters=25_000)
    post_id = alice.posted("word " * 200)
    read = alice.read(post_id, "note_tweet")
    assert len(read["text"]) < 300
    assert read["note_tweet"]["text"] == ("word " * 200).strip()


def test_the_same_text_again_is_a_duplicate(sandbox: RunningSandbox, alice: XUser) -> None:
    """Also with other space at its ends, in another Unicode form, as a reply, or after deletion."""
    first = alice.posted("café au lait")
    for again in ("café au lait", " café au lait\n", "cafe\u0301 au lait"):
        assert problem(alice.post(again)) == (403, "Forbidden", DUPLICATE)
    assert problem(alice.reply("café au lait", first)) == (403, "Forbidden", DUPLICATE)
    assert alice.call("DELETE", f"/2/tweets/{first}").json() == {"data": {"deleted": True}}
    assert problem(alice.post("café au lait"))[2] == DUPLICATE
    assert sandbox.calls()["x"][alice.name] == {"requests": 6, "accepted": 1}


def test_duplicates_are_of_one_account_and_one_window(
    sandbox: RunningSandbox, alice: XUser, x_user: MakeUser
) -> None:
    """Another account may say the same; after duplicate_window_s the same account may too."""
    alice.posted("same")
    assert x_user("bob").post("same").status_code == 201
    sandbox.settings("x", duplicate_window_s=0)
    assert alice.post("same").status_code == 201
    assert len(sandbox.ledger("x", alice.name)) == 2


def test_two_equal_texts_at_the_same_moment_make_one_post(sandbox: RunningSandbox, alice: XUser) -> None:
    """Eight at once: one is accepted, seven are duplicates."""
    statuses: list[int] = []
    barrier = threading.Barrier(8)

    def publish() -> None:
        barrier.wait()
        statuses.append(alice.post("at once").status_code)

    threads = [threading.Thread(target=publish) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [201] + [403] * 7
    assert len(sandbox.ledger("x", alice.name)) == 1


def test_replies_need_a_parent_that_can_be_seen(sandbox: RunningSandbox, alice: XUser) -> None:
    """Missing, deleted, or younger than reply_lag_ms: 403 with the same words."""
    words = "You attempted to reply to a Tweet that is deleted or not visible to you."
    assert problem(alice.reply("x", "12345")) == (403, "Forbidden", words)
    sandbox.settings("x", reply_lag_ms=400)
    parent = alice.posted("parent")
    assert problem(alice.reply("child", parent)) == (403, "Forbidden", words)
    wait_for(lambda: alice.reply("child", parent).status_code == 201)


def test_a_stranger_is_answered_only_if_he_asked_for_it(x_user: MakeUser) -> None:
    """A reply to another's post needs a mention in it."""
    alice, bob = x_user("alice"), x_user("bob")
    unasked, asked = bob.posted("hello"), bob.posted(f"hello @{alice.name}")
    status, _, detail = problem(alice.reply("hi", unasked))
    assert status == 403
    assert "have not been mentioned" in detail
    assert alice.reply("hi", asked).status_code == 201


def test_quoting_is_not_permitted(alice: XUser) -> None:
    """Only enterprise customers may."""
    assert problem(alice.post("x", quote_tweet_id="1")) == (403, "Forbidden", NOT_PERMITTED)


def test_only_own_posts_are_deleted(sandbox: RunningSandbox, x_user: MakeUser) -> None:
    """Another's is forbidden; what is not there counts as deleted."""
    alice, bob = x_user("alice"), x_user("bob")
    post_id = bob.posted("mine")
    assert alice.call("DELETE", f"/2/tweets/{post_id}").status_code == 403
    assert bob.call("DELETE", f"/2/tweets/{post_id}").json() == {"data": {"deleted": True}}
    assert bob.call("DELETE", f"/2/tweets/{post_id}").json() == {"data": {"deleted": True}}
    assert sandbox.ledger("x", bob.name) == []


def test_what_is_not_there_is_told_inside_a_success(alice: XUser) -> None:
    """200 with errors instead of data, for one post, for several and for an unknown user's listing."""
    post_id = alice.posted("here")
    one = alice.call("GET", "/2/tweets/999").json()
    assert "data" not in one
    assert one["errors"][0]["type"] == "https://api.x.com/2/problems/resource-not-found"
    several = alice.call("GET", f"/2/tweets?ids={post_id},999").json()
    assert ([post["id"] for post in several["data"]], len(several["errors"])) == ([post_id], 1)
    assert "data" not in alice.call("GET", "/2/users/999/tweets").json()


def test_only_the_fields_asked_for_are_shown(alice: XUser) -> None:
    """Bare: id, text and history. created_at has whole seconds."""
    post_id = alice.posted("x #tag")
    assert set(alice.read(post_id)) == {"id", "text", "edit_history_tweet_ids"}
    read = alice.read(post_id, "created_at", "entities", "public_metrics", "reply_settings")
    assert set(read) - {"id", "text", "edit_history_tweet_ids"} == {
        "created_at",
        "entities",
        "public_metrics",
        "reply_settings",
    }
    assert read["created_at"].endswith(".000Z")
    assert read["public_metrics"]["retweet_count"] == 0
    assert read["reply_settings"] == "everyone"


def test_answers_speak_the_generation_they_are_asked_in(sandbox: RunningSandbox, alice: XUser) -> None:
    """post.fields brings referenced_posts and edit_history_post_ids; either generation can be switched off."""
    first = alice.posted("one")
    second = alice.reply("two", first).json()["data"]["id"]
    path = f"/2/tweets/{second}"
    new = alice.call("GET", f"{path}?post.fields=public_metrics&expansions=referenced_posts").json()
    assert new["data"]["referenced_posts"] == [{"type": "replied_to", "id": first}]
    assert new["data"]["edit_history_post_ids"] == [second]
    assert "repost_count" in new["data"]["public_metrics"]
    assert [post["id"] for post in new["includes"]["posts"]] == [first]
    sandbox.settings("x", accepts_post_fields=False)
    assert alice.call("GET", f"{path}?post.fields=lang").status_code == 400
    assert alice.call("GET", f"{path}?tweet.fields=lang").status_code == 200
    sandbox.settings("x", accepts_post_fields=True, accepts_tweet_fields=False)
    assert alice.call("GET", f"{path}?tweet.fields=lang").status_code == 400
    assert "edit_history_post_ids" in alice.post("three").json()["data"]


@pytest.mark.parametrize(
    "query",
    [
        "tweet.fields=nonsense",
        "nonsense=1",
        "expansions=nonsense",
        "max_results=4",
        "max_results=101",
        "max_results=x",
        "start_time=yesterday",
        "start_time=2026-01-01T00:00:00",
        "since_id=x",
        "exclude=likes",
        "pagination_token=nonsense",
    ],
)
def test_a_wrong_query_names_the_parameter(alice: XUser, query: str) -> None:
    """400 invalid-request, with the parameter and its value."""
    answer = alice.call("GET", f"/2/users/{alice.user_id()}/tweets?{query}")
    assert problem(answer)[0] == 400
    assert query.partition("=")[0] in answer.json()["errors"][0]["parameters"]


def test_a_listing_is_newest_first_and_leads_on(alice: XUser) -> None:
    """Pages by next_token and back by previous_token; meta counts; nothing twice and nothing lost."""
    ids = [alice.posted(f"post {number}") for number in range(12)][::-1]
    user_id = alice.user_id()
    first = alice.listing(user_id, max_results=5)
    second = alice.listing(user_id, max_results=5, pagination_token=first["meta"]["next_token"])
    third = alice.listing(user_id, max_results=5, pagination_token=second["meta"]["next_token"])
    pages = [[post["id"] for post in page["data"]] for page in (first, second, third)]
    assert [post_id for page in pages for post_id in page] == ids
    assert first["meta"]["newest_id"] == ids[0]
    assert (third["meta"]["result_count"], third["meta"]["oldest_id"]) == (2, ids[-1])
    assert "next_token" not in third["meta"]
    assert "previous_token" not in first["meta"]
    back = alice.listing(user_id, max_results=5, pagination_token=third["meta"]["previous_token"])
    assert [post["id"] for post in back["data"]] == pages[1]


def test_an_empty_listing_has_no_data(alice: XUser) -> None:
    """Only meta with a count of zero."""
    assert alice.listing() == {"meta": {"result_count": 0}}


def test_a_listing_is_bounded_by_ids_times_and_kind(alice: XUser) -> None:
    """since_id and until_id exclude themselves; start_time includes; replies can be left out."""
    first, second = alice.posted("one"), alice.posted("two")
    third = alice.reply("three", second).json()["data"]["id"]
    assert [post["id"] for post in alice.listing(since_id=first)["data"]] == [third, second]
    assert [post["id"] for post in alice.listing(until_id=third)["data"]] == [second, first]
    assert alice.texts(exclude="replies,retweets") == ["two", "one"]
    now = datetime.now(UTC)
    minute = timedelta(minutes=1)
    assert len(alice.texts(start_time=rfc3339(now - minute), end_time=rfc3339(now + minute))) == 3
    assert alice.texts(start_time=rfc3339(now + minute)) == []
    assert alice.texts(end_time=rfc3339(now - minute)) == []


def test_a_listing_can_lag(sandbox: RunningSandbox, alice: XUser) -> None:
    """For listing_lag_ms a new post is missing from the listing, but found by id at once."""
    sandbox.settings("x", listing_lag_ms=500)
    post_id = alice.posted("late")
    assert alice.texts() == []
    assert alice.read(post_id)["text"] == "late"
    wait_for(lambda: alice.texts() == ["late"])


def test_who_i_am(alice: XUser) -> None:
    """id, name and username; more if asked."""
    me = alice.call("GET", "/2/users/me").json()["data"]
    assert (me["name"], me["username"], set(me)) == (alice.name, alice.name, {"id", "name", "username"})
    more = alice.call("GET", "/2/users/me?user.fields=public_metrics,created_at").json()["data"]
    assert more["public_metrics"]["tweet_count"] == 0


def test_a_permalink_leads_to_the_wall(alice: XUser) -> None:
    """With the author's name or `i`; with another's name there is nothing."""
    post_id = alice.posted("x")
    for name in (alice.name, "i"):
        answer = alice.call("GET", f"/{name}/status/{post_id}")
        assert answer.headers["Location"].endswith(f"#x-{post_id}")
    assert alice.call("GET", f"/other/status/{post_id}").status_code == 404


def test_posts_outlive_the_process(start_sandbox: Callable[..., RunningSandbox]) -> None:
    """After a kill the post is listed, its token works, its text is still a duplicate, ids go on growing."""
    sandbox = start_sandbox()
    before = XUser(sandbox.create_account("lasting", "x"))
    post_id = before.posted("still here")
    sandbox.kill()
    sandbox.start()
    after = XUser(sandbox.create_account("lasting", "x"))
    assert after.access_token == before.access_token
    assert after.texts() == ["still here"]
    assert after.post("still here").status_code == 403
    assert int(after.posted("next")) > int(post_id)


def rfc3339(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def wait_for(condition: Callable[[], bool], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
