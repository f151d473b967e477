"""Settling: an outcome is recorded once, by whoever holds the claim, and the index row follows."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from socialq.desk import resolve
from socialq.domain.ids import new_token
from socialq.domain.outcomes import (
    Accepted,
    AuthLost,
    Duplicate,
    Evidence,
    Ours,
    PermissionLost,
    RateLimited,
    Rejected,
    Transient,
)
from socialq.domain.settlement import Decision
from socialq.domain.states import TargetStatus
from socialq.domain.targets import Move
from socialq.store import index_store
from socialq.store.index_store import PostgresIndex
from socialq.store.sessions import ROLE_CENTRAL, Database
from tests.integration.pipeline.doubles import lost
from tests.integration.pipeline.racing import Background, race
from tests.integration.pipeline.world import in_seconds, wait_for_lock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from socialq.domain.targets import PartState, Target
    from tests.integration.pipeline.world import World

SAID = Evidence(http_status=400, code="test.code", message="said so", request_id="q-1")


def test_an_acceptance_changes_everything_in_one_transaction(world: World):
    """Target, part, attempt, sighting and publication tell the same; the account is free; the row is done."""
    target = world.post()
    world.relay().scan()
    world.dispatcher().scan()
    [message] = world.queue.take()
    world.platform.answers.append(
        Accepted(remote_id="r-1", permalink="https://social.example/r-1", evidence=Evidence(http_status=200))
    )
    assert world.publisher().publish(message) == "published"
    row, part = world.row(target), world.part(target)
    assert (row["status"], row["seq"], row["holds_account"], row["lease_token"]) == (
        "published",
        2,
        False,
        None,
    )
    assert (row["next_kind"], row["published_at"] is not None) == (None, True)
    assert (part["remote_id"], part["permalink"]) == ("r-1", "https://social.example/r-1")
    [attempt] = world.attempts(target)
    assert (attempt["state"], attempt["http_status"]) == ("accepted", 200)
    assert attempt["finished_at"] is not None
    [publication] = world.publications(target)
    assert (publication["remote_id"], publication["key_instant"]) == ("r-1", row["key_instant"])
    [sighting] = world.rows("SELECT * FROM cell.sightings")
    assert (sighting["remote_id"], sighting["target_id"], sighting["part_no"]) == ("r-1", target, 1)
    assert world.index_row(target)["status"] == "done"
    assert world.history(target) == ["scheduled", "publishing", "published"]
    assert world.alarms() == []


FAILURES: dict[str, tuple[Any, dict[str, Any]]] = {
    "transient": (Transient(evidence=SAID), {"status": "retry_scheduled", "tries_spent": 1}),
    "rate_limited": (
        RateLimited(evidence=SAID, retry_after_seconds=120),
        {"status": "retry_scheduled", "tries_spent": 0, "reason": "rate_limited"},
    ),
    "auth_lost": (AuthLost(evidence=SAID), {"status": "needs_reconnect", "tries_spent": 0}),
    "permission_lost": (PermissionLost(evidence=SAID), {"status": "failed", "reason": "no_permission"}),
    "rejected": (Rejected(evidence=SAID), {"status": "failed", "reason": "rejected_validation"}),
    "duplicate": (Duplicate(evidence=SAID), {"status": "failed", "reason": "duplicate_content"}),
    "ours": (Ours(evidence=SAID), {"status": "retry_scheduled", "tries_spent": 0, "reason": "ours"}),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_is_recorded_and_the_mark_is_cleared(world: World, kind: str):
    """Whatever the platform answered for certain: the attempt says it, the mark is cleared, nobody waits."""
    outcome, expected = FAILURES[kind]
    target = world.post()
    world.relay().scan()
    world.platform.answers.append(outcome)
    assert world.publish(target) == expected["status"]
    row = world.row(target)
    assert {name: row[name] for name in expected} == expected
    assert (row["holds_account"], row["lease_token"], row["lease_until"]) == (False, None, None)
    assert world.part(target)["mark_cleared"] is True
    [attempt] = world.attempts(target)
    assert (attempt["state"], attempt["http_status"], attempt["code"]) == (kind, 400, "test.code")
    assert (attempt["message"], attempt["request_id"]) == ("said so", "q-1")
    index_row = world.index_row(target)
    assert index_row["seq"] == row["seq"] == 2
    assert index_row["status"] == ("pending" if row["next_kind"] else "done")
    assert world.work_off() == []


def test_a_rate_limit_holds_the_account_and_its_rows(world: World):
    """Until the time the platform gave, the account's other targets wait too, in the cell and in the index."""
    first, second = world.post(), world.post()
    world.relay().scan()
    world.platform.answers.append(RateLimited(evidence=SAID, retry_after_seconds=120))
    world.publish(first)
    account = world.rows("SELECT hold_until, status FROM cell.accounts WHERE id = %(id)s", id=world.account)[
        0
    ]
    assert 115 < in_seconds(account["hold_until"]) <= 120
    assert account["status"] == "active"
    assert world.targets.claim(world.request(second)) is None
    assert world.index_row(second)["ready_in_seconds"] > 115
    assert world.dispatcher().scan() == pytest.approx(120, abs=5)


def test_a_lost_authorisation_marks_the_account(world: World):
    """The account needs a person; its other targets are told so by the guards."""
    first, second = world.post(), world.post()
    world.platform.answers.append(AuthLost(evidence=SAID))
    world.publish(first)
    account = world.rows(
        "SELECT status, status_reason FROM cell.accounts WHERE id = %(id)s", id=world.account
    )[0]
    assert account == {"status": "needs_reconnect", "status_reason": "said so"}
    assert world.publish(second) == "account_active"
    assert world.status(second) == "needs_reconnect"


def test_a_lost_permission_flags_the_account_and_leaves_it_active(world: World):
    """Other posts may still be allowed: the account is flagged, not switched off."""
    world.platform.answers.append(PermissionLost(evidence=SAID))
    world.publish(world.post())
    account = world.rows("SELECT * FROM cell.accounts WHERE id = %(id)s", id=world.account)[0]
    assert (account["status"], account["flag_reason"]) == ("active", "said so")
    assert account["flagged_at"] is not None


def test_a_refusal_of_our_application_alarms_and_spares_the_customer(world: World):
    """Our application's trouble is an alarm of ours: the account stays active, the target waits."""
    world.platform.answers.append(Ours(evidence=SAID))
    world.publish(world.post())
    assert len(world.alarms()) == 1
    assert world.rows("SELECT status FROM cell.accounts WHERE id = %(id)s", id=world.account) == [
        {"status": "active"}
    ]


def test_a_lost_answer_holds_the_account_and_plans_a_look(world: World):
    """Nothing is sent on the account until a look was finished."""
    target = world.post()
    world.relay().scan()
    assert world.lose_answer(target) == "unknown_outcome"
    row, part = world.row(target), world.part(target)
    assert (row["holds_account"], row["next_kind"], row["lease_token"]) == (True, "look", None)
    assert in_seconds(row["next_at"]) == pytest.approx(10, abs=1)
    assert (part["unknown_count"], part["mark_cleared"], part["remote_id"]) == (1, False, None)
    assert world.attempts(target)[0]["state"] == "unknown"
    index_row = world.index_row(target)
    assert (index_row["kind"], index_row["status"], index_row["seq"]) == ("look", "pending", row["seq"])


def test_settling_twice_records_once(world: World):
    """The second settle of a claim finds that it is not a claim any more."""
    target = world.post()
    claim = world.claim(target, mark=True)
    first = claim.accepted("r-1")
    assert first.status is TargetStatus.PUBLISHED
    assert claim.accepted("r-1") is None
    assert claim.settle(_to_failed) is None
    assert world.row(target)["seq"] == 2
    assert len(world.publications(target)) == 1
    assert world.history(target) == ["scheduled", "publishing", "published"]


def _to_failed(_target: Target, _parts: Sequence[PartState], _now: datetime) -> Decision:
    return Decision(
        move=Move(to=TargetStatus.FAILED, reason="test"), clear_mark=True, attempt_state="rejected"
    )


def test_two_racing_settles_of_one_claim_leave_one_outcome(world: World):
    """An acceptance and a failure race: one is recorded, whole."""
    for _ in range(5):
        target = world.post(account=world.new_account())
        claim = world.claim(target, mark=True)
        results = race(
            lambda claim=claim: claim.accepted("r-" + str(claim.target)),
            lambda claim=claim: claim.settle(_to_failed),
        )
        assert sum(result is not None for result in results) == 1
        row, [attempt] = world.row(target), world.attempts(target)
        assert (row["status"], attempt["state"]) in {("published", "accepted"), ("failed", "rejected")}
        assert row["seq"] == 2


def test_a_settle_with_another_token_changes_nothing(world: World):
    """Only the holder settles."""
    target = world.post()
    claim = world.claim(target, mark=True)
    before = world.row(target)
    assert claim.accepted("r-1", token=new_token()) is None
    settled = world.targets.settle(
        tenant_id=world.tenant,
        target_id=target,
        token=new_token(),
        part_no=1,
        evidence=SAID,
        decide=_to_failed,
    )
    assert settled is None
    assert world.row(target) == before
    assert world.part(target)["remote_id"] is None


def test_settle_and_sweep_race_for_an_ended_lease(world: World):
    """Whoever comes first settles; a late acceptance still publishes. Never two, never none."""
    for _ in range(5):
        target = world.post(account=world.new_account())
        claim = world.claim(target, mark=True)
        world.end_lease(target)
        results = race(lambda claim=claim: claim.accepted("r-" + str(claim.target)), world.sweep().sweep)
        swept, settled = results[1]["leases_ended"], results[0]
        assert (settled is not None) != (swept == 1)
        if settled is None:
            assert world.status(target) == "unknown_outcome"
            assert claim.late("r-" + str(target)).status is TargetStatus.PUBLISHED
        assert world.status(target) == "published"
        assert len(world.publications(target)) == 1


@pytest.mark.parametrize(
    ("outcome", "final"),
    [
        (Transient(evidence=SAID), "cancelled"),
        (RateLimited(evidence=SAID, retry_after_seconds=60), "cancelled"),
        (Accepted(remote_id="r-1"), "published"),
        (Rejected(evidence=SAID), "failed"),
        (lost(), "unknown_outcome"),
    ],
    ids=["transient", "rate limited", "accepted", "rejected", "lost"],
)
def test_a_cancel_during_the_request_decides_only_what_is_not_live(world: World, outcome: object, final: str):
    """Withdrawn while the request is under way: a retry becomes cancelled, an acceptance stays published."""
    target = world.post()

    def under_way(_call: object) -> object:
        asked = resolve.cancel(
            world.stores, tenant=world.tenant, target_id=target, reason="typo", actor="person"
        )
        assert asked is resolve.CancelResult.REQUESTED
        return outcome

    world.platform.answers.append(under_way)
    world.publish(target)
    assert world.status(target) == final


def test_settle_and_cancel_race(world: World):
    """A cancel and a transient failure race: cancelled either way, by the settle or at once after it."""
    for _ in range(5):
        target = world.post(account=world.new_account())
        claim = world.claim(target, mark=True)

        def decide(target: Target, _parts: object, now: datetime) -> Decision:
            to = TargetStatus.CANCELLED if target.cancel_requested else TargetStatus.RETRY_SCHEDULED
            waits = to is TargetStatus.RETRY_SCHEDULED
            move = Move(to=to, next_kind=target.next_kind if waits else None, next_at=now if waits else None)
            return Decision(move=move, clear_mark=True)

        race(
            lambda claim=claim, decide=decide: claim.settle(decide),
            lambda target=target: resolve.cancel(
                world.stores, tenant=world.tenant, target_id=target, reason="typo", actor="person"
            ),
        )
        row = world.row(target)
        assert row["status"] == "cancelled"
        assert (row["next_kind"], row["holds_account"]) == (None, False)


@pytest.mark.parametrize("how", ["accepted", "transient"])
def test_a_connection_cut_while_settling_does_not_lose_the_outcome(world: World, how: str):
    """The database server ends the session in the middle of a settle: it is tried again and recorded."""
    target = world.post()
    world.relay().scan()
    message = world.message(target)
    world.platform.answers.append(
        Accepted(remote_id="r-1") if how == "accepted" else Transient(evidence=SAID)
    )
    with world.owner() as connection:

        def under_way(answer: object) -> object:
            # From now on the settle waits for this lock: that is where it is cut.
            connection.execute("SELECT 1 FROM cell.post_targets WHERE id = %s FOR UPDATE", [target])
            return answer

        answer = world.platform.answers.pop()
        world.platform.answers.append(lambda _call: under_way(answer))
        publishing = Background(lambda: world.publisher().publish(message))
        wait_for_lock(world)
        cut = world.arrange(
            "SELECT pg_terminate_backend(pid) AS cut FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        assert [row["cut"] for row in cut] == [True]
        wait_for_lock(world)
        connection.rollback()
    said = publishing.join()
    assert said == ("published" if how == "accepted" else "retry_scheduled")
    assert world.status(target) == said
    assert len(world.attempts(target)) == 1
    assert world.attempts(target)[0]["state"] == how
    assert world.index_row(target)["status"] == ("done" if how == "accepted" else "pending")


def test_a_settle_whose_commit_was_answered_to_nobody_is_not_done_twice(world: World):
    """The first try committed and only its answer was lost: the second finds it done, and the row is finished."""
    target = world.post()
    world.relay().scan()
    real, calls = world.targets.accepted, []

    def committed_and_cut(**asked: Any) -> Any:
        calls.append(real(**asked))
        # What a second try, after the connection was lost at the commit, finds:
        return real(**asked)

    world.targets.accepted = committed_and_cut  # type: ignore[method-assign]
    assert world.publish(target) == "late_acceptance"
    assert calls[0].status is TargetStatus.PUBLISHED
    assert world.row(target)["seq"] == 2
    assert (world.index_row(target)["status"], world.alarms()) == ("done", [])
    assert len(world.publications(target)) == 1


def test_the_central_database_cannot_fail_what_the_cell_has_settled(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    """The index is not the truth: a settle stands though its row can't be finished, and is repaired later."""
    target = world.post()
    world.relay().scan()
    world.dispatcher().scan()
    [message] = world.queue.take()
    monkeypatch.setattr(index_store, "_PATIENCE_SECONDS", 0.1)
    gone = PostgresIndex(world.stores)
    gone._central = Database("postgresql://nobody@127.0.0.1:1/gone", role=ROLE_CENTRAL)
    assert world.publisher(index=gone).publish(message) == "published"
    assert world.status(target) == "published"
    assert world.index_row(target)["status"] == "enqueued"
    assert world.publisher().publish(message) == "claimable"
    assert world.index_row(target)["status"] == "done"


@pytest.mark.parametrize(
    "later",
    [
        "UPDATE cell.post_targets SET status = 'failed', published_at = NULL WHERE id = %(id)s",
        """UPDATE cell.post_targets SET status = 'scheduled', published_at = NULL, next_kind = 'publish',
        next_at = now() WHERE id = %(id)s""",
        "UPDATE cell.post_targets SET status = 'cancelled', published_at = NULL WHERE id = %(id)s",
    ],
    ids=["failed", "scheduled", "cancelled"],
)
def test_nothing_takes_published_back(world: World, later: str):
    """The database refuses every move from published, whoever asks."""
    target = world.post()
    world.publish(target)
    with pytest.raises(psycopg.errors.CheckViolation, match="can't go from published"):
        world.arrange(later, id=target)


def test_nothing_after_acceptance_sends_or_fails_a_published_target(world: World):
    """Messages of any age and kind, sweeps and guards leave a published target alone."""
    target = world.post()
    world.publish(target)
    before, part = world.row(target), world.part(target)
    world.arrange("UPDATE cell.accounts SET status = 'disabled' WHERE id = %(id)s", id=world.account)
    world.arrange_target(target, publish_by=before["publish_by"] - timedelta(days=30))
    for seq in (0, 1, 2, 3):
        assert world.publisher().publish(world.message(target, seq=seq)) == "claimable"
        assert world.looker().look(world.message(target, seq=seq)) == "obsolete"
    world.sweep().sweep()
    assert world.work_off() == []
    after = world.row(target)
    assert {**after, "publish_by": before["publish_by"]} == before
    assert world.part(target) == part
    assert len(world.platform.sent) == 1
