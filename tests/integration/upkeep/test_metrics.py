"""`/metrics` tells how the system stands, to the number, and nothing of what tenants wrote."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from socialq.local.dev_keys import development_settings
from socialq.settings import load_settings
from socialq.store.central import heartbeats
from socialq.store.metrics_facts import Fact
from socialq.upkeep.facts import Facts, Part
from socialq.web import create_app
from socialq.web.metrics import MEANINGS
from socialq.wiring import Wiring

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.integration.pipeline.world import World

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def wiring(world: World, tmp_path: Path) -> Iterator[Wiring]:
    """A wiring on the world's database; on its Redis's port nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        "SOCIALQ_DATABASE_URL": world.url,
        "SOCIALQ_REDIS_URL": f"redis://127.0.0.1:{port}/0",
        "SOCIALQ_HOME": str(tmp_path),
        **development_settings(tmp_path),
    }
    built = Wiring(load_settings(env))
    yield built
    built.stores.dispose()


def scrape(wiring: Wiring) -> Samples:
    answer = create_app(wiring).test_client().get("/metrics")
    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain")
    return {
        (sample.name.removeprefix("socialq_"), frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, /, **labels: str) -> float | None:
    return samples.get((name, frozenset(labels.items())))


def test_what_waits_what_is_out_and_what_is_over_is_counted(world: World, wiring: Wiring):
    """Targets, index rows, lanes, outbox, heartbeats, alarms and holds: each number is what the tables hold."""
    published = world.post()
    world.work_off()
    assert world.status(published) == "published"
    out = world.post(account=world.new_account())
    world.relay().scan()
    world.dispatcher().scan()
    due = world.post(account=world.new_account())
    world.relay().scan()
    world.post(account=world.new_account())
    world.machine.park(world.post(account=world.new_account()), failure="made for the test")
    world.arrange(
        "UPDATE central.publish_dispatch_index SET ready_at = now() - interval '40 s' WHERE target_id = %(id)s",
        id=due,
    )
    world.arrange(
        "UPDATE central.publish_dispatch_index SET enqueued_at = now() - interval '20 s' WHERE target_id = %(id)s",
        id=out,
    )
    world.arrange(
        "UPDATE cell.outbox_events SET created_at = now() - interval '30 s' WHERE relayed_at IS NULL"
    )
    world.index.alarm(key="sweep:1", message="made for the test", tenant_id=None)
    world.index.alarm(key="sweep:2", message="made for the test", tenant_id=None)
    world.stores.central.pipelined(heartbeats.beat("dispatch"))
    world.arrange("UPDATE central.heartbeats SET beat_at = now() - interval '50 s'")
    world.arrange(
        "INSERT INTO central.holds (scope, key, source, until, reason, set_by) VALUES"
        " ('platform', 'x', 'person', now() + interval '1 h', 'r', 't'),"
        " ('cell', 'old', 'person', now() - interval '1 h', 'r', 't')"
    )
    seen = scrape(wiring)
    assert value(seen, "targets", cell="default", status="published") == 1
    assert value(seen, "targets", cell="default", status="scheduled") == 4
    assert value(seen, "index_rows", lane="main", status="done") == 1
    assert value(seen, "index_rows", lane="main", status="pending") == 1
    assert value(seen, "due", lane="main") == 1
    assert value(seen, "oldest_due_seconds", lane="main") == pytest.approx(40, abs=10)
    assert value(seen, "enqueued", lane="main") == 1
    assert value(seen, "oldest_enqueued_seconds", lane="main") == pytest.approx(20, abs=10)
    assert value(seen, "enqueued", lane="prepare") == 0
    assert value(seen, "outbox_unrelayed", cell="default") == 1
    assert value(seen, "outbox_oldest_unrelayed_seconds", cell="default") == pytest.approx(30, abs=10)
    assert value(seen, "outbox_parked", cell="default") == 1
    assert value(seen, "outbox_oldest_parked_seconds", cell="default") == pytest.approx(0, abs=10)
    assert value(seen, "alarms_open", kind="sweep") == 2
    assert value(seen, "holds", scope="platform") == 1
    assert value(seen, "holds", scope="cell") is None
    assert value(seen, "heartbeat_age_seconds", name="dispatch") == pytest.approx(50, abs=10)
    assert value(seen, "readable", part="central") == 1
    assert value(seen, "cell", cell="default") == 1


def test_lateness_is_that_of_recent_attempts(world: World, wiring: Wiring):
    """From due to claim and from claim to acceptance, median and 99th percentile; older attempts don't count."""
    for seconds in range(10):
        world.post(account=world.new_account())
        world.work_off()
        world.arrange(
            "UPDATE cell.publishing_attempts SET due_at = claimed_at - %(s)s * interval '1 second',"
            " finished_at = claimed_at + %(s)s * interval '2 second' WHERE claimed_at > now() - interval '1 h'"
            " AND target_id = (SELECT max(target_id::text)::uuid FROM cell.publishing_attempts)",
            s=seconds,
        )
    old = world.post(account=world.new_account())
    world.work_off()
    world.arrange(
        "UPDATE cell.publishing_attempts SET claimed_at = now() - interval '16 min',"
        " due_at = now() - interval '1 day' WHERE target_id = %(id)s",
        id=old,
    )
    seen = scrape(wiring)
    assert value(seen, "recent_attempts", cell="default") == 10
    assert value(seen, "recent_accepted", cell="default") == 10
    place = {"cell": "default", "step": "due_to_claim"}
    assert value(seen, "lateness_seconds", quantile="0.5", **place) == pytest.approx(4.5)
    assert value(seen, "lateness_seconds", quantile="0.99", **place) == pytest.approx(8.91)
    place["step"] = "claim_to_accept"
    assert value(seen, "lateness_seconds", quantile="0.5", **place) == pytest.approx(9.0)


def test_a_redis_that_is_away_hides_nothing_else(wiring: Wiring):
    """The part is said to be unreadable, and the page is there all the same."""
    seen = scrape(wiring)
    assert value(seen, "readable", part="queues") == 0
    assert not [name for name, _ in seen if name == "queue_messages"]
    assert value(seen, "readable", part="index") == 1
    assert value(seen, "readable", part="lateness:default") == 1


def test_queues_are_shown_by_name(world: World):
    """What the queue counter says is what is shown."""
    facts = Facts(world.stores, queue_lengths=lambda: {"publishing": 3, "control": 0}).read()
    shown = {fact.labels["queue"]: fact.value for fact in facts if fact.name == "queue_messages"}
    assert shown == {"publishing": 3.0, "control": 0.0}


def test_a_database_that_is_away_is_an_answer_too(tmp_path: Path):
    """A scrape never fails: it says what can't be read."""
    env = {
        "SOCIALQ_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        "SOCIALQ_REDIS_URL": "redis://127.0.0.1:1/0",
        "SOCIALQ_HOME": str(tmp_path),
        **development_settings(tmp_path),
    }
    seen = scrape(Wiring(load_settings(env)))
    assert {labels for name, labels in seen if name == "readable" and seen[name, labels] == 0} == {
        frozenset({("part", part)}) for part in ("cells", "central", "index", "queues")
    }


def test_every_fact_has_a_meaning_and_no_label_of_a_tenant(world: World, wiring: Wiring):
    """Each name is explained, and ids and names of tenants, accounts and posts stand nowhere on the page."""
    world.post(texts=["a secret plan"])
    world.work_off()
    wiring.stores.central.pipelined(heartbeats.beat("dispatch"))
    page = create_app(wiring).test_client().get("/metrics").text
    [tenant] = world.arrange("SELECT name FROM central.tenants WHERE id = %(id)s", id=world.tenant)
    for secret in ("secret plan", str(world.tenant), str(world.account), tenant["name"]):
        assert secret not in page
    assert {fact.name for fact in wiring.facts.read()} <= set(MEANINGS)


def test_the_quick_facts_read_indexes_only(world: World):
    """With many rows to come they are found by index, so that a scrape every few seconds costs nothing."""
    from socialq.store import metrics_facts

    with world.owner() as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET enable_bitmapscan = off")
        plan = "\n".join(
            row["QUERY PLAN"]
            for sql in (metrics_facts._LANES, metrics_facts._OUTBOX)
            for row in connection.execute(f"EXPLAIN {sql}").fetchall()
        )
    assert "Seq Scan" not in plan, plan
    assert "outbox_events_parked" in plan
    assert "outbox_events_unrelayed" in plan


class Source:
    """A part's reading, with a clock that a test moves."""

    def __init__(self, cost_seconds: float = 0.0) -> None:
        self.now, self.read_count, self.cost_seconds = 100.0, 0, cost_seconds
        self.failing: Exception | None = None
        self.part = Part("p", self.read, monotonic=lambda: self.now)

    def read(self) -> list[Fact]:
        self.now += self.cost_seconds
        if self.failing is not None:
            raise self.failing
        self.read_count += 1
        return [Fact("due", float(self.read_count))]

    def due(self) -> list[float]:
        return [fact.value for fact in self.part.facts() if fact.name == "due"]


def test_facts_are_kept_for_five_seconds():
    """Two scrapers, or an impatient one, read the database no more often."""
    source = Source()
    assert source.due() == [1.0]
    source.now += 4.9
    assert source.due() == [1.0]
    source.now += 0.2
    assert source.due() == [2.0]


def test_what_is_costly_to_read_is_kept_for_longer():
    """A part that takes two seconds is read at most every forty."""
    source = Source(cost_seconds=2.0)
    assert source.due() == [1.0]
    source.now += 39.0
    assert source.due() == [1.0]
    source.now += 2.0
    assert source.due() == [2.0]


def test_a_part_that_fails_is_unreadable_until_it_is_read_again():
    """Old numbers are not shown as if they were new."""
    source = Source()
    source.due()
    source.failing = psycopg.OperationalError("gone")
    source.now += 6.0
    assert [(fact.name, fact.value) for fact in source.part.facts()] == [("readable", 0.0)]
    source.failing = None
    source.now += 6.0
    assert source.due() == [2.0]


def test_while_one_thread_reads_another_gets_what_was_there():
    """A slow database does not pile up scrapes."""
    reading, go_on = threading.Event(), threading.Event()
    numbers = iter([1.0, 2.0])

    def read() -> list[Fact]:
        number = next(numbers)
        if number > 1:
            reading.set()
            assert go_on.wait(10)
        return [Fact("due", number)]

    clock = {"now": 100.0}
    part = Part("p", read, monotonic=lambda: clock["now"])
    part.facts()
    clock["now"] += 10
    results: list[list[Fact]] = []
    thread = threading.Thread(target=lambda: results.append(part.facts()))
    thread.start()
    assert reading.wait(10)
    assert part.facts()[-1].value == 1.0
    go_on.set()
    thread.join(10)
    assert results[0][-1].value == 2.0
