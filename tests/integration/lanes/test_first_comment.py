"""A first comment on the simulated platforms, with answers that are lost: neither is ever there twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.lanes.world import Account, Lanes


def commented(lanes: Lanes, account: Account) -> UUID:
    return lanes.post(account, "The post", first_comment="The comment")


def lose(lanes: Lanes, account: Account, kind: str, *, skip: int) -> None:
    """Lose the answer to the publish request after `skip` that are answered."""
    rule = {"platform": "x", "account": account.name, "step": "publish", "kind": kind, "skip": skip}
    lanes.sandbox.faults([rule])


def posts(lanes: Lanes, account: Account) -> list[dict[str, Any]]:
    return lanes.sandbox.ledger("x", account.name)


def assert_once_each(lanes: Lanes, account: Account, target: UUID) -> None:
    """Both are there once, the comment under the post, and both ids are known."""
    post, comment = posts(lanes, account)
    assert (post["text"], comment["text"]) == ("The post", "The comment")
    assert (post["reply_to"], str(comment["reply_to"])) == (None, str(post["id"]))
    rows = lanes.rows(
        "SELECT remote_id FROM cell.target_parts WHERE target_id = %(id)s ORDER BY part_no", id=target
    )
    assert [row["remote_id"] for row in rows] == [str(post["id"]), str(comment["id"])]
    assert lanes.row(target)["status"] == "published"


def test_it_is_a_reply_under_the_post(lanes: Lanes):
    """The common case, with every hop."""
    account = lanes.account()
    target = commented(lanes, account)
    assert lanes.work_off() == ["published"]
    assert_once_each(lanes, account, target)


@pytest.mark.parametrize("skip", [0, 1], ids=["post", "comment"])
def test_accepted_with_the_answer_lost_it_is_found_and_not_sent_again(lanes: Lanes, skip: int):
    """Whichever of the two it was: a look finds it, and what is missing follows."""
    account = lanes.account()
    target = commented(lanes, account)
    lose(lanes, account, "accept_then_reset", skip=skip)
    assert lanes.work_off() == ["unknown_outcome"]
    lanes.due_now(target)
    said = lanes.work_off()
    assert said == (["retry_scheduled", "published"] if skip == 0 else ["published"])
    assert_once_each(lanes, account, target)


def test_a_comment_that_never_arrived_is_sent_once_more(lanes: Lanes):
    """Every look proves it absent; then the comment alone is sent."""
    account = lanes.account()
    target = commented(lanes, account)
    lose(lanes, account, "reset_before", skip=1)
    assert lanes.work_off() == ["unknown_outcome"]
    lanes.lost_earlier(target)
    lanes.due_now(target)
    said = lanes.work_off()
    assert said == ["unknown_outcome", "unknown_outcome", "retry_scheduled", "published"]
    assert_once_each(lanes, account, target)
