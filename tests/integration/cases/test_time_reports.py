"""What was published an hour off elsewhere: wall time is that of its zone on that date, and no clock of ours jumps."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from celery import Celery
from celery.schedules import crontab, maybe_schedule

import beat_schedule
import tests.simulation.world as simulation
from socialq.desk import clients, plan
from socialq.domain.local_time import resolve
from tests.integration.lanes.world import ACTOR, Agency
from tests.simulation.running import quiet_logs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.lanes.world import Lanes

JANUARY = datetime(2027, 1, 12, 10, 0, tzinfo=UTC)
ORDINARY = datetime(2027, 2, 10, 0, 59, tzinfo=UTC)
CHANGES = {
    "spring": datetime(2027, 3, 28, 0, 59, tzinfo=UTC),
    "autumn": datetime(2027, 10, 31, 0, 59, tzinfo=UTC),
}
"""A minute before Berlin's clocks are changed."""
SEEDS = range(6)


@pytest.fixture
def berlin() -> Iterator[None]:
    """The process is in Berlin."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("2027-07-01T09:00", "2027-07-01T07:00:00+00:00"),
        ("2027-01-20T09:00", "2027-01-20T08:00:00+00:00"),
        ("2027-10-31T02:30", "2027-10-31T00:30:00+00:00"),
        ("2027-10-31T02:30+01:00", "2027-10-31T01:30:00+00:00"),
    ],
    ids=["July from January", "January", "twice, the first", "twice, the second"],
)
def test_nine_in_july_is_nine_in_july_whenever_it_is_planned(lanes: Lanes, written: str, instant: str):
    """The client's wall time on that date is what the target, its words and the dispatch index have.

    (sk22/megalodon#940; WordPress/gutenberg#3271)
    """
    stores, tenant = lanes.wiring.stores, lanes.agency.tenant
    brand = clients.add(stores, tenant=tenant.id, name="Berlin", time_zone="Europe/Berlin", actor=ACTOR)
    account = lanes.account(agency=Agency(tenant=tenant, client=brand.id))
    made = plan.plan_post(
        stores,
        tenant=tenant.id,
        client=brand.id,
        account_ids=[account.id],
        parts=[{"text": "Nine"}],
        resolved=resolve(written, zone=None, default_zone=brand.time_zone, now=JANUARY),
        now=JANUARY,
        actor=ACTOR,
    )
    [target] = made.targets
    lanes.relay()
    row, mirrored = lanes.row(target.id), lanes.index_row(target.id)
    assert mirrored is not None
    assert {row["publish_at"], row["next_at"], mirrored["due_at"]} == {datetime.fromisoformat(instant)}
    [kept] = lanes.rows("SELECT local_time FROM cell.post_schedules WHERE target_id = %(id)s", id=target.id)
    assert kept["local_time"] == datetime.fromisoformat(written).replace(tzinfo=None)


def story(seed: int, beginning: datetime, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A simulated run that begins then: what happens, by seconds from its beginning."""
    lines: list[str] = []
    monkeypatch.setattr(simulation, "BEGINNING", beginning)
    simulation.World(seed, cell_down_until=beginning, central_down_until=beginning, trace=lines.append).run()
    return lines


@pytest.mark.parametrize("change", CHANGES)
def test_the_night_that_clocks_change_is_a_night_like_any_other(
    change: str, berlin: None, monkeypatch: pytest.MonkeyPatch
):
    """On a machine in Berlin, posts over the minute of the change are relayed, dispatched, sent, looked for and tried
    again to the second as on any other night, and each goes out once.

    (celery/celery#9653; celery/django-celery-beat#134)
    """
    quiet_logs()
    try:
        told = [story(seed, CHANGES[change], monkeypatch) for seed in SEEDS]
        assert told == [story(seed, ORDINARY, monkeypatch) for seed in SEEDS]
        assert sum("LIVE" in line for lines in told for line in lines) > 10
    finally:
        structlog.reset_defaults()


@pytest.mark.parametrize("change", CHANGES)
def test_beat_ticks_through_the_change_at_its_usual_pace(change: str, berlin: None):
    """No tick is a crontab or reads a local clock: over the change as many are due as in any two minutes.

    (celery/celery#9653; celery/django-celery-beat#134)
    """
    app = Celery("tests", set_as_current=False)
    app.config_from_object("celeryconfig")
    begins = CHANGES[change]
    clock = [begins]
    for name, tick in beat_schedule.beat_schedule.items():
        every: Any = maybe_schedule(tick["schedule"], app=app)
        assert not isinstance(every, crontab), name
        every.nowfun = lambda: clock[0]
        last, ticks = begins, 0
        for second in range(1, 121):
            clock[0] = begins + timedelta(seconds=second)
            if every.is_due(last).is_due:
                last, ticks = clock[0], ticks + 1
        assert ticks == int(120 / float(tick["schedule"])), name
    app.close()
