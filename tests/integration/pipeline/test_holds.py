"""Holds: rows of an account, an app, a platform, a cell or a tenant wait, and cost nothing while they do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

import pytest

from socialq.domain.ids import new_id
from socialq.store.cell_watch import CellWatch
from socialq.store.central import holds
from tests.integration.pipeline.racing import wait_until
from tests.integration.pipeline.test_dispatch import index_row, taken

if TYPE_CHECKING:
    from tests.integration.pipeline.world import World

HELD_BY = ["account", "app", "platform", "cell", "tenant"]


@pytest.mark.parametrize("scope", HELD_BY)
def test_a_hold_moves_rows_and_lifting_it_restores_them(world: World, scope: holds.Scope):
    """A hold raises `ready_at` of its rows and of no others; lifted, they go at their own time."""
    app = new_id()
    world.arrange(
        "UPDATE cell.accounts SET provider_app_id = %(app)s WHERE id = %(id)s", app=app, id=world.account
    )
    target = world.post()
    world.relay().scan()
    other = index_row(world, platform="other", tenant=new_id(), account=new_id())
    world.arrange(
        "UPDATE central.publish_dispatch_index SET cell = 'other' WHERE target_id = %(id)s", id=other
    )
    key = {
        "account": str(world.account),
        "app": str(app),
        "platform": "mastodon",
        "cell": "default",
        "tenant": str(world.tenant),
    }[scope]
    until = datetime.now(UTC) + timedelta(minutes=10)
    holds.set_hold(world.stores.central, scope=scope, key=key, until=until, reason="test", set_by="test")
    assert world.index_row(target)["ready_at"] == until
    assert world.index_row(target)["due_at"] < datetime.now(UTC)
    assert world.dispatcher().scan() == pytest.approx(600, abs=5)
    assert taken(world) == [other]
    assert holds.lift(world.stores.central, scope=scope, key=key, actor="test")
    assert world.index_row(target)["ready_at"] == world.index_row(target)["due_at"]
    world.dispatcher().scan()
    assert taken(world) == [target]


def test_a_row_that_arrives_during_a_hold_waits_for_its_end(world: World):
    """The upsert knows the holds that apply; the longest counts."""
    now = datetime.now(UTC)
    for scope, minutes in (("account", 5), ("platform", 20)):
        key = str(world.account) if scope == "account" else "mastodon"
        until = now + timedelta(minutes=minutes)
        holds.set_hold(world.stores.central, scope=scope, key=key, until=until, reason="t", set_by="t")
    target = world.post()
    world.relay().scan()
    assert world.index_row(target)["ready_at"] == now + timedelta(minutes=20)


def test_a_hold_is_never_shortened_by_a_later_answer(world: World):
    """Two answers race: the later end stands."""
    target = world.post()
    world.relay().scan()
    now = datetime.now(UTC)
    for minutes in (20, 5):
        until = now + timedelta(minutes=minutes)
        holds.set_hold(
            world.stores.central, scope="account", key=str(world.account), until=until, reason="t", set_by="t"
        )
    assert world.index_row(target)["ready_at"] == now + timedelta(minutes=20)


def test_a_hold_that_has_ended_holds_nothing(world: World):
    """Its row goes at its own time, without anybody lifting anything."""
    until = datetime.now(UTC) + timedelta(seconds=0.3)
    target = world.post()
    world.relay().scan()
    holds.set_hold(
        world.stores.central, scope="account", key=str(world.account), until=until, reason="t", set_by="t"
    )
    world.dispatcher().scan()
    assert taken(world) == []

    def goes() -> bool:
        world.dispatcher().scan()
        return bool(world.queue.messages)

    wait_until(goes, seconds=5)
    assert taken(world) == [target]


def test_held_rows_beyond_a_batch_are_all_moved(world: World, monkeypatch: pytest.MonkeyPatch):
    """Holds are applied in batches, and to the last row."""
    monkeypatch.setattr(holds, "_BATCH", 3)
    targets = [index_row(world) for _ in range(10)]
    until = datetime.now(UTC) + timedelta(minutes=10)
    holds.set_hold(
        world.stores.central, scope="platform", key="mastodon", until=until, reason="t", set_by="t"
    )
    assert {world.index_row(target)["ready_at"] for target in targets} == {until}


class YearsAhead(datetime):
    """The clock of a control worker that nobody has set."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + timedelta(days=3650)


def test_a_cell_that_is_down_is_held_for_a_minute_whatever_the_clock_of_who_noticed(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    """The hold ends by the central database's clock, so it is set by that, too."""
    monkeypatch.setattr("socialq.store.cell_watch.datetime", YearsAhead, raising=False)
    world.arrange(
        "INSERT INTO central.cells (name, database_url) VALUES ('away', 'postgresql://nobody@127.0.0.1:1/x')"
    )
    try:
        CellWatch(world.stores).lost("away", OSError("gone"))
        [row] = world.arrange("SELECT until - clock_timestamp() AS for_long FROM central.holds")
    finally:
        world.arrange("DELETE FROM central.cells WHERE name = 'away'")
    assert 55 < row["for_long"].total_seconds() < 61
