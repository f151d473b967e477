"""Tokens that end in the wrong moment, as others have met them: nothing doubles, and nobody is disconnected for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from socialq.desk import library
from socialq.domain.errors import InputRefused
from socialq.domain.hops import Message
from tests.films import film
from tests.integration.cases.connecting import connected
from tests.integration.pipeline.racing import race, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from tests.integration.lanes.world import Account, Lanes

SLOT_SECONDS = 300.0


def a_film(lanes: Lanes) -> UUID:
    stored = library.add_media(
        lanes.wiring.stores,
        lanes.wiring.files,
        tenant=lanes.agency.tenant.id,
        client=lanes.agency.client,
        source=film(seconds=5),
        file_name="film.mp4",
        alt_text="A film",
        actor="test",
    )
    return stored.id


def uploaded(lanes: Lanes, target: UUID) -> dict[str, Any]:
    """What is stored of the steps that are done."""
    [row] = lanes.rows("SELECT prepared FROM cell.target_parts WHERE target_id = %(id)s", id=target)
    stored: dict[str, Any] = row["prepared"]
    return stored


def test_a_token_that_ends_while_a_file_is_processed_is_refreshed_and_the_same_upload_goes_on(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
):
    """The id of what is being processed is stored at once: the new token asks for it, and nothing is begun anew.

    (gitroomhq/postiz-app PR 1741)
    """
    monkeypatch.setattr("socialq.providers.x.uploads._PAUSES_SECONDS", (0.0,))
    lanes.sandbox.settings("x", media_processing_ms=700)
    account = lanes.account()
    target = lanes.post(account, "A film", images=[a_film(lanes)])
    assert lanes.work_off() == ["retry_scheduled"]
    begun = uploaded(lanes, target)
    assert begun
    account.ends_in(-1)
    said: list[str] = []

    def published() -> bool:
        lanes.due_now(target)
        said.extend(lanes.work_off())
        return said[-1] == "published"

    wait_until(published, what="the end of processing")
    assert account.generation() == 2
    assert [post["text"] for post in lanes.sandbox.ledger("x", account.name)] == ["A film"]
    now = uploaded(lanes, target)
    assert {name: now[name] for name in begun} == begun
    assert not [name for name in now if name.startswith("media.1.2")]
    assert lanes.row(target)["tries_spent"] == 0


def five_who_need_a_token(lanes: Lanes, account: Account) -> list[Callable[[], object]]:
    """A publish, a look, a prepare, a takedown and the upkeep, of one account in one tick."""
    gone = lanes.post(account, "Will be taken down")
    lost = lanes.post(account, "Nobody heard the answer")
    lanes.sandbox.faults([{"platform": "x", "step": "publish", "kind": "accept_then_500", "skip": 1}])
    lanes.work_off()
    [unknown] = [one for one in (gone, lost) if lanes.row(one)["status"] == "unknown_outcome"]
    [live] = [one for one in (gone, lost) if lanes.row(one)["status"] == "published"]
    lanes.due_now(unknown)
    due = lanes.post(account, "Due")
    later = lanes.post(account, "With a picture", images=[lanes.image()], seconds=SLOT_SECONDS)
    wiring = lanes.wiring
    publish, look = lanes.message(due), lanes.message(unknown)
    prepare = replace(lanes.message(later), kind=lanes.message(later, kind="prepare").kind)
    taken: dict[str, Any] = {"tenant_id": lanes.agency.tenant.id, "reason": "typo", "actor": "person"}
    account.ends_in(20)
    work = lanes.work(due)
    return [
        lambda: wiring.publisher.publish(publish),
        lambda: wiring.looker.look(look),
        lambda: wiring.preparer.prepare(prepare),
        lambda: wiring.takedown.take_down(target_id=live, **taken),
        lambda: wiring.token_refresh.ahead(work.target.tenant_id, work.account),
    ]


def test_five_kinds_of_work_that_need_a_token_at_once_rotate_it_once(lanes: Lanes):
    """Whoever comes second finds the new pair, or goes on with the old token while it works.

    (coollabsio/shoutrrr PR 175)
    """
    account = lanes.account()
    race(*five_who_need_a_token(lanes, account))
    assert account.generation() == 2
    assert account.row["status"] == "active"


@pytest.mark.parametrize("platform", ["x", "linkedin", "bluesky"])
def test_a_token_that_ended_hours_before_the_slot_is_refreshed_by_what_the_account_has(
    lanes: Lanes, platform: str
):
    """Whether a refresh is possible is what counts, not how the account was connected: session, person, page.

    (brightbeanxyz/brightbean-studio PR 120)
    """
    account = connected(lanes, platform)
    target = lanes.post(account, "Planned six hours ahead")
    before = account.opened()
    account.ends_in(-4 * 3600)
    assert lanes.work_off() == ["published"]
    assert account.opened() != before
    assert account.row["token_expires_at"] > datetime.now(UTC) + timedelta(hours=1)
    assert lanes.row(target)["tries_spent"] == 0
    assert [post["text"] for post in lanes.sandbox.ledger(platform, account.name)] == [
        "Planned six hours ahead"
    ]


def test_no_customers_post_is_sent_or_taken_down_in_anothers_name(lanes: Lanes):
    """A worker looks for a target where its message says, and finds nothing there: no request leaves.

    (MindMatrix/SecurityTracker#63)
    """
    account = lanes.account()
    due, live = lanes.post(account, "Theirs"), lanes.post(account, "Theirs, and live")
    lanes.publish_of(live)
    stranger = lanes.new_agency()
    lanes.sandbox.faults([{"platform": "x", "step": "any", "kind": "slow", "delay_ms": 0, "times": None}])
    right = lanes.message(due)
    wrong = Message(tenant_id=stranger.tenant.id, target_id=due, seq=right.seq, kind=right.kind)
    wiring = lanes.wiring
    for work_off in (wiring.publisher.publish, wiring.looker.look, wiring.preparer.prepare):
        work_off(wrong)
    with pytest.raises(InputRefused):
        wiring.takedown.take_down(tenant_id=stranger.tenant.id, target_id=live, reason="mine?", actor="eve")
    assert lanes.counted == 0
    assert lanes.live(account) == ["Theirs, and live"]
    assert lanes.row(due)["status"] == "scheduled"
