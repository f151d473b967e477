"""The prepare lane: uploads before the slot, in a lane of their own, that never stand in the publish's way."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from socialq.desk import approve, edit, schedule
from socialq.domain.ids import new_token
from socialq.domain.local_time import resolve
from socialq.providers.x import X
from socialq.store.prepare_store import PostgresPrepares
from tests.integration.pipeline.racing import Background

if TYPE_CHECKING:
    from tests.integration.lanes.world import Account, Lanes

AHEAD = timedelta(minutes=15)
SLOT_SECONDS = 300.0
"""Within `AHEAD`, so that posts can be prepared at once, and far enough for retries."""


@pytest.fixture
def account(lanes: Lanes) -> Account:
    return lanes.account()


def pictured(lanes: Lanes, account: Account, *texts: str, seconds: float = SLOT_SECONDS) -> UUID:
    """A post with a picture, mirrored in the index."""
    target = lanes.post(account, *texts, seconds=seconds, images=[lanes.image()])
    lanes.relay()
    return target


def prepare(lanes: Lanes) -> list[str]:
    return [lanes.handle(message) for message in lanes.dispatch("prepare")]


def prepared(lanes: Lanes, target: UUID, part: int = 1) -> dict[str, Any]:
    rows = lanes.rows(
        "SELECT prepared FROM cell.target_parts WHERE target_id = %(id)s AND part_no = %(part)s",
        id=target,
        part=part,
    )
    return rows[0]["prepared"]


def lane_row(lanes: Lanes, target: UUID) -> dict[str, Any]:
    row = lanes.index_row(target, "prepare")
    assert row is not None
    return row


def fault(lanes: Lanes, account: Account, kind: str, **more: Any) -> None:
    rule = {"platform": "x", "account": account.name, "step": "prepare", "kind": kind, "times": 1, **more}
    lanes.sandbox.faults([rule])


def test_a_post_with_a_picture_is_uploaded_before_its_slot_and_only_sent_at_it(
    lanes: Lanes, account: Account
):
    """Its prepare row is due the platform's time ahead; its results are stored; at the slot nothing is uploaded."""
    target = pictured(lanes, account, "With a picture")
    ahead, main = lane_row(lanes, target), lanes.index_row(target)
    assert main is not None
    assert main["due_at"] - ahead["due_at"] == AHEAD
    assert (ahead["kind"], ahead["status"]) == ("prepare", "pending")
    assert lanes.dispatch("main") == []
    lanes.count_steps(account)
    assert prepare(lanes) == ["prepared"]
    assert lanes.counted > 0
    assert "media.1" in prepared(lanes, target)
    assert lane_row(lanes, target)["status"] == "done"
    assert (lanes.row(target)["status"], lanes.live(account)) == ("scheduled", [])
    lanes.count_steps(account)
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert lanes.counted == 0
    (post,) = lanes.sandbox.ledger("x", account.name)
    assert [item["description"] for item in post["media"]] == ["A colour"]


def test_without_files_there_is_no_prepare_row(lanes: Lanes, account: Account):
    """A text has nothing to prepare, and a token that outlives the slot needs no check."""
    target = lanes.post(account, seconds=SLOT_SECONDS)
    lanes.relay()
    assert lanes.index_row(target, "prepare") is None
    assert lanes.dispatch("prepare") == []


def test_a_post_is_not_prepared_before_its_time(lanes: Lanes, account: Account):
    """Far ahead, an upload would have ended on the platform by the slot."""
    target = pictured(lanes, account, seconds=3600)
    assert lanes.dispatch("prepare") == []
    assert lane_row(lanes, target)["due_at"] > datetime.now(UTC) + timedelta(minutes=40)


def test_a_publish_that_begins_meanwhile_does_what_is_missing_and_fences_the_prepare(
    lanes: Lanes, account: Account
):
    """An upload that hangs delays nobody: the publish uploads by itself, and the late result is not stored."""
    target = pictured(lanes, account, "Overtaken")
    reached, go_on = threading.Event(), threading.Event()
    preparer = lanes.wiring.preparer
    adapter = preparer.adapter_for("x")

    class Hangs(X):
        def prepare_steps(self, *arguments: Any) -> Any:
            steps = adapter.prepare_steps(*arguments)

            def run(http: Any, step: Any) -> Any:
                result = step.run(http)
                reached.set()
                assert go_on.wait(20)
                return result

            return [replace(step, run=lambda http, step=step: run(http, step)) for step in steps]

    slow = replace(preparer, adapter_for=lambda _platform: Hangs())
    (message,) = lanes.dispatch("prepare")
    preparing = Background(lambda: slow.prepare(message))
    assert reached.wait(10)
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    stored = prepared(lanes, target)
    go_on.set()
    assert preparing.join() == "left_to_the_publish"
    assert prepared(lanes, target) == stored
    assert lanes.live(account) == ["Overtaken"]
    assert lane_row(lanes, target)["status"] == "done"


def test_a_late_result_is_not_stored_after_a_publish_that_will_be_retried(lanes: Lanes, account: Account):
    """The claim ends the prepare lane's lease: an id of a second upload never replaces the one that was used."""
    target = pictured(lanes, account)
    prepares = PostgresPrepares(lanes.wiring.stores)
    token = new_token()
    read = lanes.work(target).target
    assert prepares.take(read, token=token, lease_seconds=60.0) == 0
    rule = {"platform": "x", "account": account.name, "step": "publish", "kind": "refuse_503", "times": 1}
    lanes.sandbox.faults([{**rule, "kind": "rate_limit", "retry_after_s": 1}])
    lanes.due_now(target)
    lanes.work_off()
    assert lanes.row(target)["status"] == "retry_scheduled"
    before = prepared(lanes, target)
    late = {"media.1": {"id": "1", "at": "2027-01-01T00:00:00Z", "life_seconds": 60}}
    assert not prepares.store(read, token=token, part_no=1, result=late, lease_seconds=60.0)
    assert not prepares.end(read, token=token, again_at=None)
    assert prepared(lanes, target) == before


def test_two_workers_prepare_a_post_once(lanes: Lanes, account: Account):
    """A message that comes twice finds the lease taken; the second leaves the row for when that ends."""
    target = pictured(lanes, account)
    (message,) = lanes.dispatch("prepare")
    work = lanes.work(target)
    prepares, token = PostgresPrepares(lanes.wiring.stores), new_token()
    assert prepares.take(work.target, token=token, lease_seconds=120.0) == 0
    lanes.count_steps(account)
    assert lanes.handle(message) == "taken"
    assert lanes.counted == 0
    row = lane_row(lanes, target)
    assert row["status"] == "pending"
    assert 100 < (row["ready_at"] - datetime.now(UTC)).total_seconds() < 125


def test_what_a_dead_worker_had_begun_is_prepared_when_its_lease_ends(lanes: Lanes, account: Account):
    """The lease is the prepare lane's own; after it the next message does the work."""
    target = pictured(lanes, account)
    (message,) = lanes.dispatch("prepare")
    prepares = PostgresPrepares(lanes.wiring.stores)
    assert prepares.take(lanes.work(target).target, token=new_token(), lease_seconds=120.0) == 0
    assert lanes.handle(message) == "taken"
    lanes.change(
        "UPDATE cell.post_targets SET prepare_until = now() - interval '1 second' WHERE id = %(id)s",
        id=target,
    )
    lanes.central("UPDATE central.publish_dispatch_index SET ready_at = now() WHERE lane = 'prepare'")
    assert prepare(lanes) == ["prepared"]
    assert "media.1" in prepared(lanes, target)


def test_a_passing_failure_is_tried_again_before_the_slot(lanes: Lanes, account: Account):
    """The row is pending again at a time before the slot, and the second try prepares."""
    target = pictured(lanes, account)
    fault(lanes, account, "refuse_503")
    assert prepare(lanes) == ["again"]
    row = lane_row(lanes, target)
    assert row["status"] == "pending"
    assert row["due_at"] < lanes.row(target)["next_at"]
    assert lanes.alarms() == []
    lanes.central("UPDATE central.publish_dispatch_index SET ready_at = now() WHERE lane = 'prepare'")
    assert prepare(lanes) == ["prepared"]


def test_a_failure_close_to_the_slot_is_left_to_the_publish(lanes: Lanes, account: Account):
    """There is no time for another try ahead; the publish makes it."""
    target = pictured(lanes, account, "At the slot", seconds=4)
    fault(lanes, account, "refuse_503")
    assert prepare(lanes) == ["left_to_the_publish"]
    assert lane_row(lanes, target)["status"] == "done"
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]


def test_after_the_budget_of_tries_it_is_left_to_the_publish(lanes: Lanes, account: Account):
    """A platform whose uploads fail is not asked for ever."""
    target = pictured(lanes, account, "At last")
    fault(lanes, account, "refuse_503", times=None)
    said = []
    while lane_row(lanes, target)["status"] == "pending":
        lanes.central("UPDATE central.publish_dispatch_index SET ready_at = now() WHERE lane = 'prepare'")
        said += prepare(lanes)
        assert len(said) < 20
    assert said[-1] == "left_to_the_publish"
    assert 1 < len(said) <= lanes.wiring.rules.retry.budget + 1
    assert lanes.row(target)["tries_spent"] == 0
    lanes.sandbox.faults([])
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]


def test_a_file_that_the_platform_refuses_is_told_before_the_slot(lanes: Lanes, account: Account):
    """A person knows in time; the target itself is untouched until its slot."""
    target = pictured(lanes, account)
    fault(lanes, account, "validation", times=None)
    assert prepare(lanes) == ["left_to_the_publish"]
    (alarm,) = lanes.alarms()
    assert "will fail at its time" in alarm
    assert str(target) in alarm
    assert lanes.row(target)["status"] == "scheduled"


def test_a_token_that_ended_early_is_refreshed_ahead_and_raises_no_alarm(lanes: Lanes, account: Account):
    """What a refresh mends is nothing for a person to know of."""
    target = pictured(lanes, account)
    fault(lanes, account, "auth_revoked")
    assert prepare(lanes) == ["again"]
    assert lanes.alarms() == []
    assert account.generation() == 2
    assert prepare(lanes) == ["prepared"]
    assert "media.1" in prepared(lanes, target)


def test_an_account_that_must_be_reconnected_is_told_before_the_slot(lanes: Lanes, account: Account):
    """Where the refresh is refused as well, there is still time for a person."""
    target = pictured(lanes, account)
    lanes.sandbox.revoke(account.name, "x")
    assert prepare(lanes) == ["left_to_the_publish"]
    assert [str(target) in alarm for alarm in lanes.alarms()] == [True]
    assert account.row["status"] == "needs_reconnect"


def test_a_token_about_to_end_is_refreshed_by_the_prepare(lanes: Lanes, account: Account):
    """At the slot the token is already a new one."""
    target = pictured(lanes, account)
    account.ends_in(60)
    assert prepare(lanes) == ["prepared"]
    assert account.generation() == 2
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert account.generation() == 2


def again(lanes: Lanes, target: UUID, account: Account, text: str) -> None:
    """Edit a post's text, approve it and schedule it again."""
    row = lanes.row(target)
    (version,) = lanes.rows("SELECT content FROM cell.post_versions WHERE id = %(id)s", id=row["version_id"])
    media = [UUID(one) for one in version["content"]["parts"][0]["media"]]
    stores, tenant, now = lanes.wiring.stores, lanes.agency.tenant.id, datetime.now(UTC)
    edited = edit.edit_post(
        stores,
        tenant=tenant,
        post_id=row["post_id"],
        parts=[{"text": text, "media": media}],
        actor="test",
    )
    approve.approve(
        stores, tenant=tenant, post_id=row["post_id"], version_id=edited.version_id, approved_by="test"
    )
    at = now + timedelta(seconds=SLOT_SECONDS)
    schedule.schedule(
        stores,
        tenant=tenant,
        target_ids=[target],
        resolved=resolve(at.isoformat(), zone=None, default_zone="UTC", now=now),
        now=now,
        actor="test",
    )
    lanes.relay()


def test_an_edited_post_is_prepared_again(lanes: Lanes, account: Account):
    """What was uploaded for the old version is not used for the new one."""
    target = pictured(lanes, account, "Before")
    assert prepare(lanes) == ["prepared"]
    before = prepared(lanes, target)
    again(lanes, target, account, "After")
    assert prepared(lanes, target) == {}
    assert lane_row(lanes, target)["status"] == "pending"
    assert prepare(lanes) == ["prepared"]
    assert prepared(lanes, target)["media.1"] != before["media.1"]
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert lanes.live(account) == ["After"]


def test_an_edit_ends_the_lease_of_a_prepare_that_runs(lanes: Lanes, account: Account):
    """The new version is prepared at once, and the old one's late result is not stored for it."""
    target = pictured(lanes, account, "Before")
    old = lanes.work(target).target
    prepares, token = PostgresPrepares(lanes.wiring.stores), new_token()
    assert prepares.take(old, token=token, lease_seconds=120.0) == 0
    again(lanes, target, account, "After")
    assert prepare(lanes) == ["prepared"]
    stored = prepared(lanes, target)
    late = {"media.1": {"id": "1"}}
    assert not prepares.store(old, token=token, part_no=1, result=late, lease_seconds=60.0)
    assert not prepares.end(old, token=token, again_at=None)
    assert prepared(lanes, target) == stored


@pytest.mark.parametrize(
    "withdrawn",
    [
        "UPDATE cell.posts SET approved_version_id = NULL",
        "UPDATE cell.tenant_state SET stopped_at = now(), stopped_by = '{person}', stop_reason = 'crisis'",
        "UPDATE cell.accounts SET status = 'disabled'",
    ],
)
def test_what_must_not_go_out_is_not_uploaded(lanes: Lanes, account: Account, withdrawn: str):
    """The guards that need no network speak here, too."""
    pictured(lanes, account)
    lanes.change(withdrawn)
    lanes.count_steps(account)
    assert prepare(lanes) == ["obsolete"]
    assert lanes.counted == 0


def test_a_backlog_in_the_prepare_lane_leaves_the_main_lane_its_room(lanes: Lanes):
    """Each lane counts its own messages: a thousand uploads that hang take no place of a publish."""
    settings = lanes.wiring.settings
    hanging = settings.max_slow_per_platform + 1
    accounts = [lanes.account() for _ in range(2)]
    waiting = pictured(lanes, accounts[0], "Uploads hang")
    lanes.central(
        "INSERT INTO central.publish_dispatch_index (target_id, lane, tenant_id, cell, account_id, platform, seq,"
        " kind, due_at, ready_at, status, sends, enqueued_at, resend_at)"
        " SELECT gen_random_uuid(), 'prepare', %(tenant)s, 'default', gen_random_uuid(), 'x', 1, 'prepare',"
        " now(), now(), 'enqueued', 1, now() - interval '5 seconds', now() + interval '1 minute'"
        " FROM generate_series(1, %(hanging)s)",
        tenant=lanes.agency.tenant.id,
        hanging=hanging,
    )
    target = lanes.post(accounts[1], "Not delayed")
    lanes.relay()
    assert lanes.dispatch("prepare") == []
    assert lane_row(lanes, waiting)["status"] == "pending"
    assert [message.target_id for message in lanes.dispatch("main")] == [target]


def test_an_upload_that_is_under_way_does_not_keep_its_account_from_publishing(
    lanes: Lanes, account: Account
):
    """One message of an account in each lane: an upload for tonight does not delay the post that is due now."""
    later = pictured(lanes, account, "Tonight")
    assert [message.target_id for message in lanes.dispatch("prepare")] == [later]
    now = lanes.post(account, "Now")
    lanes.relay()
    assert [message.target_id for message in lanes.dispatch("main")] == [now]
