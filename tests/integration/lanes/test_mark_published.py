"""Marking as published: the platform is asked whether the post is there, and the account's own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import requests

from socialq.desk.resolve import cancel, mark_published
from socialq.domain.errors import InputRefused
from socialq.domain.outcomes import Standing
from tests.integration.cases.connecting import connected

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.lanes.world import Account, Lanes

_BY_HAND = {
    "mastodon": ("/api/v1/statuses", {"status": "By hand"}),
    "x": ("/2/tweets", {"text": "By hand"}),
}
ABSENT = {"mastodon": "117707294781997056", "x": "1860000000000000001", "linkedin": "urn:li:share:7000000000"}


def marked(lanes: Lanes, target: UUID, link_or_id: str, **more: Any) -> str | None:
    """Mark a target as the command does; returns what is said of it."""
    asked = {"tenant": lanes.agency.tenant.id, "now": datetime.now(UTC), "actor": "ann", **more}
    reader = asked.pop("reader", lanes.wiring.post_reader)
    return mark_published(
        lanes.wiring.stores, target_id=target, link_or_id=link_or_id, reader=reader, **asked
    ).detail


def unsent(lanes: Lanes, account: Account) -> UUID:
    """A target that a person withdrew: its post may have gone out by hand."""
    target = lanes.post(account, "By hand", seconds=3600)
    cancel(
        lanes.wiring.stores, tenant=lanes.agency.tenant.id, target_id=target, reason="by hand", actor="ann"
    )
    return target


def live(lanes: Lanes, platform: str, account: Account) -> str:
    """Post on the account by hand, as its owner does; returns the post's id."""
    made = lanes.sandbox.create_account(account.name, platform)
    path, body = _BY_HAND[platform]
    answer = requests.post(
        f"{made['base_url']}{path}",
        json=body,
        headers={"Authorization": f"Bearer {account.opened()}"},
        timeout=15,
    )
    assert answer.status_code < 300, answer.text
    said = answer.json()
    return str(said.get("data", said)["id"])


@pytest.mark.parametrize("platform", ["mastodon", "x"])
def test_a_post_that_is_there_is_marked(lanes: Lanes, platform: str) -> None:
    """Nothing is said of a doubt, since there is none."""
    account = connected(lanes, platform)
    target = unsent(lanes, account)
    assert marked(lanes, target, live(lanes, platform, account)) == "marked as published by ann"
    assert lanes.row(target)["status"] == "published"


@pytest.mark.parametrize("platform", ["mastodon", "x"])
def test_an_id_that_is_not_there_is_refused(lanes: Lanes, platform: str) -> None:
    """Field, problem and way out are told, and the target stays as it is."""
    target = unsent(lanes, connected(lanes, platform))
    with pytest.raises(InputRefused) as refused:
        marked(lanes, target, ABSENT[platform])
    [problem] = refused.value.problems
    assert (problem.field, problem.value) == ("link", ABSENT[platform])
    assert "names no post" in problem.problem
    assert "give its link" in problem.way_out
    assert lanes.row(target)["status"] == "cancelled"


@pytest.mark.parametrize("platform", ["mastodon", "x"])
def test_a_post_of_another_account_is_refused(lanes: Lanes, platform: str) -> None:
    """Its id alone looks like any other; the platform says whose it is."""
    target = unsent(lanes, connected(lanes, platform))
    of_another = live(lanes, platform, connected(lanes, platform))
    with pytest.raises(InputRefused, match="another account"):
        marked(lanes, target, of_another)
    assert lanes.row(target)["status"] == "cancelled"


def test_where_nobody_can_look_a_persons_word_is_taken_and_that_is_said(lanes: Lanes) -> None:
    """LinkedIn lets nobody read a person's posts."""
    target = unsent(lanes, connected(lanes, "linkedin", kind="person"))
    said = marked(lanes, target, ABSENT["linkedin"])
    assert said is not None
    assert "not verified: LinkedIn lets nobody read" in said
    row = lanes.row(target)
    assert (row["status"], row["detail"]) == ("published", said)


def test_a_platform_that_is_away_stops_no_person(lanes: Lanes) -> None:
    """The word is taken, and the history says that it was not verified."""
    account = connected(lanes, "x")
    target = unsent(lanes, account)
    rule = {"platform": "x", "account": account.name, "step": "any", "kind": "refuse_503", "times": None}
    lanes.sandbox.faults([rule])
    assert "not verified: " in (marked(lanes, target, ABSENT["x"]) or "")
    assert lanes.row(target)["status"] == "published"


def test_no_transaction_is_open_while_the_platform_is_asked_and_all_is_checked_again(lanes: Lanes) -> None:
    """Another marks the same target meanwhile, which no lock holds; then the first is refused."""
    target = unsent(lanes, connected(lanes, "x"))

    class Meanwhile:
        def read(self, **_: object) -> Standing:
            lanes.rows("SELECT id FROM cell.post_targets WHERE id = %(id)s FOR UPDATE NOWAIT", id=target)
            marked(lanes, target, ABSENT["x"], reader=None)
            return Standing()

    with pytest.raises(InputRefused, match="published already"):
        marked(lanes, target, ABSENT["x"], reader=Meanwhile())
    assert lanes.row(target)["status"] == "published"
