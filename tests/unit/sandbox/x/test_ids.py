"""Two makings of ids beside each other in one world, across restarts and clocks that go back."""

import time
from pathlib import Path

from socialq.sandbox.ids import Snowflakes
from socialq.sandbox.ledger import Post
from socialq.sandbox.world import World
from socialq.sandbox.x import EPOCH_MS, SHIFT, X


class HourAhead(Snowflakes):
    """Ids as a run would make them whose clock is an hour fast."""

    def next(self) -> str:
        return str(int(super().next()) + (3_600_000 << SHIFT))


def test_an_earlier_id_is_never_reached_again() -> None:
    """An id of a clock that ran ahead pushes the next above it."""
    ids = Snowflakes()
    ahead = str((time.time_ns() // 1_000_000 + 3_600_000) << 16)
    ids.seen(ahead)
    assert int(ids.next()) == int(ahead) + 1


def test_ids_of_another_making_are_passed_over() -> None:
    """X's ids are longer; after one, Mastodon's go on as before."""
    ids = Snowflakes()
    ids.seen(Snowflakes(epoch_ms=EPOCH_MS, shift=SHIFT).next())
    assert abs((int(ids.next()) >> 16) - time.time() * 1000) < 60_000


def test_a_restarted_x_continues_above_its_posts(tmp_path: Path) -> None:
    """A post an hour ahead was left by an earlier run: new ids are higher, the world's own are not pushed."""
    world = World(tmp_path)
    ahead = HourAhead(epoch_ms=EPOCH_MS, shift=SHIFT)
    post = world.ledger.publish(
        lambda post_id: Post("x", "alice", post_id, "x", [], "2026-01-01T00:00:00.000Z", None, None, {}),
        ids=ahead,
    )
    world.close()
    world = World(tmp_path)
    try:
        assert int(X(world, rate_limit=0)._posts._ids.next()) > int(post.id)
        assert len(world.ids.next()) == 18
    finally:
        world.close()
