"""Rebuilding the index: everything is set right, nothing is missing in between."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.domain.ids import new_id
from tests.integration.pipeline.world import values

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.pipeline.world import World


def relayed(world: World, count: int) -> list[UUID]:
    """Targets that are due in an hour, mirrored."""
    due = datetime.now(UTC) + timedelta(hours=1)
    targets = [world.post(account=world.new_account(), publish_at=due) for _ in range(count)]
    while world.relay().scan():
        pass
    return targets


def statuses(world: World) -> dict[str, int]:
    rows = world.arrange("SELECT status, count(*) AS n FROM central.publish_dispatch_index GROUP BY 1")
    return {row["status"]: row["n"] for row in rows}


def test_no_row_is_missing_at_any_moment_of_a_rebuild(world: World):
    """A post that gets due meanwhile goes out in time: whoever looks sees every row all along."""
    relayed(world, 12)
    least, done = [12], threading.Event()

    def look() -> None:
        while not done.is_set():
            rows = world.stores.central.autocommit(
                "SELECT count(*) AS n FROM central.publish_dispatch_index WHERE status = 'pending'"
            )
            least.append(rows[0]["n"])

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(15):
            assert world.relay(batch=3).rebuild() == 12
    finally:
        done.set()
        looking.join()
    assert len(least) > 15
    assert min(least) == 12


def test_what_is_due_first_is_mirrored_first(world: World):
    """After the loss of an index, posts of the next minutes do not wait for those of next year."""
    now = datetime.now(UTC)
    order = [
        world.post(account=world.new_account(), publish_at=now + timedelta(hours=hours))
        for hours in (5, 1, 3)
    ]
    world.arrange("UPDATE cell.outbox_events SET relayed_at = now()")
    seen: list[UUID] = []
    mirror = world.central.mirror_anew

    def noted(cell, rows):
        seen.extend(row.target_id for row in rows)
        return mirror(cell, rows)

    world.central.mirror_anew = noted  # type: ignore[method-assign]
    assert world.relay(batch=1).rebuild() == 3
    assert seen == [order[1], order[2], order[0]]


@pytest.mark.parametrize(
    "damage",
    [
        "status = 'done'",
        "kind = 'look'",
        "due_at = due_at + interval '1 day', ready_at = ready_at + interval '1 day'",
        "ready_at = now() - interval '1 day'",
        "seq = 0, due_at = now(), ready_at = now()",
        "seq = 99",
    ],
)
def test_a_row_that_is_wrong_is_set_right(world: World, damage: str):
    """Whatever is wrong with it, of whatever seq: after the rebuild it says what the cell says."""
    (target,) = relayed(world, 1)
    before = world.index_row(target)
    world.arrange(f"UPDATE central.publish_dispatch_index SET {damage}")
    world.relay().rebuild()
    names = ("seq", "kind", "due_at", "ready_at", "status")
    assert values(world.index_row(target), *names) == values(before, *names)


def test_rows_that_are_too_many_go(world: World):
    """A target that is not there, and one that has nothing left to do, are not in the index as pending."""
    kept, finished = relayed(world, 2)
    stranger = new_id()
    world.arrange(
        "INSERT INTO central.publish_dispatch_index (target_id, tenant_id, cell, account_id, platform, seq, kind,"
        " due_at, ready_at, status) SELECT %(id)s, tenant_id, cell, account_id, platform, 1, 'publish', now(), now(),"
        " 'pending' FROM central.publish_dispatch_index LIMIT 1",
        id=stranger,
    )
    world.arrange_target(finished, status="failed", next_kind=None, next_at=None, seq=2)
    for _ in range(2):
        world.relay(batch=1).rebuild()
    assert world.index_row(stranger) is None
    assert world.index_row(finished)["status"] == "done"
    assert world.index_row(kept)["status"] == "pending"


def test_a_row_that_waits_for_its_account_goes_on_waiting(world: World):
    """A rebuild does not make the dispatcher ask for what is known to be busy."""
    (target,) = relayed(world, 1)
    later = datetime.now(UTC) + timedelta(hours=2)
    world.arrange(
        "UPDATE central.publish_dispatch_index SET waits_for_account = true, ready_at = %(later)s",
        later=later,
    )
    world.relay().rebuild()
    assert values(world.index_row(target), "waits_for_account", "ready_at") == (True, later)
    assert statuses(world) == {"pending": 1}
