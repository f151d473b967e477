"""A container that the platform has lost between its preparation and its publish: another one is built, once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
import requests

from socialq.providers.instagram import Instagram
from socialq.providers.threads import Threads
from tests.films import jpeg
from tests.integration.lanes.test_pulled_files import SLOT_SECONDS, connected, lanes, media, prepare, prepared

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.lanes.world import Account, Lanes

__all__ = ["lanes"]

ADAPTERS = {"instagram": Instagram, "threads": Threads}
AGED = """
UPDATE cell.target_parts SET prepared = jsonb_set(prepared, '{container,at}',
  to_jsonb((prepared #>> '{container,at}')::timestamptz - interval '10 minutes')) WHERE target_id = %(id)s
"""


def lost_after_preparing(lanes: Lanes, account: Account, platform: str) -> UUID:
    """A post whose container was made and seen to be ready ten minutes ago, and is gone by now."""
    picture = media(lanes, jpeg((60, 60)), "square.jpg")
    target = lanes.post(account, "Goes out once", images=[picture], seconds=SLOT_SECONDS)
    lanes.relay()
    assert prepare(lanes) == ["prepared"]
    lanes.change(AGED, id=target)
    lanes.sandbox.settings(platform, lost_before_ms=time.time_ns() // 1_000_000 + 1)
    lanes.due_now(target)
    return target


def until_it_rests(lanes: Lanes, target: UUID) -> list[str]:
    """Work off a target as if all its waits had passed."""
    said: list[str] = []
    for _ in range(10):
        if lanes.row(target)["next_kind"] is None:
            return said
        if lanes.row(target)["lost_at"]:
            lanes.lost_earlier(target)
        lanes.due_now(target)
        said += lanes.work_off()
    raise AssertionError(f"it never rests: {said}")


def publish_behind_our_back(account: Account, platform: str, container_id: str) -> None:
    """What a request does whose answer then says that there was no such container."""
    adapter = ADAPTERS[platform]()
    answer = requests.post(
        f"{adapter.api_address(account.row['base_url'])}/me/{adapter.publish_edge}",
        headers={"Authorization": f"Bearer {account.opened()}"},
        data={"creation_id": container_id},
        timeout=10,
    )
    assert answer.status_code == 200


@pytest.mark.parametrize("platform", ["instagram", "threads"])
def test_a_container_that_is_lost_at_its_publish_is_built_anew_once_it_is_proven_absent(
    lanes: Lanes, platform: str
) -> None:
    """The refusal is an unknown outcome; when no look finds the post, another container is published."""
    account = connected(lanes, platform)
    target = lost_after_preparing(lanes, account, platform)
    assert lanes.work_off() == ["unknown_outcome"]
    assert until_it_rests(lanes, target)[-1] == "published"
    (post,) = lanes.sandbox.ledger(platform, account.name)
    assert "Goes out once" in post["text"]
    assert len(lanes.sandbox.requests(platform, account.name)) == 2
    assert {"container", "container.2", "container.2:ready"} <= set(prepared(lanes, target))


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("platform", ["instagram", "threads"])
def test_a_container_that_was_published_after_all_is_found_and_not_built_anew(
    lanes: Lanes, platform: str, forgets: bool
) -> None:
    """Its publish is refused as that of a lost one; whatever its state says then, the listing has it."""
    account = connected(lanes, platform)
    picture = media(lanes, jpeg((60, 60)), "square.jpg")
    target = lanes.post(account, "Live already", images=[picture], seconds=SLOT_SECONDS)
    lanes.relay()
    assert prepare(lanes) == ["prepared"]
    lanes.change(AGED, id=target)
    (row,) = lanes.rows("SELECT prepared FROM cell.target_parts WHERE target_id = %(id)s", id=target)
    publish_behind_our_back(account, platform, row["prepared"]["container"]["id"])
    now_ms = time.time_ns() // 1_000_000 + 1
    lanes.sandbox.settings(platform, lost_before_ms=now_ms, forgets_published=forgets)
    lanes.due_now(target)
    assert lanes.work_off() == ["unknown_outcome"]
    assert until_it_rests(lanes, target)[-1] == "published"
    assert len(lanes.sandbox.ledger(platform, account.name)) == 1


@pytest.mark.parametrize("platform", ["instagram", "threads"])
def test_a_lost_answer_is_found_though_its_container_is_told_as_expired(lanes: Lanes, platform: str) -> None:
    """Only the listing tells of a container that has ended: nothing is sent again."""
    account = connected(lanes, platform)
    picture = media(lanes, jpeg((60, 60)), "square.jpg")
    target = lanes.post(account, "Taken, and not answered for", images=[picture], seconds=SLOT_SECONDS)
    lanes.relay()
    assert prepare(lanes) == ["prepared"]
    rule = {"platform": platform, "account": account.name, "step": "publish", "kind": "accept_then_reset"}
    lanes.sandbox.faults([{**rule, "times": 1}])
    lanes.due_now(target)
    assert lanes.work_off() == ["unknown_outcome"]
    now_ms = time.time_ns() // 1_000_000 + 1
    lanes.sandbox.settings(platform, lost_before_ms=now_ms, forgets_published=True)
    assert until_it_rests(lanes, target)[-1] == "published"
    assert len(lanes.sandbox.ledger(platform, account.name)) == 1
