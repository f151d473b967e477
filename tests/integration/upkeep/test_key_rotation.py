"""Key rotation: everything readable ends under the active key, whatever happens meanwhile."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest

from socialq.domain.ids import new_id
from socialq.store.cell import sealed_tokens
from socialq.store.central import heartbeats, provider_apps
from socialq.upkeep import key_rotation
from socialq.upkeep.key_rotation import UnreadableValue, rotate
from socialq.vault import Vault, key_id_of
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.store.stores import Stores
    from tests.integration.pipeline.world import World

OLD_KEY, NEW_KEY = bytes(range(32)), bytes(range(32, 64))
OLD = Vault({"k1": OLD_KEY}, "k1")
BOTH = Vault({"k1": OLD_KEY, "k2": NEW_KEY}, "k2")
NEW = Vault({"k2": NEW_KEY}, "k2")


def sealer(tenant: UUID, vault: Vault = OLD, field: str = "access_token") -> Callable[[str, UUID], str]:
    def seal(text: str, row_id: UUID) -> str:
        return vault.encrypt(text, tenant_id=tenant, table="accounts", row_id=row_id, field=field)

    return seal


@pytest.fixture
def tenants(world: World) -> dict[UUID, list[UUID]]:
    """Two tenants with three accounts each, all under the old key; some can be refreshed."""
    # The world's own account has no encrypted token: it isn't part of this.
    world.arrange("DELETE FROM cell.accounts")
    made: dict[UUID, list[UUID]] = {}
    for tenant in (world.tenant, factories.make_tenant(world.stores)):
        client = factories.make_client(world.stores, tenant)
        made[tenant] = [
            factories.make_account(
                world.stores, tenant, client, token=f"secret-{number}", seal=sealer(tenant)
            )
            for number in range(3)
        ]
        first = made[tenant][0]
        sealed = sealer(tenant, field="refresh_token")("refresh-0", first)
        write(world, first, refresh_token=sealed)
    return made


def write(world: World, account: UUID, **columns: Any) -> None:
    assignments = ", ".join(f"{name} = %({name})s" for name in columns)
    world.arrange(f"UPDATE cell.accounts SET {assignments} WHERE id = %(id)s", id=account, **columns)


def stored(world: World, account: UUID) -> dict[str, Any]:
    [row] = world.arrange("SELECT * FROM cell.accounts WHERE id = %(id)s", id=account)
    return row


def opened(world: World, account: UUID, vault: Vault, field: str = "access_token") -> str:
    row = stored(world, account)
    return vault.decrypt(
        row[field], tenant_id=row["tenant_id"], table="accounts", row_id=account, field=field
    )


def make_app(stores: Stores, *, tenant: UUID | None) -> UUID:
    app_id = new_id()
    secret = OLD.encrypt(
        "app secret", tenant_id=tenant, table="provider_apps", row_id=app_id, field="client_secret"
    )
    with stores.central.transaction() as session:
        provider_apps.insert(
            session,
            app_id=app_id,
            tenant_id=tenant,
            platform="x",
            name="app",
            base_url="https://x.example",
            client_id="client",
            client_secret=secret,
        )
    return app_id


def test_every_token_secret_and_address_ends_under_the_active_key(
    world: World, tenants: dict[UUID, list[UUID]]
):
    """Accounts of all tenants, app secrets of a tenant and of everybody, and a cell's address; none is changed."""
    apps = {tenant: make_app(world.stores, tenant=tenant) for tenant in (world.tenant, None)}
    address = OLD.encrypt(world.url, tenant_id=None, table="cells", row_id="second", field="database_url")
    world.arrange("INSERT INTO central.cells (name, database_url) VALUES ('second', %(url)s)", url=address)
    world.stores._decrypt_cell_url = lambda name, value: BOTH.decrypt(
        value, tenant_id=None, table="cells", row_id=name, field="database_url"
    )
    try:
        done = rotate(world.stores, BOTH)
        [cell] = world.arrange("SELECT database_url FROM central.cells WHERE name = 'second'")
    finally:
        world.arrange("DELETE FROM central.cells WHERE name = 'second'")
        world.stores._decrypt_cell_url = lambda _cell, value: value
        second = world.stores._cells.pop("second")
        second.app.dispose()
        second.machine.dispose()
    assert done.rotated == {"k1": 6 + 2 + 2 + 1}
    assert (done.complete, done.old_keys_may_go, done.unreadable) == (True, True, ())
    place = {"tenant_id": None, "table": "cells", "row_id": "second", "field": "database_url"}
    assert NEW.decrypt(cell["database_url"], **place) == world.url
    for tenant, app_id in apps.items():
        row = provider_apps.read(world.stores.central, app_id)
        assert row is not None
        secret = NEW.decrypt(
            row["client_secret"],
            tenant_id=tenant,
            table="provider_apps",
            row_id=app_id,
            field="client_secret",
        )
        assert secret == "app secret"
    for accounts in tenants.values():
        assert [opened(world, account, NEW) for account in accounts] == ["secret-0", "secret-1", "secret-2"]
        assert opened(world, accounts[0], NEW, "refresh_token") == "refresh-0"


def test_a_second_rotation_finds_nothing_to_do(world: World, tenants: dict[UUID, list[UUID]]):
    """Not even a value under the active key is encrypted again."""
    rotate(world.stores, BOTH)
    before = [stored(world, account) for accounts in tenants.values() for account in accounts]
    again = rotate(world.stores, BOTH)
    assert again.rotated == {}
    assert again.old_keys_may_go
    assert [stored(world, account) for accounts in tenants.values() for account in accounts] == before


def test_progress_reaches_its_total_in_small_batches(world: World, tenants: dict[UUID, list[UUID]]):
    """However small the batches, the count never falls and ends at all accounts."""
    seen: list[tuple[int, int]] = []
    rotate(world.stores, BOTH, progress=lambda done, total: seen.append((done, total)), batch=1)
    assert seen[0] == (0, 6)
    assert seen[-1] == (6, 6)
    assert seen == sorted(seen)
    assert len(seen) > 6


@pytest.mark.parametrize("case", ["changed", "moved", "other field", "no value at all"])
def test_what_cannot_be_read_is_reported_and_left(world: World, tenants: dict[UUID, list[UUID]], case: str):
    """A value that was changed, or belongs to another row or field: its place is named, its text never."""
    tenant, accounts = next(iter(tenants.items()))
    seal = sealer(tenant)
    value = {
        "changed": (text := seal("secret-9", accounts[1]))[:-4] + ("AAAA" if text[-4:] != "AAAA" else "BBBB"),
        "moved": seal("secret-9", accounts[2]),
        "other field": sealer(tenant, field="refresh_token")("secret-9", accounts[1]),
        "no value at all": "secret-9",
    }[case]
    write(world, accounts[1], access_token=value)
    done = rotate(world.stores, BOTH)
    key_id = None if case == "no value at all" else "k1"
    assert done.unreadable == (
        UnreadableValue(
            table="accounts",
            field="access_token",
            row_id=str(accounts[1]),
            tenant_id=str(tenant),
            reason="tampered",
            key_id=key_id,
        ),
    )
    assert done.rotated == {"k1": 7}
    assert not done.old_keys_may_go
    assert stored(world, accounts[1])["access_token"] == value
    assert value not in repr(done)


def test_a_key_that_is_not_configured_is_named(world: World, tenants: dict[UUID, list[UUID]]):
    """The report says under which key a value is, so that the operator can look for it."""
    tenant, accounts = next(iter(tenants.items()))
    lost = Vault({"k0": bytes(32)}, "k0")
    write(world, accounts[0], access_token=sealer(tenant, lost)("secret-0", accounts[0]))
    [found] = rotate(world.stores, BOTH).unreadable
    assert (found.reason, found.key_id, found.row_id) == ("unknown_key", "k0", str(accounts[0]))


def test_a_token_that_is_refreshed_between_reading_and_exchange_is_kept(
    world: World, tenants: dict[UUID, list[UUID]], monkeypatch: pytest.MonkeyPatch
):
    """Compare-and-set: the newer token stays, and is rotated by a later pass of the same run."""
    tenant, accounts = next(iter(tenants.items()))
    real = sealed_tokens.under_other_keys
    refreshed: list[UUID] = []

    def read_then_refresh(app: Any, tenant_id: UUID, **options: Any) -> Any:
        rows = real(app, tenant_id, **options)
        if not refreshed:
            refreshed.append(accounts[0])
            write(world, accounts[0], access_token=sealer(tenant)("refreshed meanwhile", accounts[0]))
        return rows

    monkeypatch.setattr(key_rotation.sealed_tokens, "under_other_keys", read_then_refresh)
    done = rotate(world.stores, BOTH)
    assert refreshed
    assert opened(world, accounts[0], NEW) == "refreshed meanwhile"
    assert done.complete
    assert done.rotated == {"k1": 8}


def test_workers_read_and_refresh_while_keys_rotate(world: World, tenants: dict[UUID, list[UUID]]):
    """Workers that know both keys decrypt every token at every moment, and no refreshed token is lost."""
    stop, failures, latest = threading.Event(), list[Exception](), dict[UUID, str]()

    def read_all() -> None:
        while not stop.is_set():
            for accounts in tenants.values():
                for account in accounts:
                    token = opened_as_worker(account)
                    if not token.startswith(("secret-", "new-")):
                        failures.append(AssertionError(token))

    def opened_as_worker(account: UUID) -> str:
        tenant = next(tenant for tenant, accounts in tenants.items() if account in accounts)
        [[row]] = world.stores.cell("default").app.pipelined(
            ("SELECT access_token FROM cell.accounts WHERE id = %(id)s", {"id": account}), tenant=tenant
        )
        return BOTH.decrypt(
            row["access_token"], tenant_id=tenant, table="accounts", row_id=account, field="access_token"
        )

    def refresh_all() -> None:
        number = 0
        while not stop.is_set():
            for tenant, accounts in tenants.items():
                number += 1
                # A worker that still runs with the old settings encrypts with the old key.
                sealed = sealer(tenant, OLD)(f"new-{number}", accounts[1])
                world.stores.cell("default").app.pipelined(
                    (
                        "UPDATE cell.accounts SET access_token = %(new)s WHERE id = %(id)s",
                        {"new": sealed, "id": accounts[1]},
                    ),
                    tenant=tenant,
                )
                latest[accounts[1]] = f"new-{number}"

    def guarded(step: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                step()
            except Exception as error:  # noqa: BLE001 - whatever it is, the test fails with it
                failures.append(error)

        return run

    threads = [threading.Thread(target=guarded(step)) for step in (read_all, refresh_all)]
    for thread in threads:
        thread.start()
    for _ in range(15):
        rotate(world.stores, BOTH, batch=2)
    stop.set()
    for thread in threads:
        thread.join(20)
    assert failures == []
    final = rotate(world.stores, BOTH)
    assert final.complete
    assert latest
    for account, token in latest.items():
        assert opened(world, account, NEW) == token
        assert key_id_of(stored(world, account)["access_token"]) == "k2"


@pytest.mark.usefixtures("tenants")
def test_a_worker_that_still_encrypts_with_an_old_key_keeps_the_old_keys(world: World):
    """Its heartbeat names its key: everything is rotated, and the old key may not go yet."""
    world.stores.central.pipelined(
        heartbeats.beat("canary:publishing:host:1", {"encryption_key_id": "k1"}),
        heartbeats.beat("canary:publishing:host:2", {"encryption_key_id": "k2"}),
        heartbeats.beat("canary:publishing:gone:3", {"encryption_key_id": "k1"}),
    )
    world.arrange(
        "UPDATE central.heartbeats SET beat_at = beat_at - interval '1 hour' WHERE name LIKE '%%gone%%'"
    )
    done = rotate(world.stores, BOTH)
    assert done.complete
    assert done.workers_on_other_keys == ("publishing:host:1",)
    assert not done.old_keys_may_go


@pytest.mark.usefixtures("tenants")
def test_a_cell_that_cannot_be_reached_is_reported_and_the_others_are_rotated(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    """Until it was rotated too, the old keys stay."""
    real = world.stores.cell

    def cell(name: str) -> Any:
        if name == "away":
            raise psycopg.OperationalError("no route")
        return real(name)

    monkeypatch.setattr(world.stores, "cell_names", lambda: ["away", "default"])
    monkeypatch.setattr(world.stores, "cell", cell)
    done = rotate(world.stores, BOTH)
    assert done.rotated == {"k1": 8}
    assert done.unreachable_cells == ("away",)
    assert not done.old_keys_may_go
