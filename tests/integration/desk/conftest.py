"""What desk tests share: an agency with a client and accounts, times, and a way to see a session wait."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from socialq.desk.plan import plan_post
from socialq.domain.local_time import resolve
from socialq.store.media_files import MediaFiles
from tests.factories import make_account, make_client, make_tenant, read_target, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.desk.compose import Composed
    from socialq.domain.local_time import Resolved
    from socialq.store.stores import Stores

NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)


def at(text: str, *, now: datetime = NOW) -> Resolved:
    """Read a time as the desk's callers do, in Berlin unless it says otherwise."""
    return resolve(text, zone=None, default_zone="Europe/Berlin", now=now)


@dataclass
class Agency:
    """A tenant with one client and two accounts of it."""

    stores: Stores
    tenant: UUID
    client: UUID
    accounts: list[UUID] = field(default_factory=list)

    def plan(
        self, *, when: str = "2027-03-02T09:00", texts: tuple[str, ...] = ("Hello",), **kw: Any
    ) -> Composed:
        """Create, approve and schedule a post on the first account, or on `account_ids`."""
        return plan_post(
            self.stores,
            tenant=self.tenant,
            client=self.client,
            account_ids=kw.pop("account_ids", self.accounts[:1]),
            parts=[{"text": text, "media": []} for text in texts],
            resolved=at(when),
            now=NOW,
            actor="test",
            **kw,
        )

    def target(self, target_id: UUID) -> dict[str, Any]:
        """The target's row as it stands."""
        return read_target(self.stores, self.tenant, target_id)

    def rows(self, query: str, **params: Any) -> list[dict[str, Any]]:
        """What a query of this tenant returns."""
        return rows(self.stores, self.tenant, query, params)

    def count(self, table: str) -> int:
        """How many rows of a table this tenant has."""
        return int(self.rows(f"SELECT count(*) AS n FROM cell.{table}")[0]["n"])

    def everything(self) -> dict[str, int]:
        """How many rows this tenant has in every table that the desk writes posts to."""
        tables = (
            "posts",
            "post_versions",
            "post_targets",
            "target_parts",
            "approvals",
            "post_schedules",
            "media",
        )
        return {table: self.count(table) for table in (*tables, "outbox_events", "target_history")}


def make_agency(
    stores: Stores, *, handles: tuple[str, ...] = ("ann@social.example", "bob@social.example")
) -> Agency:
    tenant = make_tenant(stores)
    client = make_client(stores, tenant)
    accounts = [make_account(stores, tenant, client, handle=handle) for handle in handles]
    return Agency(stores, tenant, client, accounts)


@pytest.fixture
def agency(stores: Stores) -> Agency:
    return make_agency(stores)


@pytest.fixture
def other_agency(stores: Stores) -> Agency:
    """Another tenant, in the same cell."""
    return make_agency(stores)


@pytest.fixture
def storage(tmp_path: Any) -> MediaFiles:
    return MediaFiles(f"file://{tmp_path}/media")


class Aside:
    """A call on another thread, with what it returned or raised."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(act,), daemon=True)
        self._thread.start()

    def _run(self, act: Callable[[], Any]) -> None:
        try:
            self.result = act()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            self.error = error

    def finish(self) -> Aside:
        self._thread.join(timeout=20)
        assert not self._thread.is_alive(), "the other session hangs"
        return self


def wait_for_waiting_session(stores: Stores) -> None:
    """Return when another session waits for a lock."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if stores.central.autocommit(
            "SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
            " WHERE NOT l.granted AND a.datname = current_database()"
        ):
            return
        time.sleep(0.01)
    raise AssertionError("no session waits for a lock")


def hours(number: float) -> timedelta:
    return timedelta(hours=number)
