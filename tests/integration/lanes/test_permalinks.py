"""Addresses that no answer tells, on the simulated Threads: asked for after the settle, and again later, and it is
nobody's error where they are not told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from socialq.providers.threads import Threads
from tests.integration.lanes.world import number

if TYPE_CHECKING:
    from uuid import UUID

    import pytest

    from tests.integration.lanes.world import Account, Lanes


def connected(lanes: Lanes) -> Account:
    made = lanes.sandbox.create_account(f"user{number()}", "threads")
    return lanes.connect({**made, "refresh_token": None}, platform="threads", app=None)


def published(lanes: Lanes, account: Account, *texts: str) -> UUID:
    target = lanes.post(account, *texts)
    assert lanes.work_off() == ["published"]
    return target


def parts(lanes: Lanes, target: UUID) -> list[dict[str, Any]]:
    return lanes.rows(
        "SELECT part_no, permalink, permalink_tries AS tries FROM cell.target_parts WHERE target_id = %(id)s"
        " ORDER BY part_no",
        id=target,
    )


def untold(lanes: Lanes, account: Account, *, times: int | None = None) -> None:
    """Answer no question for what is live."""
    rule = {
        "platform": "threads",
        "account": account.name,
        "step": "look",
        "kind": "refuse_500",
        "times": times,
    }
    lanes.sandbox.faults([rule])


def pass_time(lanes: Lanes, minutes: float) -> None:
    lanes.change(
        "UPDATE cell.target_parts SET accepted_at = accepted_at - %(minutes)s * interval '1 minute'"
        " WHERE remote_id IS NOT NULL",
        minutes=minutes,
    )


def test_every_part_has_its_address_once_it_is_published(lanes: Lanes) -> None:
    """Asked for by the worker that published; the publication stays as it was settled."""
    target = published(lanes, connected(lanes), "One", "Two")
    links = [part["permalink"] for part in parts(lanes, target)]
    assert len(set(links)) == 2
    assert all(link.startswith("https://www.threads.") for link in links)
    [publication] = lanes.rows("SELECT permalink FROM cell.publications WHERE target_id = %(id)s", id=target)
    assert publication["permalink"] is None


def test_a_question_that_fails_changes_nothing_and_is_asked_again_later(lanes: Lanes) -> None:
    """The post is published, once, and has its address some minutes afterwards."""
    account = connected(lanes)
    untold(lanes, account)
    target = published(lanes, account)
    before = lanes.row(target)
    upkeep = lanes.wiring.permalink_upkeep
    assert [(part["permalink"], part["tries"]) for part in parts(lanes, target)] == [(None, 1)]
    lanes.sandbox.faults([])
    assert upkeep.run("default") == 0  # not yet
    pass_time(lanes, 6)
    assert upkeep.run("default") == 1
    assert parts(lanes, target)[0]["permalink"]
    assert lanes.row(target) == before
    assert len(lanes.sandbox.ledger("threads", account.name)) == 1
    assert upkeep.run("default") == 0


def test_an_address_that_is_never_told_is_not_asked_for_for_ever(lanes: Lanes) -> None:
    """Five times, each later than the one before."""
    account = connected(lanes)
    untold(lanes, account)
    target = published(lanes, account)
    for minutes in (6, 26, 126, 626, 90_000):
        pass_time(lanes, minutes)
        lanes.wiring.permalink_upkeep.run("default")
        lanes.wiring.permalink_upkeep.run("default")
    assert [(part["permalink"], part["tries"]) for part in parts(lanes, target)] == [(None, 5)]


def test_a_question_that_breaks_leaves_the_post_published(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever an adapter does after acceptance is nobody's failure, and sends nothing again."""

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken")

    account = connected(lanes)
    monkeypatch.setattr(Threads, "permalink", broken)
    target = published(lanes, account)
    assert lanes.row(target)["status"] == "published"
    assert parts(lanes, target)[0]["tries"] == 1
    assert lanes.work_off() == []
    assert len(lanes.sandbox.ledger("threads", account.name)) == 1


def test_it_asks_when_all_is_settled_and_never_before(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state is committed and the account free for its next post while the platform is asked."""
    seen: list[tuple[str, bool]] = []

    def look(*_: Any, **__: Any) -> None:
        row = lanes.row(target)
        seen.append((row["status"], row["holds_account"]))

    account = connected(lanes)
    monkeypatch.setattr(Threads, "permalink", look)
    target = lanes.post(account)
    assert lanes.work_off() == ["published"]
    assert seen == [("published", False)]


def test_what_is_not_published_is_not_asked_for(lanes: Lanes) -> None:
    """A thread of which the second part was refused keeps its first part's id, and no question is counted."""
    account = connected(lanes)
    rule = {
        "platform": "threads",
        "account": account.name,
        "step": "publish",
        "kind": "validation",
        "skip": 1,
    }
    lanes.sandbox.faults([rule])
    target = lanes.post(account, "One", "Two")
    lanes.work_off()
    pass_time(lanes, 6)
    assert lanes.wiring.permalink_upkeep.run("default") == 0
    assert lanes.row(target)["status"] != "published"
    assert [part["tries"] for part in parts(lanes, target)] == [0, 0]


def test_an_account_that_must_wait_is_not_asked_with(lanes: Lanes) -> None:
    """While the platform has told it to wait, its missing addresses wait too, and no try is spent."""
    account = connected(lanes)
    untold(lanes, account, times=1)
    target = published(lanes, account)
    pass_time(lanes, 6)
    lanes.change(
        "UPDATE cell.accounts SET hold_until = now() + interval '1 hour' WHERE id = %(id)s", id=account.id
    )
    assert lanes.wiring.permalink_upkeep.run("default") == 0
    assert parts(lanes, target)[0]["tries"] == 1
    account.set(hold_until=None)
    assert lanes.wiring.permalink_upkeep.run("default") == 1
