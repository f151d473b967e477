"""Taking down what is live: each try recorded, lost answers asked once more, nothing touched that is being sent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import requests

from socialq.desk.resolve import retry
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from socialq.domain.keys import publication_key
from socialq.domain.outcomes import Accepted
from socialq.store import views
from socialq.store.takedown_store import PostgresTakedowns
from tests.integration.cases.connecting import connected

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.pipeline.takedown import Taken
    from tests.integration.lanes.world import Account, Lanes


def published(lanes: Lanes, account: Account, *texts: str, **more: Any) -> UUID:
    target = lanes.post(account, *texts, **more)
    assert lanes.work_off() == ["published"]
    return target


def take_down(lanes: Lanes, target: UUID, **more: Any) -> list[Taken]:
    asked = {"tenant_id": lanes.agency.tenant.id, "reason": "typo", "actor": "person", **more}
    return lanes.wiring.takedown.take_down(target_id=target, **asked)


def lose(lanes: Lanes, account: Account, kind: str, times: int | None = 1) -> None:
    rule = {"platform": "x", "account": account.name, "step": "any", "kind": kind, "times": times}
    lanes.sandbox.faults([rule])


def tries(lanes: Lanes, target: UUID) -> list[str]:
    rows = lanes.rows(
        "SELECT state FROM cell.takedowns WHERE target_id = %(id)s ORDER BY began_at", id=target
    )
    return [row["state"] for row in rows]


def test_a_published_post_is_taken_down_and_its_history_says_by_whom(lanes: Lanes):
    """It was published, and that stays true; nothing of it is live any more, and no id is forgotten."""
    account = lanes.account()
    target = published(lanes, account, "Oh no")
    [taken] = take_down(lanes, target)
    assert (taken.part_no, taken.state) == (1, "taken_down")
    assert lanes.live(account) == []
    row = lanes.row(target)
    assert (row["status"], row["reason"]) == ("published", "taken_down")
    assert row["detail"] == f"taken down by person: {taken.remote_id}"
    with lanes.wiring.stores.cell("default").app.transaction(tenant=lanes.agency.tenant.id) as session:
        shown = views.show_target(session, target)
    assert shown is not None
    assert shown.parts[0].remote_id == taken.remote_id
    assert [(one.state, one.asked_by, one.reason) for one in shown.takedowns] == [
        ("taken_down", "person", "typo")
    ]
    assert (shown.history[-1].actor, shown.history[-1].reason) == ("person", "taken_down")


def test_a_thread_and_its_comment_go_the_last_part_first(lanes: Lanes):
    """A reply never stands alone under a post that is gone."""
    account = lanes.account()
    target = published(lanes, account, "one", "two", first_comment="three")
    assert [taken.part_no for taken in take_down(lanes, target)] == [3, 2, 1]
    assert lanes.live(account) == []


def test_a_lost_answer_is_asked_once_more(lanes: Lanes):
    """It was taken down and the answer was lost: the repeat finds nothing, and that counts."""
    account = lanes.account()
    target = published(lanes, account, "Oh no")
    lose(lanes, account, "accept_then_reset")
    [taken] = take_down(lanes, target)
    assert taken.state == "taken_down"
    assert tries(lanes, target) == ["taken_down"]


def test_an_answer_lost_twice_is_unknown_and_may_be_asked_again(lanes: Lanes):
    """Nobody says that it is gone; a later try, with a row of its own, knows."""
    account = lanes.account()
    target = published(lanes, account, "one", "two")
    lose(lanes, account, "accept_then_reset", times=2)
    assert [(taken.part_no, taken.state) for taken in take_down(lanes, target)] == [(2, "unknown")]
    assert lanes.row(target)["reason"] is None
    assert lanes.live(account) == ["one"]
    assert [taken.state for taken in take_down(lanes, target)] == ["taken_down", "taken_down"]
    assert tries(lanes, target) == ["unknown", "taken_down", "taken_down"]


def test_a_refused_takedown_leaves_what_is_live_and_says_why(lanes: Lanes):
    """The platform says no: recorded, and the parts before it are not touched."""
    account = lanes.account()
    target = published(lanes, account, "one", "two")
    lose(lanes, account, "permission", times=None)
    [taken] = take_down(lanes, target)
    assert (taken.part_no, taken.state) == (2, "failed")
    assert lanes.live(account) == ["one", "two"]
    assert lanes.row(target)["reason"] is None


def test_a_second_copy_is_taken_down_alone_and_its_alarm_is_over(lanes: Lanes):
    """The alarm names both with their links and the way out; the copy goes, the post stays."""
    account = lanes.account()
    target = published(lanes, account, "Twice")
    work = lanes.work(target)
    copy = copy_of(lanes, account, "Twice!")
    lanes.wiring.targets.late_acceptance(
        work=work,
        attempt_no=1,
        part_no=1,
        answer=Accepted(remote_id=copy, permalink=f"https://x.com/i/web/status/{copy}"),
        publication_key=publication_key(target, work.target.key_instant, work.target.version_id),
    )
    settled = lanes.wiring.targets.late_acceptance(
        work=work,
        attempt_no=1,
        part_no=1,
        answer=Accepted(remote_id=copy, permalink=f"https://x.com/i/web/status/{copy}"),
        publication_key=publication_key(target, work.target.key_instant, work.target.version_id),
    )
    assert settled is not None
    assert settled.alarm is not None
    first = lanes.rows("SELECT * FROM cell.target_parts WHERE target_id = %(id)s", id=target)[0]
    assert f"({first['permalink']})" in settled.alarm
    assert f"{copy} (https://x.com/i/web/status/{copy})" in settled.alarm
    assert f"target take-down {target} --only ID" in settled.alarm
    lanes.wiring.index.alarm(key=f"target:{target}", message=settled.alarm, tenant_id=None)

    [taken] = take_down(lanes, target, only=copy)
    assert taken.remote_id == copy
    assert lanes.live(account) == ["Twice"]
    assert lanes.row(target)["reason"] == "partly_taken_down"
    assert lanes.alarms() == []


def copy_of(lanes: Lanes, account: Account, text: str) -> str:
    """A post on the account that no target of ours knows yet; returns its id."""
    import requests

    answer = requests.post(
        f"{lanes.sandbox.url}/x/2/tweets",
        json={"text": text},
        headers={"Authorization": f"Bearer {account.opened()}"},
        timeout=15,
    )
    return str(answer.json()["data"]["id"])


def test_what_failed_half_way_is_withdrawn_with_what_was_live_of_it(lanes: Lanes):
    """One part live, the next refused: taken down, nothing of it can be sent again."""
    account = lanes.account()
    target = lanes.post(account, "one", "two")
    rule = {"platform": "x", "account": account.name, "step": "publish", "kind": "validation", "skip": 1}
    lanes.sandbox.faults([rule])
    assert lanes.work_off() == ["failed"]
    assert [taken.state for taken in take_down(lanes, target)] == ["taken_down"]
    row = lanes.row(target)
    assert (row["status"], row["reason"], row["next_kind"]) == ("cancelled", "taken_down", None)


def test_what_is_going_to_be_sent_is_not_touched(lanes: Lanes):
    """Scheduled, or with nothing live: refused before the platform is asked."""
    account = lanes.account()
    for target, reason in (
        (lanes.post(account, seconds=60), "is being sent or will be"),
        (new_id(), "no such target"),
    ):
        with pytest.raises(InputRefused, match=reason):
            take_down(lanes, target)
    target = published(lanes, account)
    with pytest.raises(InputRefused, match="is not a live id"):
        take_down(lanes, target, only="1")
    take_down(lanes, target)
    with pytest.raises(InputRefused, match="has nothing live"):
        take_down(lanes, target)


def test_two_people_take_down_once(lanes: Lanes):
    """A try under way is left alone; one whose asker died is over after a while."""
    account = lanes.account()
    target = published(lanes, account)
    row = lanes.work(target).target
    [(part_no, remote_id)] = PostgresTakedowns(lanes.wiring.stores).live(row)
    asked = {"part_no": part_no, "remote_id": remote_id, "asked_by": "other", "reason": "r"}
    assert PostgresTakedowns(lanes.wiring.stores).begin(row, **asked) is not None
    [taken] = take_down(lanes, target)
    assert (taken.state, taken.message) == ("unknown", "somebody else is taking it down at this moment")
    assert len(lanes.live(account)) == 1
    lanes.change("UPDATE cell.takedowns SET began_at = began_at - interval '5 minutes'")
    assert [taken.state for taken in take_down(lanes, target)] == ["taken_down"]
    assert tries(lanes, target) == ["unknown", "taken_down"]


def test_a_token_that_is_about_to_end_is_refreshed_first(lanes: Lanes):
    """A takedown comes long after the publish."""
    account = lanes.account()
    target = published(lanes, account)
    account.ends_in(30)
    assert [taken.state for taken in take_down(lanes, target)] == ["taken_down"]
    assert account.generation() == 2


def test_nothing_is_called_taken_down_while_another_part_may_be_live(lanes: Lanes):
    """The answer to part 2 was lost and nobody could look: part 1 goes, and a person is told of part 2."""
    account = lanes.account()
    rule = {"platform": "x", "account": account.name}
    lanes.sandbox.faults(
        [
            {**rule, "step": "publish", "kind": "accept_then_reset", "skip": 1, "times": 1},
            {**rule, "step": "look", "kind": "refuse_500", "times": None},
        ]
    )
    target = lanes.post(account, "one", "two")
    lanes.work_off()
    for _ in range(10):
        if lanes.row(target)["status"] != "unknown_outcome":
            break
        lanes.lost_earlier(target)
        lanes.due_now(target)
        lanes.handle(lanes.message(target, kind="look"))
    lanes.sandbox.faults([])
    assert lanes.row(target)["status"] == "needs_attention"

    take_down(lanes, target)

    row = lanes.row(target)
    assert lanes.live(account) == ["two"]
    assert (row["status"], row["reason"]) == ("needs_attention", "partly_taken_down")
    assert "part 2 may be live" in row["detail"]


def test_what_was_taken_down_is_not_built_on(lanes: Lanes):
    """A thread whose first part a person took down is not continued: the rest would stand under nothing."""
    account = lanes.account()
    rule = {"platform": "x", "account": account.name, "step": "publish", "kind": "validation"}
    lanes.sandbox.faults([{**rule, "skip": 1, "times": 1}])
    target = lanes.post(account, "one", "two")
    lanes.work_off()
    assert lanes.row(target)["status"] == "failed"
    take_down(lanes, target)
    with pytest.raises(InputRefused, match="write a new post"):
        retry(
            lanes.wiring.stores,
            tenant=lanes.agency.tenant.id,
            target_id=target,
            now=datetime.now(UTC),
            actor="person",
        )


def test_a_target_that_was_moved_meanwhile_is_left_alone(lanes: Lanes):
    """It was read, then somebody changed it: no request is made for what was meant of the older one."""
    account = lanes.account()
    target = published(lanes, account, "Moved")
    work = lanes.wiring.targets.load(lanes.agency.tenant.id, target)
    assert work is not None
    lanes.change("UPDATE cell.post_targets SET seq = seq + 1 WHERE id = %(id)s", id=target)
    begun = PostgresTakedowns(lanes.wiring.stores).begin(
        work.target, part_no=1, remote_id="1", asked_by="person", reason="typo"
    )
    assert begun is None
    assert tries(lanes, target) == []


def meta_post(lanes: Lanes, platform: str, text: str) -> tuple[Account, UUID]:
    account = connected(lanes, platform)
    return account, published(lanes, account, text)


@pytest.mark.parametrize("platform", ["facebook", "threads"])
def test_what_is_gone_already_is_proven_by_reading(lanes: Lanes, platform: str):
    """Meta's "not found" is no proof: while the account's own posts can't be read, nobody says that it is gone."""
    account = connected(lanes, platform)
    published(lanes, account, "Stays")
    target = published(lanes, account, "Gone by hand")
    work = lanes.work(target)
    [(_, remote_id)] = PostgresTakedowns(lanes.wiring.stores).live(work.target)
    requests.delete(
        f"{account.row['base_url']}/{remote_id}",
        headers={"Authorization": f"Bearer {account.opened()}"},
        timeout=5,
    ).raise_for_status()
    rule = {"platform": platform, "account": account.name, "step": "look", "kind": "refuse_500"}
    lanes.sandbox.faults([{**rule, "times": None}])
    assert [taken.state for taken in take_down(lanes, target)] == ["unknown"]
    lanes.sandbox.faults([])
    assert [taken.state for taken in take_down(lanes, target)] == ["taken_down"]
