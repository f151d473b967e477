"""After a restore nothing goes out twice: what may have been sent since is looked for, and people release the rest."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from socialq.desk import cells, schedule
from socialq.desk import holds as desk_holds
from socialq.desk.resolve import retry
from socialq.domain.local_time import resolve
from socialq.store.cell import quarantines
from socialq.store.central import cells as central_cells
from tests.integration.lanes.world import Lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from socialq.wiring import Wiring
    from tests.fixtures_sandbox import RunningSandbox
    from tests.integration.lanes.world import Agency


@dataclass
class Backups:
    """Backups of one database, by copying it; restored, it has the same name and address as before."""

    lanes: Lanes
    server: str
    name: str

    def take(self) -> str:
        copy = f"socialq_test_{secrets.token_hex(6)}"
        self._copy(self.name, copy)
        return copy

    def restore(self, copy: str) -> None:
        with self._alone() as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(self.name)))
            connection.execute(
                sql.SQL("ALTER DATABASE {} RENAME TO {}").format(
                    sql.Identifier(copy), sql.Identifier(self.name)
                )
            )

    def _copy(self, source: str, to: str) -> None:
        with self._alone() as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                    sql.Identifier(to), sql.Identifier(source)
                )
            )

    @contextmanager
    def _alone(self) -> Iterator[psycopg.Connection[Any]]:
        self.lanes.wiring.stores.dispose()
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
                [self.name],
            )
            yield connection


@pytest.fixture
def lanes(make_wiring: Callable[..., Wiring], database_url: str, sandbox: RunningSandbox) -> Lanes:
    """A central database of the test's own, since cells stay in it."""
    return Lanes(make_wiring(database_url), sandbox)


@pytest.fixture
def north(lanes: Lanes, make_database: Callable[[], str]) -> str:
    """The address of the database of a second cell, `north`."""
    url = make_database()
    cells.add(lanes.wiring.stores, lanes.wiring.vault, name="north", database_url=url, actor="test")
    return url


@pytest.fixture
def agency(lanes: Lanes, north: str) -> Agency:
    assert north
    return lanes.new_agency(cell="north")


@pytest.fixture
def backups(lanes: Lanes, north: str, postgres_server: str) -> Backups:
    name = make_url(north).database
    assert name is not None
    return Backups(lanes, postgres_server, name)


def status(lanes: Lanes, target: UUID, agency: Agency) -> str:
    return lanes.row(target, agency)["status"]


def look_until_settled(lanes: Lanes, target: UUID, agency: Agency) -> None:
    """Let every look of a target be due, as if the time between them had passed."""
    for _ in range(8):
        if status(lanes, target, agency) != "unknown_outcome":
            return
        lanes.lost_earlier(target, agency)
        lanes.due_now(target, agency)
        lanes.handle(lanes.message(target, agency=agency, kind="look"))
    raise AssertionError("the looks never end")


def test_what_was_sent_after_the_backup_is_found_and_what_was_not_goes_out_once_released(
    lanes: Lanes, agency: Agency, backups: Backups
):
    """The whole story: backup, posts go out, disaster, restore; every post is on the platform once."""
    accounts = [lanes.account(agency=agency) for _ in range(5)]
    sent, never, early, moved, later = (
        lanes.post(account, name, seconds=seconds)
        for account, name, seconds in zip(
            accounts,
            ["Sent", "Never", "Early", "Moved", "Later"],
            [0, 0, 0, 7200, 7200],
            strict=True,
        )
    )
    lanes.relay("north")
    messages = {message.target_id: message for message in lanes.dispatch()}
    assert lanes.handle(messages[early]) == "published"
    copy, taken_at = backups.take(), datetime.now(UTC)
    assert lanes.handle(messages[sent]) == "published"
    now = datetime.now(UTC)
    schedule.reschedule(
        lanes.wiring.stores,
        tenant=agency.tenant.id,
        target_ids=[moved],
        resolved=resolve("now", zone=None, default_zone="UTC", now=now),
        now=now,
        actor="test",
    )
    assert lanes.work_off("north") == ["published"]
    backups.restore(copy)
    # Whatever a worker has in its hands is refused by the claim itself, before anybody has noticed.
    assert lanes.handle(messages[never]) == "lost_race"
    done = lanes.wiring.quarantine.check("north")
    assert done is not None
    assert (done.tenants, done.doubted, done.lost) == (1, 3, 0)
    # Whatever was posted since the recovery point is within the look's reach.
    marks = lanes.rows("SELECT first_marked_at AS at FROM cell.target_parts WHERE unknown_count > 0", agency)
    assert [mark["at"] for mark in marks] == [done.since] * 3
    assert done.since < taken_at
    assert [status(lanes, target, agency) for target in (sent, never, early, moved, later)] == [
        "unknown_outcome",
        "unknown_outcome",
        "published",
        "unknown_outcome",
        "scheduled",
    ]
    assert lanes.wiring.quarantine.check("north") is None
    for target in (sent, never, moved):
        look_until_settled(lanes, target, agency)
    assert [status(lanes, target, agency) for target in (sent, moved, never)] == [
        "published",
        "published",
        "retry_scheduled",
    ]
    lanes.relay("north")
    assert lanes.dispatch() == []
    assert lanes.wiring.quarantine.release("north") == [agency.tenant.id]
    assert lanes.work_off("north") == ["published"]
    live = [lanes.live(account) for account in accounts]
    assert live == [["Sent"], ["Never"], ["Early"], ["Moved"], []]
    assert lanes.alarms() == []
    assert desk_holds.list_all(lanes.wiring.stores) == []


def test_a_thread_whose_later_parts_went_out_after_the_backup_is_not_continued_twice(
    lanes: Lanes, agency: Agency, backups: Backups
):
    """Each part that may be live is looked for in its turn; only what is proven absent is sent."""
    account = lanes.account(agency=agency)
    target = lanes.post(account, "One", "Two", "Three")
    lanes.relay("north")
    (message,) = lanes.dispatch()
    copy = backups.take()
    assert lanes.handle(message) == "published"
    backups.restore(copy)
    lanes.wiring.quarantine.check("north")
    lanes.wiring.quarantine.release("north")
    look_until_settled(lanes, target, agency)
    assert status(lanes, target, agency) == "published"
    assert lanes.work_off("north") == []
    assert sorted(lanes.live(account)) == ["One", "Three", "Two"]


def test_a_thread_that_was_not_sent_at_all_goes_out_whole(lanes: Lanes, agency: Agency, backups: Backups):
    """That its first part is absent proves it of those after it: their marks do not stand in the way."""
    account = lanes.account(agency=agency)
    target = lanes.post(account, "One", "Two")
    lanes.relay("north")
    copy = backups.take()
    backups.restore(copy)
    lanes.wiring.quarantine.check("north")
    look_until_settled(lanes, target, agency)
    lanes.wiring.quarantine.release("north")
    assert lanes.work_off("north") == ["published"]
    assert sorted(lanes.live(account)) == ["One", "Two"]


def test_what_a_worker_had_marked_when_the_backup_was_made_is_looked_for(
    lanes: Lanes, agency: Agency, backups: Backups
):
    """In flight at the recovery point: its answer came later, and is lost with everything else."""
    account = lanes.account(agency=agency)
    target = lanes.post(account, "In flight")
    lanes.relay("north")
    (message,) = lanes.dispatch()
    copies: list[str] = []
    real = lanes.wiring.http.open

    class Opened:
        def __init__(self, opened: Any) -> None:
            self.opened = opened

        def send(self) -> Any:
            copies.append(backups.take())
            return self.opened.send()

        def close(self) -> None:
            self.opened.close()

    lanes.wiring.http.open = lambda *given, **named: Opened(real(*given, **named))  # type: ignore[method-assign]
    assert lanes.handle(message) == "published"
    lanes.wiring.http.open = real  # type: ignore[method-assign]
    backups.restore(copies[0])
    assert status(lanes, target, agency) == "publishing"
    lanes.wiring.quarantine.check("north")
    look_until_settled(lanes, target, agency)
    assert status(lanes, target, agency) == "published"
    assert lanes.live(account) == ["In flight"]
    states = lanes.rows("SELECT state FROM cell.publishing_attempts ORDER BY attempt_no", agency)
    assert states[0]["state"] != "in_flight"


def test_a_copied_disk_is_noticed_by_its_count_of_transactions(lanes: Lanes, agency: Agency):
    """The same server, the same database, and yet an older state: the central database remembers better."""
    target = lanes.post(lanes.account(agency=agency))
    lanes.relay("north")
    assert lanes.wiring.quarantine.check("north") is None
    lanes.central("UPDATE central.cells SET position = position + 1000000 WHERE name = 'north'")
    done = lanes.wiring.quarantine.check("north")
    assert done is not None
    assert (done.tenants, done.doubted) == (1, 1)
    assert status(lanes, target, agency) == "unknown_outcome"
    assert lanes.wiring.quarantine.check("north") is None


def test_a_quarantine_that_was_cut_short_is_done_again(
    lanes: Lanes, agency: Agency, backups: Backups, monkeypatch: pytest.MonkeyPatch
):
    """Until all of it is done the claim refuses, and a release releases nobody; the next check does the rest."""
    target = lanes.post(lanes.account(agency=agency))
    lanes.relay("north")
    (message,) = lanes.dispatch()
    backups.restore(backups.take())
    quarantine = lanes.wiring.quarantine

    def crash(_cell: str) -> int:
        raise ConnectionError("cut short")

    monkeypatch.setattr(
        lanes.wiring, "relay", lambda _cell: type("R", (), {"rebuild": staticmethod(lambda: crash(""))})
    )
    with pytest.raises(ConnectionError):
        quarantine.check("north")
    monkeypatch.undo()
    assert quarantine.release("north") == []
    assert lanes.handle(message) == "claimable"
    done = quarantine.check("north")
    assert done is not None
    assert quarantine.release("north") == [agency.tenant.id]
    unknowns = lanes.rows("SELECT unknown_count FROM cell.target_parts", agency)
    assert [row["unknown_count"] for row in unknowns] == [1]
    assert status(lanes, target, agency) == "unknown_outcome"


def test_an_acceptance_that_was_recorded_after_the_backup_is_recorded_again(
    lanes: Lanes, agency: Agency, backups: Backups
):
    """What was kept centrally and has been applied is lost with the cell's rows, but not centrally."""
    account = lanes.account(agency=agency)
    target = lanes.post(account)
    lanes.relay("north")
    copy = backups.take()
    lanes.central(
        "INSERT INTO central.late_evidence (tenant_id, cell, target_id, part_no, attempt_no, publication_key,"
        " remote_id, applied_at) VALUES (%(tenant)s, 'north', %(target)s, 1, 1, 'key', 'remote-1',"
        " now() + interval '1 second')",
        tenant=agency.tenant.id,
        target=target,
    )
    backups.restore(copy)
    lanes.wiring.quarantine.check("north")
    assert lanes.wiring.evidence_sweep().sweep("north") == 1
    assert status(lanes, target, agency) == "published"


def test_what_the_cell_has_lost_is_counted(lanes: Lanes, agency: Agency, backups: Backups):
    """Posts planned after the backup are gone: nobody may believe that they wait."""
    account = lanes.account(agency=agency)
    copy = backups.take()
    lanes.post(account, seconds=3600)
    lanes.relay("north")
    backups.restore(copy)
    done = lanes.wiring.quarantine.check("north")
    assert done is not None
    assert done.lost == 1
    assert lanes.central("SELECT 1 FROM central.publish_dispatch_index") == []


def test_other_cells_go_on_and_one_tenant_can_be_released_alone(
    lanes: Lanes, agency: Agency, backups: Backups
):
    """A quarantine is of one cell; within it each tenant is released for itself."""
    second = lanes.new_agency(cell="north")
    here, first_post, second_post = (
        lanes.post(account, seconds=0 if account.agency is lanes.agency else 3600)
        for account in (lanes.account(), lanes.account(agency=agency), lanes.account(agency=second))
    )
    lanes.relay("north")
    backups.restore(backups.take())
    lanes.wiring.quarantine.check("north")
    assert lanes.work_off("default") == ["published"]
    assert lanes.wiring.quarantine.release("north", tenant=second.tenant.id) == [second.tenant.id]
    held = {row["key"] for row in desk_holds.list_all(lanes.wiring.stores)}
    assert held == {str(agency.tenant.id)}
    assert len(lanes.alarms()) == 1
    soon = datetime.now(UTC) + timedelta(hours=2)
    assert lanes.index_row(second_post)["ready_at"] < soon < lanes.index_row(first_post)["ready_at"]
    assert lanes.row(here)["status"] == "published"


def test_a_relay_window_begins_with_the_check(lanes: Lanes, agency: Agency, backups: Backups):
    """Nobody needs to do anything for a restored cell to be stopped."""
    target = lanes.post(lanes.account(agency=agency))
    lanes.relay("north")
    backups.restore(backups.take())
    scans: list[bool] = []

    def stopping() -> bool:
        scans.append(True)
        return len(scans) > 1

    lanes.wiring.relay_window("north").run(stopping=stopping)
    assert status(lanes, target, agency) == "unknown_outcome"


def test_a_message_that_was_out_at_the_disaster_leaves_no_row_behind(
    lanes: Lanes, agency: Agency, backups: Backups
):
    """Its row is of a later seq than the cell knows: no answer could ever finish it."""
    target = lanes.post(lanes.account(agency=agency), seconds=3600)
    lanes.relay("north")
    copy = backups.take()
    now = datetime.now(UTC)
    for _ in range(3):
        schedule.reschedule(
            lanes.wiring.stores,
            tenant=agency.tenant.id,
            target_ids=[target],
            resolved=resolve("now", zone=None, default_zone="UTC", now=now),
            now=now,
            actor="test",
        )
    lanes.relay("north")
    assert len(lanes.dispatch()) == 1
    backups.restore(copy)
    lanes.wiring.quarantine.check("north")
    row = lanes.index_row(target)
    assert row is not None
    assert (row["status"], row["kind"], row["seq"]) == ("pending", "look", lanes.row(target, agency)["seq"])


def test_what_rested_at_the_backup_and_was_sent_since_warns_before_it_is_sent_again(
    lanes: Lanes, agency: Agency, backups: Backups
):
    """A person retried it after the backup and it went out: the restored row says that it may be live."""
    account = lanes.account(agency=agency)
    target = lanes.post(account, "Reconnect me")
    state = "UPDATE cell.accounts SET status = %(status)s, status_reason = %(reason)s WHERE id = %(id)s"
    lanes.change(state, agency, id=account.id, status="needs_reconnect", reason="x")
    lanes.work_off("north")
    assert status(lanes, target, agency) == "needs_reconnect"
    copy = backups.take()
    lanes.change(state, agency, id=account.id, status="active", reason=None)
    again = {"tenant": agency.tenant.id, "target_id": target, "actor": "anna"}
    retry(lanes.wiring.stores, now=datetime.now(UTC), **again)
    lanes.work_off("north")
    lanes.post(account, "another")
    lanes.work_off("north")
    backups.restore(copy)

    done = lanes.wiring.quarantine.check("north")

    assert done is not None
    assert target in done.changed
    row = lanes.row(target, agency)
    assert (row["status"], row["reason"]) == ("needs_reconnect", "restored")
    assert "it may be live" in row["detail"]
    lanes.wiring.quarantine.release("north")
    lanes.change(state, agency, id=account.id, status="active", reason=None)
    moved = retry(lanes.wiring.stores, now=datetime.now(UTC), **again)
    assert moved.detail is not None
    assert "live" in moved.detail


def test_a_check_that_another_overtakes_stops_nobody(
    lanes: Lanes, agency: Agency, monkeypatch: pytest.MonkeyPatch
):
    """Two at once: the one that is behind has seen an older count than is noted by then, and the cell goes on."""
    lanes.post(lanes.account(agency=agency))
    lanes.relay("north")
    quarantine = lanes.wiring.quarantine
    assert quarantine.check("north") is None
    overtaking = 0

    def overtaken(read: Callable[..., Any]) -> Callable[..., Any]:
        """Let another check pass between any two steps of this one, while the cell goes on working."""

        def step(*given: Any, **named: Any) -> Any:
            nonlocal overtaking
            result = read(*given, **named)
            if overtaking < 1:
                overtaking += 1
                lanes.post(lanes.account(agency=agency))
                assert quarantine.check("north") is None
                overtaking -= 1
            return result

        return step

    for module, name in ((central_cells, "position"), (quarantines, "place")):
        monkeypatch.setattr(module, name, overtaken(getattr(module, name)))
    assert quarantine.check("north") is None
    monkeypatch.undo()
    assert lanes.alarms() == []
    assert quarantine.check("north") is None, "and what was noted last is the most that was seen"


def test_a_stop_by_a_person_outlasts_a_quarantine(lanes: Lanes, agency: Agency, backups: Backups):
    """Neither what they said nor the stop itself goes with the release; everybody else's does."""
    second = lanes.new_agency(cell="north")
    lanes.change(
        "UPDATE cell.tenant_state SET stopped_at = now(), stopped_by = '{person}', stop_reason = 'a crisis'",
        agency,
    )
    backups.restore(backups.take())
    done = lanes.wiring.quarantine.check("north")
    assert done is not None
    assert done.tenants == 2
    read = "SELECT stopped_at IS NOT NULL AS stopped, stop_reason, stopped_by FROM cell.tenant_state"
    assert lanes.rows(read, agency)[0]["stop_reason"] == "a crisis"
    assert "restored" in lanes.rows(read, second)[0]["stop_reason"]

    assert lanes.wiring.quarantine.release("north") == [second.tenant.id]

    [mine], [other] = lanes.rows(read, agency), lanes.rows(read, second)
    assert mine == {"stopped": True, "stop_reason": "a crisis", "stopped_by": ["person"]}
    assert other == {"stopped": False, "stop_reason": None, "stopped_by": []}
    assert {row["key"] for row in desk_holds.list_all(lanes.wiring.stores)} == {str(agency.tenant.id)}
    assert lanes.alarms() == []
    assert lanes.wiring.quarantine.release("north") == []
