"""The watch tells of each alarm once, and of its end; nothing that fails silences it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg
import pytest
from pydantic import SecretStr

from socialq.providers.http import Http
from socialq.upkeep.watching import rules
from socialq.upkeep.watching.process import WatchProcess
from socialq.upkeep.watching.rules import CentralRule
from socialq.upkeep.watching.sending import AppriseSender, DeadMan
from tests.hooks_server import HooksServer
from tests.integration.upkeep.watching_rig import Rig

if TYPE_CHECKING:
    from collections.abc import Iterator

    import structlog

    from socialq.upkeep.watching.findings import Finding
    from socialq.upkeep.watching.watch import Seen
    from tests.integration.pipeline.world import World


@pytest.fixture
def rig(world: World) -> Rig:
    return Rig(world)


@pytest.fixture
def hooks() -> Iterator[HooksServer]:
    with HooksServer() as running:
        yield running


def silence(rig: Rig) -> None:
    rig.beat(seconds_ago=40)


def test_an_alarm_is_told_once_and_so_is_its_end(rig: Rig):
    """Pass after pass finds the same thing: one message, then one that it is over."""
    silence(rig)
    for _ in range(3):
        rig.watch.run()
    [(title, body)] = rig.channel.sent
    assert title == "socialq: 3 alarms"
    assert "ALARM window: beat's ticks were last seen 40 s ago" in body
    rig.beat()
    for _ in range(3):
        rig.watch.run()
    assert [title for title, _ in rig.channel.sent] == ["socialq: 3 alarms", "socialq: 3 over"]
    assert "OVER window: beat's ticks" in rig.channel.sent[-1][1]
    assert rig.open() == {}


def test_what_came_and_went_untold_is_not_told(rig: Rig):
    """The channel was away meanwhile: an all-clear of what nobody knows of would only puzzle."""
    rig.channel.refuses = True
    silence(rig)
    rig.watch.run()
    rig.beat()
    rig.watch.run()
    rig.channel.refuses = False
    rig.watch.run()
    assert rig.channel.sent == []


def test_what_could_not_be_sent_is_sent_by_a_later_pass(rig: Rig):
    """A channel that is away delays, and loses nothing."""
    rig.channel.refuses = True
    silence(rig)
    rig.watch.run()
    rig.channel.refuses = False
    rig.watch.run()
    assert len(rig.channel.sent) == 1


def test_several_watches_at_once_tell_of_each_alarm_once(rig: Rig):
    """Beat's, the process's, one more: in the order of luck, and together once."""
    silence(rig)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: rig.watch.run(), range(12)))
    told = "\n".join(body for _, body in rig.channel.sent)
    assert told.count("ALARM") == 3


def test_whoever_dies_while_sending_leaves_it_to_another(rig: Rig):
    """What is taken is taken for a minute."""
    silence(rig)
    watch = rig.watch
    watch.record(watch.look())
    rig.world.arrange("UPDATE central.alarms SET telling_until = now() + interval '1 min'")
    watch.tell()
    assert rig.channel.sent == []
    rig.world.arrange("UPDATE central.alarms SET telling_until = now() - interval '1 s'")
    watch.tell()
    assert len(rig.channel.sent) == 1


def test_what_another_is_just_taking_is_left_to_it(rig: Rig):
    """Nobody waits for the other, and nothing is told twice."""
    silence(rig)
    watch = rig.watch
    watch.record(watch.look())
    with rig.world.owner() as connection:
        connection.execute("UPDATE central.alarms SET telling_until = now() + interval '1 min'")
        watch.tell()
        assert rig.channel.sent == []
    watch.tell()
    assert rig.channel.sent == []


def test_alarms_of_every_other_kind_are_sent_too(rig: Rig):
    """What relay, sweep and workers raise themselves: nobody needs to watch a table."""
    rig.world.index.alarm(key="sweep:1", message="a target can't be swept", tenant_id=None)
    rig.watch.run()
    assert "ALARM sweep: a target can't be swept" in rig.channel.sent[0][1]
    rig.watch.run()
    assert list(rig.open()) == ["sweep:1"]


def test_a_rule_that_fails_hides_no_other_and_clears_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch):
    """Its own open alarms stay; what others find is found; and it is red that nobody knows."""
    rig.lengths = {"publishing": 1000}
    rig.watch.run()
    silence(rig)

    def broken(_sight: object) -> list[Finding]:
        raise RuntimeError("a bug")

    table = tuple(CentralRule("queue", broken) if rule.kind == "queue" else rule for rule in rules.RULES)
    monkeypatch.setattr("socialq.upkeep.watching.watch.RULES", table)
    seen = rig.watch.run()
    assert seen.unread == {"queue"}
    assert seen.red == ["queue", "window"]
    assert set(rig.open()) == {"queue:publishing", "window:beat", "window:dispatch", "window:relay:default"}


def test_a_cell_that_cannot_be_read_clears_nothing_of_it(rig: Rig):
    """Its late posts stay told, and everything central is looked at."""
    target = rig.world.post()
    rig.world.time_passes(target, 300)
    rig.watch.run()
    rig.world.arrange(
        "INSERT INTO central.cells (name, database_url) VALUES ('away', 'postgresql://nobody@127.0.0.1:1/x')"
    )
    try:
        seen = rig.watch.run()
    finally:
        rig.world.arrange("DELETE FROM central.cells WHERE name = 'away'")
    assert seen.unread == {"late", "duplicate", "reconnect", "parked"}
    assert f"late:{target}" in rig.open()
    assert "window:relay:away" in rig.open()


def test_without_channels_alarms_are_kept_for_when_there_are_some(rig: Rig):
    """They are open, in the log, and sent once somebody is to be told."""
    rig.channel.configured = False
    silence(rig)
    rig.watch.run()
    assert len(rig.open()) == 3
    rig.channel.configured = True
    rig.watch.run()
    assert len(rig.channel.sent) == 1


def test_apprise_sends_to_every_channel_and_one_that_fails_keeps_no_other(
    hooks: HooksServer, logs: structlog.testing.LogCapture
):
    """A dead address and a live one: the live one is told; no address is logged."""
    sender = AppriseSender(SecretStr(f"json://127.0.0.1:1/secret-token json://127.0.0.1:{hooks.port}/pager"))
    assert sender.send(title="socialq: 1 alarm", body="ALARM window: x")
    [body] = hooks.bodies("/pager")
    assert (body["title"], body["message"]) == ("socialq: 1 alarm", "ALARM window: x")
    assert "secret-token" not in str(logs.entries)
    assert {entry["event"] for entry in logs.entries} == {"alarm_channel_failed"}
    hooks.status = 500
    assert not sender.send(title="t", body="b")


def test_an_address_that_apprise_does_not_know_is_named_by_its_number():
    """Its text may be a secret."""
    sender = AppriseSender(SecretStr("json://127.0.0.1:1/a nonsense://secret"))
    assert sender.problems == ["SOCIALQ_ALARM_URLS: address 2 is none that Apprise knows"]
    assert not AppriseSender(SecretStr("")).configured


class Passes:
    """Stands for a watch whose passes come to what a test says."""

    def __init__(self, channel: object, real: object) -> None:
        self.sender, self.real = channel, real
        self.outcomes: list[Exception | None] = []

    def run(self) -> Seen:
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if outcome is not None:
            raise outcome
        return self.real.look()  # type: ignore[attr-defined, no-any-return]


def process(rig: Rig, hooks: HooksServer) -> tuple[WatchProcess, Passes]:
    passes = Passes(rig.channel, rig.watch)
    url = SecretStr(f"http://127.0.0.1:{hooks.port}/alive")
    http = Http(allow_private_addresses=True)
    built = WatchProcess(
        watch=passes,  # type: ignore[arg-type]
        dead_man=DeadMan(http=http, url=url),
        interval_seconds=0.01,
    )
    return built, passes


def test_a_database_that_is_away_is_told_by_the_process_itself(rig: Rig, hooks: HooksServer):
    """Once, from the second failed pass on, and that it is back; the dead man's switch is pinged all the while."""
    watching, passes = process(rig, hooks)
    passes.outcomes = [psycopg.OperationalError("gone")] * 4
    watching.look()
    assert rig.channel.sent == []
    for _ in range(3):
        watching.look()
    [(title, body)] = rig.channel.sent
    assert title == "socialq: the database is away"
    assert "OperationalError" in body
    watching.look()
    assert rig.channel.sent[-1][0] == "socialq: the database is back"
    assert len(hooks.received) == 5


def test_the_dead_mans_switch_is_not_pinged_while_nobody_could_be_told(rig: Rig, hooks: HooksServer):
    """The database is away and so is the channel: only the switch is left to tell."""
    watching, passes = process(rig, hooks)
    rig.channel.refuses = True
    passes.outcomes = [psycopg.OperationalError("gone")] * 3 + [ValueError("a bug")]
    for _ in range(4):
        watching.look()
    assert len(hooks.received) == 1


def test_the_process_stops_when_it_is_told_and_goes_on_until_then(rig: Rig, hooks: HooksServer):
    """Whatever a pass comes to, the next one comes."""
    watching, passes = process(rig, hooks)
    passes.outcomes = [ValueError("a bug")]
    stopping = threading.Event()
    thread = threading.Thread(target=watching.run, args=(stopping,))
    thread.start()
    for _ in range(500):
        if len(hooks.received) >= 2:
            break
        stopping.wait(0.02)
    stopping.set()
    thread.join(10)
    assert not thread.is_alive()
    assert len(hooks.received) >= 2
