"""The circuit breaker: no loop of unknown outcomes or policy refusals gets an account banned."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.domain.breaking import BreakerLimits, Troubles, opens
from socialq.domain.clock import SystemClock
from socialq.domain.outcomes import Accepted, Evidence, Rejected, Transient
from socialq.store.central import holds
from tests.integration.pipeline.doubles import lost

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.pipeline.world import World

LIMITS = BreakerLimits(troubles=3, accounts=4)


@pytest.fixture
def strict(world: World) -> World:
    """A world whose breaker opens at three troubles of an account, or at four accounts of a platform."""
    world.rules = replace(world.rules, breaker=LIMITS)
    return world


def refused(reason: str = "policy") -> Rejected:
    return Rejected(evidence=Evidence(code="policy", message="against the rules"), reason=reason)  # type: ignore[arg-type]


def held(world: World) -> list[tuple[str, str, str]]:
    rows = world.arrange("SELECT scope, key, source FROM central.holds ORDER BY scope, key")
    return [(row["scope"], row["key"], row["source"]) for row in rows]


def fails(world: World, outcome: object, account: UUID | None = None) -> UUID:
    target = world.post(account=account or world.account)
    world.platform.answers.append(outcome)
    world.publish(target)
    return target


def test_the_third_policy_refusal_holds_the_account(strict: World):
    """Two are bad luck; after the third nothing more goes out there for an hour, and the operator knows."""
    fails(strict, refused())
    fails(strict, refused())
    assert held(strict) == []
    fails(strict, refused())
    assert held(strict) == [("account", str(strict.account), "breaker")]
    [row] = strict.arrange("SELECT until - now() AS for_long FROM central.holds")
    assert row["for_long"].total_seconds() == pytest.approx(3600, abs=60)
    [alarm] = strict.alarms()
    assert "is held for 60 min after 3 unknown outcomes or policy refusals" in alarm
    assert f"socialq hold lift account {strict.account}" in alarm
    waits = strict.post()
    other = strict.post(account=strict.new_account())
    strict.work_off()
    assert (strict.status(waits), strict.status(other)) == ("scheduled", "published")


def test_unknown_outcomes_count_too_and_are_looked_for_meanwhile(strict: World):
    """Held are the next posts; what may be live already is looked for all the same."""
    targets = []
    for _ in range(3):
        target = fails(strict, lost())
        targets.append(target)
        strict.arrange("UPDATE cell.post_targets SET holds_account = false WHERE id = %(id)s", id=target)
    assert held(strict) == [("account", str(strict.account), "breaker")]
    strict.relay().scan()
    strict.time_passes(targets[-1], 600)
    strict.relay().scan()
    strict.arrange("UPDATE central.publish_dispatch_index SET ready_at = due_at WHERE kind = 'look'")
    row = strict.index_row(targets[-1])
    assert row is not None
    assert row["kind"] == "look"
    assert row["ready_in_seconds"] < 0


def test_what_is_no_sign_of_a_ban_does_not_count(strict: World):
    """Content that the platform's form refuses, a busy platform, success."""
    for outcome in (
        refused("validation"),
        Transient(evidence=Evidence(code="x", message="busy")),
        Accepted(remote_id="a"),
        refused("validation"),
    ):
        fails(strict, outcome, strict.new_account())
        fails(strict, outcome)
    assert strict.arrange("SELECT 1 FROM central.troubles") == []
    assert held(strict) == []


def test_old_troubles_do_not_count(strict: World):
    """Two of this morning and one of now are no loop."""
    fails(strict, refused())
    fails(strict, refused())
    strict.arrange("UPDATE central.troubles SET at = now() - interval '31 min'")
    fails(strict, refused())
    assert held(strict) == []


def test_many_accounts_in_trouble_at_once_hold_their_platform(strict: World):
    """The fourth account within a minute: the platform rests for two minutes, no account is blamed."""
    for _ in range(3):
        fails(strict, lost(), strict.new_account())
    assert held(strict) == []
    fails(strict, lost(), strict.new_account())
    assert held(strict) == [("platform", "mastodon", "breaker")]
    [row] = strict.arrange("SELECT until - now() AS for_long FROM central.holds")
    assert row["for_long"].total_seconds() == pytest.approx(120, abs=30)


class HoursAhead(SystemClock):
    """The clock of a worker that nobody has set."""

    def now(self) -> datetime:
        return super().now() + timedelta(hours=5)


def test_a_worker_whose_clock_is_off_holds_for_as_long_as_any_other(strict: World):
    """The hold is everybody's: it is counted from the database's time."""
    for _ in range(3):
        target = strict.post()
        strict.platform.answers.append(refused())
        strict.publisher(clock=HoursAhead()).publish(strict.message(target))
    [row] = strict.arrange("SELECT until - now() AS for_long FROM central.holds")
    assert row["for_long"].total_seconds() == pytest.approx(3600, abs=60)


def test_whoever_lifts_it_has_looked(strict: World):
    """A person lifts the hold, and the count begins anew: the next failure does not hold it again."""
    for _ in range(3):
        fails(strict, refused())
    assert holds.lift(strict.stores.central, scope="account", key=str(strict.account), actor="t")
    fails(strict, refused())
    assert held(strict) == []


def test_a_hold_of_a_person_is_not_shortened(strict: World):
    """Both stand, and each is lifted by itself."""
    until = datetime.now(UTC) + timedelta(days=3)
    holds.set_hold(
        strict.stores.central, scope="account", key=str(strict.account), until=until, reason="r", set_by="t"
    )
    for _ in range(3):
        fails(strict, refused())
    assert {source for _, _, source in held(strict)} == {"breaker", "person"}


def test_an_account_that_publishes_costs_nothing(strict: World):
    """The happy path asks the central database nothing about it."""
    asked: list[object] = []
    real = strict.index.trouble
    strict.index.trouble = lambda **values: asked.append(values) or real(**values)  # type: ignore[method-assign]
    strict.post()
    strict.work_off()
    assert asked == []


def test_a_count_that_cannot_be_taken_fails_nothing(strict: World, monkeypatch: pytest.MonkeyPatch):
    """The central database is away: the outcome is settled all the same."""
    import psycopg

    def away(*_: object, **__: object) -> None:
        raise psycopg.OperationalError("gone")

    monkeypatch.setattr("socialq.store.index_store._PATIENCE_SECONDS", 0.01)
    target = strict.post()
    strict.platform.answers.append(refused())
    monkeypatch.setattr(strict.stores.central, "pipelined", away)
    strict.publish(target)
    assert strict.status(target) == "failed"


def test_what_opens_is_a_matter_of_counts():
    """The limits themselves open; one less does not."""
    assert opens(Troubles(of_account=2, accounts_of_platform=3), LIMITS) == ()
    assert opens(Troubles(of_account=3, accounts_of_platform=3), LIMITS) == ("account",)
    assert opens(Troubles(of_account=1, accounts_of_platform=4), LIMITS) == ("platform",)
    assert opens(Troubles(of_account=3, accounts_of_platform=4), LIMITS) == ("account", "platform")
