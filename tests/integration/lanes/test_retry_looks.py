"""A person's retry looks first: what is live is found and not sent again, what is not goes out once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from socialq.desk.resolve import retry

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.lanes.world import Account, Lanes


def given_up(lanes: Lanes, account: Account, text: str, *, lost: str) -> UUID:
    """A post whose answer was lost, on an account that could not be looked through when it was looked for."""
    rule = {"platform": "x", "account": account.name, "times": 1}
    lanes.sandbox.faults(
        [{**rule, "step": "publish", "kind": lost}, {**rule, "step": "look", "kind": "permission"}]
    )
    target = lanes.post(account, text)
    assert lanes.work_off() == ["unknown_outcome"]
    lanes.due_now(target)
    assert lanes.work_off() == ["needs_attention"]
    return target


def press_retry(lanes: Lanes, target: UUID) -> None:
    retry(
        lanes.wiring.stores,
        tenant=lanes.agency.tenant.id,
        target_id=target,
        now=datetime.now(UTC),
        actor="ann",
    )


def live(lanes: Lanes, account: Account) -> list[str]:
    return [post["text"] for post in lanes.sandbox.ledger("x", account.name)]


def test_a_retry_of_what_is_live_finds_it_and_sends_nothing(lanes: Lanes):
    """It was taken, and its answer lost: the retry publishes what is there."""
    account = lanes.account()
    target = given_up(lanes, account, "Live already", lost="accept_then_reset")
    press_retry(lanes, target)
    assert lanes.work_off() == ["published"]
    assert live(lanes, account) == ["Live already"]


def test_a_retry_of_what_is_not_live_sends_it_once(lanes: Lanes):
    """Every look is made again; then it goes out."""
    account = lanes.account()
    target = given_up(lanes, account, "Not there yet", lost="reset_before")
    lanes.lost_earlier(target)
    press_retry(lanes, target)
    said = []
    for _ in range(6):
        said += lanes.work_off()
        if said[-1] == "published":
            break
        lanes.lost_earlier(target)
        lanes.due_now(target)
    assert said[-1] == "published"
    assert live(lanes, account) == ["Not there yet"]
