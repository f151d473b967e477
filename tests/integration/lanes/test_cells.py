"""Cells: tenants in two databases, each with its relay; one that is away stalls only itself and comes back."""

from __future__ import annotations

import secrets
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from socialq.desk import cells, clients, tenants
from socialq.desk import holds as desk_holds
from socialq.domain.errors import InputRefused
from socialq.domain.hops import CellUnreachableError
from socialq.domain.ids import new_token
from socialq.local import LocalServers
from socialq.providers.base import Refreshed
from socialq.providers.x import X
from socialq.store.target_store import PostgresTargets
from socialq.upkeep.stored_tokens import StoredTokens
from tests.integration.lanes.world import Agency, Lanes
from tests.integration.pipeline.racing import Background, race

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from socialq.wiring import Wiring
    from tests.fixtures_sandbox import RunningSandbox

UNSAFE_BUT_FAST = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
REDIS = "redis://127.0.0.1:1/0"


class Registered:
    """Stands for the Celery app: keeps the tasks by name."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def task(self, *, name: str) -> Any:
        def register(function: Any) -> Any:
            self.known[name] = function
            return function

        return register


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServers]:
    """A second PostgreSQL server, which tests stop and start."""
    home = tmp_path_factory.mktemp("second")
    with LocalServers(home, postgres_options=UNSAFE_BUT_FAST, want_valkey=False) as started:
        yield started
        started.discard()


@pytest.fixture
def lanes(make_wiring: Callable[..., Wiring], database_url: str, sandbox: RunningSandbox) -> Lanes:
    """A central database of the test's own, since cells stay in it."""
    return Lanes(make_wiring(database_url), sandbox)


@pytest.fixture
def north(lanes: Lanes, make_database: Callable[[], str]) -> str:
    """A second cell, on the same server."""
    return add_cell(lanes, make_database())


@pytest.fixture
def away(lanes: Lanes, server: LocalServers) -> str:
    """A second cell, on the server that tests stop."""
    name = f"cell_{secrets.token_hex(6)}"
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    url = make_url(server.database_url).set(database=name)
    return add_cell(lanes, url.render_as_string(hide_password=False))


def add_cell(lanes: Lanes, url: str) -> str:
    made, _ = cells.add(lanes.wiring.stores, lanes.wiring.vault, name="north", database_url=url, actor="test")
    return made.name


@pytest.fixture
def tasks(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The worker's tasks by name, run by calling them; a window is told to stop after its first scan."""
    monkeypatch.setenv("SOCIALQ_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("SOCIALQ_REDIS_URL", REDIS)
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY", "A" * 43 + "=")
    monkeypatch.setenv("SOCIALQ_SECRET_KEY", "s" * 40)
    from socialq.worker import tasks as module

    app: Any = Registered()
    module.register(app, lanes.wiring)
    relay_window = lanes.wiring.relay_window

    def once(cell: str) -> Any:
        window = relay_window(cell)
        done: list[bool] = []

        def scan() -> float | None:
            done.append(True)
            return window.scan()

        monkeypatch.setattr(module, "stopping", SimpleNamespace(is_set=lambda: bool(done)))
        return replace(window, scan=scan)

    monkeypatch.setattr(lanes.wiring, "relay_window", once)
    monkeypatch.setattr(module, "queues", lambda _app: lanes.queues)

    def run(name: str, *arguments: Any) -> None:
        monkeypatch.setattr(module, "stopping", threading.Event())
        app.known[f"socialq.{name}"](*arguments)

    return run


def held(lanes: Lanes) -> list[tuple[str, str, str]]:
    rows = desk_holds.list_all(lanes.wiring.stores)
    return [(row["scope"], row["key"], row["reason"]) for row in rows]


def arguments(lanes: Lanes, target: UUID, agency: Agency) -> tuple[str, str, int, str]:
    message = lanes.message(target, agency=agency)
    return (str(message.tenant_id), str(message.target_id), message.seq, message.kind.value)


def test_tenants_of_two_cells_publish_side_by_side(lanes: Lanes, north: str):
    """Each tenant's rows are in its own cell's database alone; index and dispatch are one."""
    northern = lanes.new_agency(cell=north)
    here, there = lanes.account(), lanes.account(agency=northern)
    targets = [lanes.post(here, "From here"), lanes.post(there, "From there")]
    assert sorted(lanes.work_off("default", north)) == ["published", "published"]
    assert (lanes.live(here), lanes.live(there)) == (["From here"], ["From there"])
    assert [lanes.index_row(target)["cell"] for target in targets] == ["default", north]
    stores = lanes.wiring.stores
    for cell, tenant in (("default", northern.tenant.id), (north, lanes.agency.tenant.id)):
        with stores.cell(cell).app.transaction(tenant=tenant) as session:
            assert session.all("SELECT id FROM cell.accounts") == []
            assert session.all("SELECT tenant_id FROM cell.tenant_state") == []


def test_each_cell_has_its_own_relay(lanes: Lanes, north: str):
    """A relay mirrors its cell's events and no others."""
    northern = lanes.new_agency(cell=north)
    here, there = lanes.post(lanes.account()), lanes.post(lanes.account(agency=northern))
    lanes.relay(north)
    assert lanes.index_row(there) is not None
    assert lanes.index_row(here) is None
    lanes.relay("default")
    assert lanes.index_row(here) is not None


def test_an_index_that_was_lost_is_rebuilt_from_every_cell(lanes: Lanes, north: str):
    """The index is never the truth: emptied, each cell's relay fills it again."""
    northern = lanes.new_agency(cell=north)
    targets = [lanes.post(lanes.account()), lanes.post(lanes.account(agency=northern))]
    for cell in ("default", north):
        lanes.relay(cell)
    lanes.central("DELETE FROM central.publish_dispatch_index")
    assert [lanes.wiring.relay(cell).rebuild() for cell in ("default", north)] == [1, 1]
    assert {message.target_id for message in lanes.dispatch()} == set(targets)


def test_a_cell_that_is_down_is_held_others_go_on_and_it_comes_back_by_itself(
    lanes: Lanes, away: str, server: LocalServers, tasks: Any
):
    """Its relay notices, an alarm says so, nothing of it is dispatched; back again, its post goes out, once."""
    northern = lanes.new_agency(cell=away)
    here, there = lanes.account(), lanes.account(agency=northern)
    target = lanes.post(there, "Held meanwhile")
    lanes.relay(away)
    server.postgres.stop()
    try:
        tasks("relay_window", away)
        assert held(lanes) == [("cell", away, "cell_down")]
        (alarm,) = lanes.alarms()
        assert f"cell {away} can't be reached" in alarm
        lanes.post(here, "Goes on")
        assert lanes.work_off("default") == ["published"]
        assert lanes.index_row(target)["status"] == "pending"
        tasks("sweep")
        tasks("audit")
    finally:
        server.restart_postgres()
    lanes.wiring.cell_watch._asked_at.clear()
    tasks("relay_window", away)
    assert held(lanes) == []
    assert lanes.alarms() == []
    assert lanes.work_off("default", away) == ["published"]
    assert (lanes.live(here), lanes.live(there)) == (["Goes on"], ["Held meanwhile"])


def test_a_message_whose_cell_is_down_gives_its_row_back(
    lanes: Lanes, away: str, server: LocalServers, tasks: Any
):
    """The worker's slot is free at once, and the row waits with the cell's others."""
    northern = lanes.new_agency(cell=away)
    account = lanes.account(agency=northern)
    target = lanes.post(account, "Given back")
    lanes.relay(away)
    (message,) = lanes.dispatch()
    given = arguments(lanes, target, northern)
    server.postgres.stop()
    try:
        tasks("publish_target", *given)
        row = lanes.index_row(target)
        assert (row["status"], row["sends"]) == ("pending", 0)
        tasks("relay_window", away)
        assert lanes.dispatch() == []
    finally:
        server.restart_postgres()
    lanes.wiring.cell_watch._asked_at.clear()
    tasks("relay_window", away)
    assert lanes.work_off(away) == ["published"]
    assert lanes.live(account) == ["Given back"]
    assert message.target_id == target


@pytest.mark.parametrize("step", ["claim", "mark"])
def test_a_cell_that_goes_down_before_the_request_leaves_nothing_sent(
    lanes: Lanes, away: str, server: LocalServers, step: str, monkeypatch: pytest.MonkeyPatch
):
    """Whatever of the claim is on disk, the request has not left; the target goes out when the cell is back."""
    northern = lanes.new_agency(cell=away)
    account = lanes.account(agency=northern)
    images = [lanes.image(northern)] if step == "mark" else []
    target = lanes.post(account, "Not yet", images=images)
    lanes.relay(away)
    lanes.dispatch()
    targets = lanes.wiring.targets
    real = getattr(targets, step)

    def stopped(*arguments: Any, **named: Any) -> Any:
        server.postgres.stop()
        return real(*arguments, **named)

    monkeypatch.setattr(targets, step, stopped)
    message = lanes.message(target, agency=northern)
    try:
        with pytest.raises(CellUnreachableError):
            lanes.handle(message)
    finally:
        server.restart_postgres()
    monkeypatch.setattr(targets, step, real)
    assert lanes.live(account) == []
    lanes.change(
        "UPDATE cell.post_targets SET lease_until = now() - interval '5 seconds' WHERE lease_until IS NOT NULL",
        northern,
    )
    lanes.wiring.cell_sweep(away).sweep()
    if lanes.row(target, northern)["status"] == "retry_scheduled":
        lanes.due_now(target, northern)
    assert lanes.publish_of(target, northern) == "published"
    assert lanes.live(account) == ["Not yet"]


@pytest.mark.parametrize("applied_by", ["look", "sweep"])
def test_an_acceptance_while_the_cell_is_away_is_kept_centrally_and_applied_when_it_is_back(
    lanes: Lanes, away: str, server: LocalServers, applied_by: str
):
    """The answer's id is not lost with the cell: nothing is asked of the platform, and nothing is sent twice."""
    northern = lanes.new_agency(cell=away)
    account = lanes.account(agency=northern)
    target = lanes.post(account, "Accepted, but where to write it")
    lanes.relay(away)
    lanes.dispatch()

    class Stops(X):
        def read_publish(self, *arguments: Any) -> Any:
            server.postgres.stop()
            return super().read_publish(*arguments)

    impatient = PostgresTargets(lanes.wiring.stores, rules=lanes.wiring.rules, settle_patience_seconds=0.3)
    publisher = replace(lanes.wiring.publisher, targets=impatient, adapter_for=lambda _platform: Stops())
    message = lanes.message(target, agency=northern)
    try:
        assert publisher.publish(message) == "kept_centrally"
    finally:
        server.restart_postgres()
    (post,) = lanes.sandbox.ledger("x", account.name)
    (kept,) = lanes.central("SELECT * FROM central.late_evidence")
    assert (kept["cell"], kept["target_id"], kept["remote_id"]) == (away, target, post["id"])
    assert lanes.row(target, northern)["status"] == "publishing"
    if applied_by == "look":
        lanes.change(
            "UPDATE cell.post_targets SET lease_until = now() - interval '5 seconds' WHERE id = %(id)s",
            northern,
            id=target,
        )
        lanes.wiring.cell_sweep(away).sweep()
        assert lanes.row(target, northern)["status"] == "unknown_outcome"
        lanes.due_now(target, northern)
        lanes.count_steps(account, "look")
        assert lanes.work_off(away) == ["late_evidence"]
        assert lanes.counted == 0
    else:
        assert lanes.wiring.evidence_sweep().sweep(away) == 1
        assert lanes.wiring.evidence_sweep().sweep(away) == 0
    row = lanes.row(target, northern)
    assert row["status"] == "published"
    (publication,) = lanes.rows("SELECT * FROM cell.publications", northern)
    assert publication["remote_id"] == post["id"]
    assert lanes.central("SELECT id FROM central.late_evidence WHERE applied_at IS NULL") == []
    assert lanes.work_off(away) == []
    assert len(lanes.live(account)) == 1


def test_an_empty_tenant_moves_and_one_with_clients_does_not(lanes: Lanes, north: str):
    """The old cell's foreign keys say what empty is; in the new one the tenant is as it was."""
    stores = lanes.wiring.stores
    empty = tenants.add(stores, name="empty", monthly_limit=7, actor="test")
    empty = tenants.suspend(stores, tenant=empty.id, reason="unpaid", actor="test")
    moved = cells.move_tenant(stores, tenant=empty, cell=north, actor="test")
    assert (moved.cell, moved.status, moved.monthly_limit) == (north, "suspended", 7)
    with stores.cell(north).app.transaction(tenant=empty.id) as session:
        state = session.one("SELECT status, monthly_limit FROM cell.tenant_state")
    assert state == {"status": "suspended", "monthly_limit": 7}
    with pytest.raises(InputRefused, match="only an empty tenant can be moved"):
        cells.move_tenant(stores, tenant=lanes.agency.tenant, cell=north, actor="test")
    assert tenants.find(stores, lanes.agency.tenant.name).cell == "default"
    assert lanes.work_off() == []


def test_a_client_added_where_the_tenant_was_a_moment_ago_lands_where_it_is(
    lanes: Lanes, north: str, make_wiring: Callable[..., Wiring], database_url: str
):
    """Another process knows a tenant's cell for a minute: it asks anew when the cell knows the tenant no more."""
    stores, other = lanes.wiring.stores, make_wiring(database_url).stores
    tenant = tenants.add(stores, name="mover", actor="test")
    assert other.cell_name_of(tenant.id) == "default"
    cells.move_tenant(stores, tenant=tenant, cell=north, actor="test")
    made = clients.add(other, tenant=tenant.id, name="Mill", time_zone="UTC", actor="test")
    assert clients.find(stores, tenant=tenant.id, name_or_id="Mill").id == made.id


def test_a_move_that_races_with_a_new_client_never_parts_them(
    lanes: Lanes, north: str, make_wiring: Callable[..., Wiring], database_url: str
):
    """Whoever is first: the client is where its tenant is, or one of the two is refused."""
    stores, other = lanes.wiring.stores, make_wiring(database_url).stores
    for number in range(8):
        tenant = tenants.add(stores, name=f"racer-{number}", actor="test")
        moved, added = race(
            lambda tenant=tenant: cells.move_tenant(stores, tenant=tenant, cell=north, actor="test"),
            lambda tenant=tenant: clients.add(
                other, tenant=tenant.id, name="Mill", time_zone="UTC", actor="test"
            ),
        )
        for answer in (moved, added):
            assert not isinstance(answer, Exception) or isinstance(answer, InputRefused)
        stores.forget_tenant(tenant.id)
        place = tenants.find(stores, tenant.name).cell
        assert place == ("default" if isinstance(moved, InputRefused) else north)
        with stores.cell(place).app.transaction(tenant=tenant.id) as session:
            assert session.one("SELECT name FROM cell.tenant_state") is not None
            found = session.all("SELECT name FROM cell.clients")
        assert len(found) == (0 if isinstance(added, InputRefused) else 1)


def test_a_cell_address_is_kept_encrypted_and_never_shown(lanes: Lanes, north: str):
    """It holds a password."""
    (row,) = lanes.central("SELECT database_url FROM central.cells WHERE name = %(name)s", name=north)
    assert "postgres" not in row["database_url"]
    with pytest.raises(InputRefused, match="can't be used") as refused:
        cells.add(
            lanes.wiring.stores,
            lanes.wiring.vault,
            name="south",
            database_url="postgresql://somebody:hidden-word@127.0.0.1:1/none",
            actor="test",
        )
    assert "hidden-word" not in str(refused.value)


def test_a_new_pair_of_tokens_waits_for_a_cell_that_is_away_for_a_moment(
    lanes: Lanes, away: str, server: LocalServers
):
    """X has ended the old pair: losing the new one would end the account, so storing it is tried for a while."""
    northern = lanes.new_agency(cell=away)
    account = lanes.account(agency=northern)
    target = lanes.post(account)
    work = lanes.wiring.targets.load(northern.tenant.id, target)
    assert work is not None
    tokens = StoredTokens(stores=lanes.wiring.stores, vault=lanes.wiring.vault)
    lease = new_token()
    assert tokens.take_lease(northern.tenant.id, work.account, lease=lease, lease_seconds=60.0)
    pair = Refreshed(access_token="while-away", refresh_token="while-away-refresh", expires_at=None)
    server.postgres.stop()
    try:
        storing = Background(
            lambda: tokens.store_pair(northern.tenant.id, work.account, lease=lease, pair=pair)
        )
    finally:
        server.restart_postgres()
    assert storing.join(30) is not None
    assert (account.opened(), account.opened("refresh_token")) == ("while-away", "while-away-refresh")
