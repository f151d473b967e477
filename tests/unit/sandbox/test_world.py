"""The world as one process holds it: ids, order, and what a second run finds."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from socialq.sandbox.ledger import Post
from socialq.sandbox.world import World


def draft(text: str) -> Callable[[str], Post]:
    return lambda post_id: Post(
        "mastodon", "alice", post_id, text, [], "2026-11-30T18:00:00.000Z", None, None, {}
    )


def test_ids_grow_even_if_the_clock_went_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose clock is an hour behind the last one's goes on above its ids."""
    real = time.time_ns
    first = World(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: real() + 3_600_000_000_000)
        newest = first.ledger.publish(draft("from the future"))
    first.close()
    second = World(tmp_path)
    assert int(second.ledger.publish(draft("now")).id) > int(newest.id)
    second.close()


def test_posts_are_seen_in_the_order_of_their_ids(tmp_path: Path) -> None:
    """However many threads publish, no listing ever grows a lower id later."""
    world = World(tmp_path)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: world.ledger.publish(draft(str(number))), range(300)))
    ids = [int(post.id) for post in world.ledger.posts("mastodon", "alice")]
    assert ids == sorted(ids)
    assert len(set(ids)) == 300
    world.close()
    reopened = World(tmp_path)
    assert [int(post.id) for post in reopened.ledger.posts()] == ids
    reopened.close()
