"""The database itself refuses what the code must never do: illegal moves, half-states, second records."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialq.domain.finding import after_look
from socialq.domain.ids import new_id, new_token
from socialq.domain.settlement import after_failure, after_lease_end
from socialq.domain.states import TRANSITIONS, TargetStatus, derive_post_status
from socialq.store.cell import post_targets
from tests import factories, situations
from tests.integration.pipeline.test_late_acceptance import STATES
from tests.integration.pipeline.world import values

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.pipeline.world import World

S = TargetStatus
NOW = datetime.now(UTC)
BASE = {"lost_at": None, "published_at": None}


def assign(columns: dict[str, Any]) -> str:
    return ", ".join(f"{name} = %({name})s" for name in columns)


@pytest.mark.parametrize("source", list(S))
def test_only_the_moves_of_the_table_are_possible(world: World, source: TargetStatus):
    """All 144 pairs by a direct update, as the owner: what the table does not have is refused."""
    target = world.post()
    history = world.history(target)
    for to in S:
        world.arrange_target(target, status=source, **{**BASE, **STATES[source]})
        columns = {**BASE, **STATES[to], "status": to}
        with world.owner() as connection:
            try:
                connection.execute(
                    f"UPDATE cell.post_targets SET {assign(columns)} WHERE id = %(id)s",
                    {**columns, "id": target},
                )
                refused_by = None
            except psycopg.errors.CheckViolation as error:
                refused_by = error.diag.constraint_name
            connection.rollback()
        allowed = to in TRANSITIONS[source] or to is source
        assert refused_by == (None if allowed else "legal_move"), (source, to)
    assert world.history(target) == history


def test_the_databases_table_of_moves_is_the_domains(world: World):
    """`cell.move_allowed` says the same as `TRANSITIONS`, for every pair."""
    rows = world.arrange(
        "SELECT f, t FROM unnest(%(all)s::text[]) f, unnest(%(all)s::text[]) t WHERE cell.move_allowed(f, t)",
        all=[status.value for status in S],
    )
    assert {(row["f"], row["t"]) for row in rows} == {
        (source.value, to.value) for source, moves in TRANSITIONS.items() for to in moves
    }


def test_every_move_is_recorded_by_the_database(world: World):
    """Who, when, from, to, why: whatever statement made the move."""
    target = world.post()
    world.publish(target)
    rows = world.rows("SELECT * FROM cell.target_history ORDER BY id")
    assert [values(row, "from_status", "to_status", "actor") for row in rows] == [
        (None, "scheduled", "test"),
        ("scheduled", "publishing", "test:1"),
        ("publishing", "published", "worker"),
    ]


HALF_STATES: dict[str, dict[str, Any]] = {
    "work without a time": {"next_at": None},
    "a time without work": {"next_kind": None},
    "scheduled without publish_by": {"publish_by": None},
    "scheduled without publish_at": {"publish_at": None},
    "scheduled to look": {"next_kind": "look"},
    "publishing without a lease": {"status": "publishing", "holds_account": True},
    "publishing without the account": {
        "status": "publishing",
        "lease_token": new_token(),
        "lease_until": NOW,
    },
    "a lease while scheduled": {"lease_token": new_token(), "lease_until": NOW},
    "half a lease": {"status": "publishing", "holds_account": True, "lease_token": new_token()},
    "an account held while scheduled": {"holds_account": True},
    "unknown without a look": {"status": "unknown_outcome", "lost_at": NOW},
    "unknown since never": {"status": "unknown_outcome", "next_kind": "look"},
    "failed with work": {"status": "failed"},
    "cancelled with work": {"status": "cancelled"},
    "needing attention with work": {"status": "needs_attention", "next_kind": "look"},
    "published at no time": {"status": "published", "next_kind": None, "next_at": None},
    "published with work to publish": {"status": "published", "published_at": NOW},
    "unpublished with a time of publication": {"published_at": NOW},
    "a state that nobody knows": {"status": "queued"},
    "work that nobody knows": {"next_kind": "comment"},
    "work at the end of time": {"next_at": "infinity"},
}


@pytest.mark.parametrize("what", HALF_STATES)
def test_the_database_refuses_half_states(world: World, what: str):
    """No statement of whatever program can leave a row that means nothing."""
    target = world.post()
    with pytest.raises(psycopg.errors.CheckViolation):
        world.arrange_target(target, **HALF_STATES[what])


def test_a_part_is_marked_by_an_attempt_and_live_at_a_time(world: World):
    """Half a mark and half an acceptance are refused."""
    target = world.post()
    for half in ("marked_at = now()", "marked_attempt = 1", "remote_id = 'r'", "accepted_at = now()"):
        with pytest.raises(psycopg.errors.CheckViolation):
            world.arrange(f"UPDATE cell.target_parts SET {half} WHERE target_id = %(id)s", id=target)


ATTEMPT = (
    "INSERT INTO cell.publishing_attempts (tenant_id, target_id, attempt_no, idempotency_key, token, state, worker,"
    " part_no, due_at, claimed_at, finished_at) VALUES (%(tenant)s, %(target)s, %(no)s, %(key)s, %(token)s,"
    " %(state)s, 'w', 1, now(), now(), %(finished)s)"
)


def test_an_attempt_number_is_given_once(world: World):
    """A second attempt with a number, or with a reference, that is there already is refused."""
    target = world.post()
    given = {
        "tenant": world.tenant,
        "target": target,
        "token": new_token(),
        "state": "in_flight",
        "finished": None,
    }
    world.arrange(ATTEMPT, **given, no=1, key="a")
    with pytest.raises(psycopg.errors.UniqueViolation):
        world.arrange(ATTEMPT, **given, no=1, key="b")
    with pytest.raises(psycopg.errors.UniqueViolation):
        world.arrange(ATTEMPT, **given, no=2, key="a")


def test_an_attempt_is_in_flight_or_finished(world: World):
    """An attempt that has ended says when; one that is in flight has no end."""
    given = {"tenant": world.tenant, "target": world.post(), "token": new_token(), "no": 1, "key": "a"}
    for state, finished in (("in_flight", NOW), ("accepted", None), ("unheard_of", NOW)):
        with pytest.raises(psycopg.errors.CheckViolation):
            world.arrange(ATTEMPT, **given, state=state, finished=finished)


PUBLICATION = (
    "INSERT INTO cell.publications (tenant_id, publication_key, target_id, version_id, key_instant, remote_id,"
    " published_at) VALUES (%(tenant)s, %(key)s, %(target)s, %(version)s, %(instant)s, 'r', now())"
)


def test_a_publication_key_is_used_once(world: World):
    """A second publication with the key, or of the same target, instant and version, is refused."""
    target = world.post()
    row = world.row(target)
    given = {
        "tenant": world.tenant,
        "target": target,
        "version": row["version_id"],
        "instant": row["publish_at"],
    }
    world.arrange(PUBLICATION, **given, key="a")
    for again in ({**given, "key": "a", "instant": NOW + timedelta(days=1)}, {**given, "key": "b"}):
        with pytest.raises(psycopg.errors.UniqueViolation):
            world.arrange(PUBLICATION, **again)


def test_a_remote_id_belongs_to_one_part(world: World):
    """A second sighting of an id on its account is refused; another account may have the same id."""
    target = world.post()
    sighting = "INSERT INTO cell.sightings VALUES (%(tenant)s, %(account)s, 'r-1', %(target)s, %(part)s, 'look', now())"
    given = {"tenant": world.tenant, "target": target}
    world.arrange(sighting, **given, account=world.account, part=1)
    with pytest.raises(psycopg.errors.UniqueViolation):
        world.arrange(sighting, **given, account=world.account, part=2)
    world.arrange(sighting, **given, account=new_id(), part=1)


def test_an_event_is_left_once_for_each_change(world: World):
    """(target, seq) is the event's key."""
    target = world.post()
    with pytest.raises(psycopg.errors.UniqueViolation):
        world.arrange(
            "INSERT INTO cell.outbox_events (tenant_id, target_id, seq, kind) VALUES (%(t)s, %(id)s, 1, 'x')",
            t=world.tenant,
            id=target,
        )


def test_a_post_has_one_target_on_an_account(world: World):
    """The same post twice on one account is refused."""
    target = world.post()
    with pytest.raises(psycopg.errors.UniqueViolation):
        world.arrange(
            "INSERT INTO cell.post_targets (tenant_id, id, post_id, account_id, platform, version_id, status)"
            " SELECT tenant_id, gen_random_uuid(), post_id, account_id, platform, version_id, 'draft'"
            " FROM cell.post_targets WHERE id = %(id)s",
            id=target,
        )


# Decisions on the real thing.

_PLAIN = {
    "next_kind": None,
    "next_at": None,
    "lease_token": None,
    "lease_until": None,
    "holds_account": False,
    **BASE,
}


def _in_the_database(world: World, target: UUID, situation: situations.Situation) -> Any:
    """Give a target's row the situation's columns, and read it back as the decision's target."""
    wanted = situation.target
    names = [
        "status", "next_kind", "next_at", "publish_at", "publish_by", "key_instant", "attempt_count", "tries_spent",
        "lease_token", "lease_until", "holds_account", "cancel_requested", "lost_at", "looks_done", "looks_failed",
        "published_at",
    ]  # fmt: skip
    world.arrange_target(target, **{**_PLAIN, **{name: getattr(wanted, name) for name in names}})
    with world.stores.cell("default").app.transaction(tenant=world.tenant) as session:
        return post_targets.read(session, target)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(
    st.one_of(
        st.tuples(situations.situations(S.PUBLISHING), situations.failures, st.just(after_failure)),
        st.tuples(
            situations.situations(S.PUBLISHING), st.none(), st.just(lambda s, _o, r: after_lease_end(s, r))
        ),
        st.tuples(situations.situations(S.UNKNOWN_OUTCOME), situations.looks, st.just(after_look)),
    )
)
def test_the_database_takes_every_decision(world: World, way: Any):
    """Random decisions, applied to real rows: each is taken, and leaves what it said."""
    situation, outcome, decide = way
    rows = world.rows("SELECT id FROM cell.post_targets LIMIT 1")
    target = rows[0]["id"] if rows else world.post()
    current = _in_the_database(world, target, situation)
    decision = decide(situations.changed(situation, target=current), outcome, situations.RULES)
    with world.stores.cell("default").app.transaction(tenant=world.tenant) as session:
        moved = post_targets.apply(session, current, decision.move)
    assert moved is not None
    expected = situations.after(current, decision.move)
    assert values(world.row(target), "status", "next_kind", "next_at", "holds_account") == (
        expected["status"],
        expected["next_kind"],
        expected["next_at"],
        expected["holds_account"],
    )


def test_the_rules_in_python_are_the_databases(world: World):
    """Random rows, whole and broken: the CHECK constraints refuse exactly what `broken_rules` names."""
    target = world.post()
    chance = random.Random(7)
    agreed = {True: 0, False: 0}
    with world.owner() as connection:
        connection.execute("ALTER TABLE cell.post_targets DISABLE TRIGGER record_move")
        for status, *_ in product(S, range(16)):
            row = _random_row(chance, status)
            broken = situations.broken_rules(row)
            try:
                with connection.transaction(force_rollback=True):
                    connection.execute(
                        f"UPDATE cell.post_targets SET {assign(row)} WHERE id = %(id)s", {**row, "id": target}
                    )
                refused_by = None
            except psycopg.errors.CheckViolation as error:
                refused_by = error.diag.constraint_name
            assert (refused_by in broken) if broken else refused_by is None, (row, broken, refused_by)
            agreed[bool(broken)] += 1
        connection.rollback()
    assert min(agreed.values()) > 20


def _random_row(chance: random.Random, status: TargetStatus) -> dict[str, Any]:
    """A whole row in a state, with one column changed in most cases."""
    row = {"status": status, **_PLAIN, **STATES[status], "publish_at": NOW, "publish_by": NOW}
    if chance.random() < 0.7:
        column = chance.choice([name for name in row if name not in {"status", "publish_at"}])
        row[column] = {
            "next_kind": chance.choice([None, "publish", "look"]),
            "holds_account": not row["holds_account"],
            "lease_token": None if row["lease_token"] else new_token(),
        }.get(column, None if row[column] else NOW)
    return row


# The view.


def test_the_view_of_post_statuses_says_what_the_domain_says(world: World):
    """Random posts with random targets: `cell.post_statuses` and `derive_post_status` agree."""
    chance = random.Random(11)
    accounts = [world.new_account() for _ in range(4)]
    expected: dict[UUID, str] = {}
    changes: list[dict[str, Any]] = []
    for _ in range(80):
        approved = chance.random() < 0.5
        made = factories.make_post(
            world.stores,
            world.tenant,
            world.client,
            accounts[: chance.randint(0, 4)],
            status="draft",
            approved=approved,
        )
        # Few states a post, so that posts of one kind come up, too.
        statuses = chance.sample(list(S), chance.randint(1, 3))
        pairs = [(chance.choice(statuses), chance.random() < 0.3) for _ in made.target_ids]
        expected[made.post_id] = derive_post_status(pairs, pending_approval=not approved)
        for target, (status, live) in zip(made.target_ids, pairs, strict=True):
            row = {**_PLAIN, **STATES[status], "publish_at": NOW, "publish_by": NOW}
            changes.append({**row, "status": status, "id": target, "live": live})
    with world.owner() as connection:
        connection.execute("ALTER TABLE cell.post_targets DISABLE TRIGGER record_move")
        connection.execute("DROP INDEX cell.post_targets_account_held")
        columns = [name for name in changes[0] if name not in {"id", "live"}]
        with connection.cursor() as cursor:
            sql = f"UPDATE cell.post_targets SET {assign(dict.fromkeys(columns))} WHERE id = %(id)s"
            cursor.executemany(sql, changes)
        connection.execute(
            "UPDATE cell.target_parts SET remote_id = 'r', accepted_at = now() WHERE target_id = ANY (%s)",
            [[change["id"] for change in changes if change["live"]]],
        )
        connection.execute("SELECT set_config('socialq.tenant', %s, true)", [str(world.tenant)])
        rows = connection.execute("SELECT post_id, status FROM cell.post_statuses").fetchall()
        connection.rollback()
    assert {row["post_id"]: row["status"] for row in rows} == expected
    assert len(set(expected.values())) >= 8
