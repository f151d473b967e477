"""Texts before their slot: what has no file to upload is still checked, where a check can find something."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from socialq.desk import connect
from tests.integration.lanes.world import ACTOR, Account, number

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.lanes.world import Lanes

AHEAD = timedelta(minutes=15)
SLOT_SECONDS = 300.0


@pytest.fixture
def account(lanes: Lanes) -> Account:
    return lanes.account()


@pytest.fixture
def sky(lanes: Lanes) -> Account:
    """An account on the simulated Bluesky whose token outlives every slot here."""
    made = lanes.sandbox.create_account(f"sky{number()}", "bluesky")
    granted = connect.sign_in(
        lanes.wiring.http,
        platform="bluesky",
        base_url=made["base_url"],
        identifier=made["handle"],
        password=made["app_password"],
        now=datetime.now(UTC),
        allow_private_addresses=True,
    )
    connected = connect.add_account(
        lanes.wiring.stores,
        lanes.wiring.vault,
        lanes.wiring.http,
        tenant=lanes.agency.tenant.id,
        client=lanes.agency.client,
        platform="bluesky",
        base_url=made["base_url"],
        token=granted.access_token,
        refresh_token=granted.refresh_token,
        token_expires_at=granted.expires_at,
        actor=ACTOR,
        allow_private_addresses=True,
    )
    return Account(lanes=lanes, agency=lanes.agency, id=connected.id, name=made["account"])


def text(lanes: Lanes, account: Account, *texts: str, seconds: float = SLOT_SECONDS) -> UUID:
    """A post without files, mirrored in the index."""
    target = lanes.post(account, *texts, seconds=seconds)
    lanes.relay()
    return target


def prepare(lanes: Lanes) -> list[str]:
    return [lanes.handle(message) for message in lanes.dispatch("prepare")]


def fault(lanes: Lanes, account: Account, kind: str, **more: Any) -> None:
    rule = {"platform": "x", "account": account.name, "step": "prepare", "kind": kind, "times": 1, **more}
    lanes.sandbox.faults([rule])


def test_an_account_whose_refresh_token_is_dead_is_told_before_the_slot_of_a_text(
    lanes: Lanes, account: Account
):
    """The token would end before the slot, so it is refreshed ahead; a person knows while there is time."""
    account.ends_in(60)
    target = text(lanes, account)
    row, main = lanes.index_row(target, "prepare"), lanes.index_row(target)
    assert row is not None
    assert main is not None
    assert (row["status"], main["due_at"] - row["due_at"]) == ("pending", AHEAD)
    lanes.sandbox.revoke(account.name, "x")
    assert prepare(lanes) == ["account_not_ready"]
    assert account.row["status"] == "needs_reconnect"
    assert len(lanes.alarms()) == 1
    assert (lanes.row(target)["status"], lanes.live(account)) == ("scheduled", [])


def test_a_token_that_lives_now_and_not_at_the_slot_is_refreshed_ahead(lanes: Lanes, account: Account):
    """What the publish would refresh at the slot is refreshed before it; the publish then finds it done."""
    account.ends_in(SLOT_SECONDS + 60)
    target = text(lanes, account, "Fresh at its slot")
    assert prepare(lanes) == ["prepared"]
    assert account.generation() == 2
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert account.generation() == 2


def test_a_refresh_that_fails_in_passing_is_tried_again_before_the_slot(lanes: Lanes, account: Account):
    """A platform that is away for a moment ends no check."""
    account.ends_in(-1)
    target = text(lanes, account)
    fault(lanes, account, "refuse_503")
    assert prepare(lanes) == ["account_not_ready"]
    row = lanes.index_row(target, "prepare")
    assert row is not None
    assert row["status"] == "pending"
    assert datetime.now(UTC) < row["due_at"] < lanes.row(target)["next_at"]
    lanes.central("UPDATE central.publish_dispatch_index SET ready_at = now() WHERE lane = 'prepare'")
    assert prepare(lanes) == ["prepared"]
    assert account.generation() == 2


@pytest.mark.parametrize("seconds", [0.0, 100.0])
def test_a_text_for_now_or_soon_is_never_in_the_prepare_lane(
    lanes: Lanes, account: Account, sky: Account, seconds: float
):
    """No lease of a refresh ahead can stand in its way: the publish refreshes by itself."""
    account.ends_in(-1)
    target = text(lanes, account, "Now", seconds=seconds)
    other = text(lanes, sky, "Now, too", seconds=seconds)
    assert (lanes.index_row(target, "prepare"), lanes.index_row(other, "prepare")) == (None, None)
    lanes.due_now(target)
    lanes.due_now(other)
    assert lanes.work_off() == ["published", "published"]
    assert (lanes.index_row(target, "prepare"), lanes.index_row(other, "prepare")) == (None, None)


def test_a_text_whose_slot_is_withdrawn_is_not_checked(lanes: Lanes, account: Account):
    """Its row of the prepare lane is done the moment that it has no slot any more."""
    account.ends_in(60)
    target = text(lanes, account, seconds=3600)
    lanes.change(
        "UPDATE cell.post_targets SET status = 'cancelled', next_kind = NULL, next_at = NULL, seq = seq + 1"
        " WHERE id = %(id)s",
        id=target,
    )
    rows = lanes.wiring.machine_cell("default").rows_of([target])
    assert [(row.lane, row.kind) for row in rows] == [("main", None), ("prepare", None)]


def test_whom_a_text_mentions_is_asked_before_the_slot(lanes: Lanes, sky: Account):
    """On Bluesky a handle must be looked up: at the slot there is nothing left to ask."""
    known = lanes.sandbox.create_account(f"sky{number()}", "bluesky")
    target = text(lanes, sky, f"With @{known['handle']} today")
    assert prepare(lanes) == ["prepared"]
    (part,) = lanes.rows("SELECT prepared FROM cell.target_parts WHERE target_id = %(id)s", id=target)
    assert part["prepared"] == {f"mention.{known['handle']}": {"did": known["did"]}}
    rule = {"platform": "bluesky", "account": sky.name, "step": "prepare", "kind": "slow", "delay_ms": 0}
    lanes.sandbox.faults([{**rule, "times": None}])
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert lanes.counted == 0
