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


@pytest.mark.parametrize("platform", ["instagram", "threads"])
def test_a_container_that_is_lost_at_its_publish_is_built_anew_by_the_next_try(
    lanes: Lanes, platform: str
) -> None:
    """The next try asks for its state, and publishes another one in its place; no try more is spent on it."""
    account = connected(lanes, platform)
    target = lost_after_preparing(lanes, account, platform)
    assert lanes.work_off() == ["retry_scheduled"]
    assert lanes.row(target)["tries_spent"] == 1
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    (post,) = lanes.sandbox.ledger(platform, account.name)
    assert "Goes out once" in post["text"]
    assert len(lanes.sandbox.requests(platform, account.name)) == 2
    assert {"container", "container.2", "container.2:ready"} <= set(prepared(lanes, target))


@pytest.mark.parametrize("platform", ["instagram", "threads"])
def test_a_container_that_was_published_after_all_is_not_built_anew(lanes: Lanes, platform: str) -> None:
    """Its publish is refused as that of a lost one; its state says that it is live, and nothing is sent again."""
    account = connected(lanes, platform)
    picture = media(lanes, jpeg((60, 60)), "square.jpg")
    target = lanes.post(account, "Live already", images=[picture], seconds=SLOT_SECONDS)
    lanes.relay()
    assert prepare(lanes) == ["prepared"]
    lanes.change(AGED, id=target)
    (row,) = lanes.rows("SELECT prepared FROM cell.target_parts WHERE target_id = %(id)s", id=target)
    adapter = ADAPTERS[platform]()
    answer = requests.post(
        f"{adapter.api_address(account.row['base_url'])}/me/{adapter.publish_edge}",
        headers={"Authorization": f"Bearer {account.opened()}"},
        data={"creation_id": row["prepared"]["container"]["id"]},
        timeout=10,
    )
    assert answer.status_code == 200
    lanes.due_now(target)
    assert lanes.work_off() == ["retry_scheduled"]
    lanes.due_now(target)
    assert lanes.work_off() == ["failed"]
    assert "published already" in lanes.row(target)["detail"]
    assert len(lanes.sandbox.ledger(platform, account.name)) == 1
