"""The wall: what a person sees of the simulated world."""

import re

import requests

from socialq.sandbox.ledger import Post
from socialq.sandbox.wall_threads import arrange
from tests.fixtures_sandbox import MastodonUser, RunningSandbox
from tests.unit.sandbox.test_mastodon_media import picture


def page(sandbox: RunningSandbox, query: str = "", **headers: str) -> requests.Response:
    return requests.get(f"{sandbox.url}/{query}", headers=headers, timeout=10)


def a_post(post_id: str, reply_to: str | None = None) -> Post:
    return Post("mastodon", "alice", post_id, "x", [], "2026-11-30T18:00:00.000Z", reply_to, None, {})


def test_an_empty_world_says_so(sandbox: RunningSandbox) -> None:
    """Without posts there is a sentence, not a blank page."""
    assert "Nothing has been posted yet" in page(sandbox).text
    assert "No posts by <bdi>nobody</bdi>" in page(sandbox, "?platform=mastodon&account=nobody").text


def test_text_is_escaped_and_laid_out_in_its_direction(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """Markup in a post is shown as text; language and direction are the post's own."""
    alice.post("<script>alert(1)</script> & https://example.com/?a=1&b=2", language="en")
    alice.post("مرحبا", language="ar")
    shown = page(sandbox).text
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; " in shown
    assert '<a href="https://example.com/?a=1&amp;b=2" rel="nofollow noopener noreferrer">' in shown
    assert '<p class="text" dir="auto" lang="ar">مرحبا</p>' in shown


def test_names_and_filters_are_escaped_too(sandbox: RunningSandbox) -> None:
    """Neither a display name nor a query can bring markup in."""
    account = sandbox.create_account("sly", display_name="<img src=x>")
    MastodonUser(account).post("x")
    assert "<img src=x>" not in page(sandbox).text
    assert "<b>x" not in page(sandbox, "?account=<b>x").text


def test_images_are_shown_with_their_alt_text(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """The image's address on the page serves the stored bytes."""
    content = picture()
    media = alice.upload(content, description='A "brick"').json()
    alice.post("look", media_ids=[media["id"]])
    found = re.search(r'<img src="([^"]+)" alt="A &quot;brick&quot;"', page(sandbox).text)
    assert found is not None
    assert requests.get(sandbox.url + found[1], timeout=10).content == content


def test_posts_can_be_filtered_by_account(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """A filtered page has that account's posts only, and marks the filter."""
    MastodonUser(sandbox.create_account("bob")).post("from bob")
    alice.post("from alice")
    shown = page(sandbox, "?platform=mastodon&account=bob").text
    assert "from bob" in shown
    assert "from alice" not in shown
    assert re.search(r'account=bob" aria-current="true"', shown)


def test_an_unchanged_page_is_not_sent_again(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """304 to the version at hand; a new post makes a new version."""
    version = page(sandbox).headers["ETag"]
    assert page(sandbox, **{"If-None-Match": version}).status_code == 304
    alice.post("news")
    assert page(sandbox, **{"If-None-Match": version}).status_code == 200


def test_only_stored_media_are_served(sandbox: RunningSandbox) -> None:
    """Nothing outside the media directory can be reached, and only reading is offered."""
    for path in ("/media/../journal.jsonl", "/media/%2e%2e/journal.jsonl", "/media/x", "/journal.jsonl"):
        assert requests.get(sandbox.url + path, timeout=10).status_code == 404
    assert requests.post(sandbox.url + "/", timeout=10).status_code == 405


def test_threads_are_newest_first_with_replies_below() -> None:
    """A chain keeps its depth, a branch is indented, roots come newest first."""
    posts = [a_post("1"), a_post("2", "1"), a_post("3", "2"), a_post("4"), a_post("5", "4"), a_post("6", "4")]
    threads, hidden = arrange(posts, limit=10)
    shape = [[(row.post.id, row.depth, row.is_joined) for row in rows] for rows in threads]
    assert shape == [
        [("4", 0, False), ("5", 1, False), ("6", 1, False)],
        [("1", 0, True), ("2", 0, True), ("3", 0, False)],
    ]
    assert hidden == 0


def test_a_reply_without_its_parent_stands_alone() -> None:
    """Its parent deleted or filtered out, a reply is still shown, and says that it is one."""
    threads, _ = arrange([a_post("2", "1"), a_post("3", "2")], limit=10)
    assert [(row.post.id, row.is_orphan) for row in threads[0]] == [("2", True), ("3", False)]


def test_a_long_thread_and_a_long_list_are_no_trouble() -> None:
    """5,000 parts in a row; and of 30 threads the newest 10 are shown, the rest counted."""
    chain = [a_post("0")] + [a_post(str(number), str(number - 1)) for number in range(1, 5000)]
    assert len(arrange(chain, limit=10)[0][0]) == 5000
    threads, hidden = arrange([a_post(str(number)) for number in range(30)], limit=10)
    assert [rows[0].post.id for rows in threads] == [str(number) for number in range(29, 19, -1)]
    assert hidden == 20
