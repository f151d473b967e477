"""Who takes part: two agencies, their brands, their accounts; and what they plan.

Arrives: a running stack and its sandbox. Leaves: a `Cast`, whose posts are scheduled from `begins_at` on.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from socialq.cli.demo.home import examples
from socialq.desk import bulk_import, clients, connect, plan, tenants
from socialq.domain.calendar_csv import parse
from socialq.domain.local_time import resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.cli.demo.world import World
    from socialq.desk.clients import Client
    from socialq.desk.compose import Composed
    from socialq.desk.connect import Account
    from socialq.desk.tenants import Tenant
    from socialq.wiring import Wiring

ACTOR: Final = "demo"
ACCEPTANCE_ACCOUNTS: Final = tuple(f"acceptance_{number:02d}" for number in range(1, 11))
KILL_ACCOUNTS: Final = tuple(f"northlight_{number}" for number in range(1, 9))

BEGIN_AFTER_SECONDS: Final = 3.0
"""From the moment of planning to the first post: the import itself takes a second or two."""
STEP_SECONDS: Final = 0.6
"""Between two instants of the launch week, which are days or hours apart in the file."""
KILL_AFTER_SECONDS: Final = 2.0
ACCEPTANCE_AFTER_SECONDS: Final = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """What was set up."""

    wiring: Wiring
    tenants: tuple[Tenant, Tenant]
    acceptance: Composed
    in_flight: Composed
    """The post whose requests are slow, so that a worker can be killed amid them."""
    begins_at: datetime


class Casting:
    """Sets everything up, through the desk, as people would."""

    def __init__(self, wiring: Wiring, world: World) -> None:
        self._wiring = wiring
        self._world = world
        self._data = (examples() / "launch_week.csv").read_bytes()
        self._rows = parse(self._data).rows

    def set_up(self, *, wait_ready: Callable[[], object]) -> Cast:
        """Add tenants, clients, accounts; then, once the workers are ready, plan all posts."""
        launch = tenants.add(self._wiring.stores, name="quillmoss", actor=ACTOR)
        north = tenants.add(self._wiring.stores, name="northlight", actor=ACTOR)
        mill = self._client(launch, "Quillmoss Paper", "Europe/Berlin")
        trial = self._client(launch, "Acceptance", "UTC")
        lights = self._client(north, "Northlight", "Europe/Oslo")
        names = self._names()
        jobs = [(launch, mill, name) for name in names]
        jobs += [(launch, trial, name) for name in ACCEPTANCE_ACCOUNTS]
        jobs += [(north, lights, name) for name in KILL_ACCOUNTS]
        with ThreadPoolExecutor(8) as pool:
            accounts = dict(
                zip([name for *_, name in jobs], pool.map(lambda job: self._connect(*job), jobs), strict=True)
            )
        wait_ready()
        begins_at = datetime.now(UTC) + timedelta(seconds=BEGIN_AFTER_SECONDS)
        in_flight = self._post(
            north,
            lights,
            [accounts[name].id for name in KILL_ACCOUNTS],
            "Nordlys over Tromsø tonight: look up at ten. 🌌 (Eight accounts, and a worker that will not survive it.)",
            at=begins_at + timedelta(seconds=KILL_AFTER_SECONDS),
        )
        self._import(launch, mill, [accounts[name] for name in names], begins_at)
        acceptance = self._post(
            launch,
            trial,
            [accounts[name].id for name in ACCEPTANCE_ACCOUNTS],
            "Ten accounts, two of which refuse for good: published on 8 of 10, and nothing twice.",
            at=begins_at + timedelta(seconds=ACCEPTANCE_AFTER_SECONDS),
        )
        return Cast(
            wiring=self._wiring,
            tenants=(launch, north),
            acceptance=acceptance,
            in_flight=in_flight,
            begins_at=begins_at,
        )

    def _names(self) -> list[str]:
        """Name the accounts of the calendar, without their platform."""
        named = [account for row in self._rows for account in row.accounts]
        return list(dict.fromkeys(name.removeprefix("mastodon:") for name in named))

    def _client(self, tenant: Tenant, name: str, zone: str) -> Client:
        return clients.add(self._wiring.stores, tenant=tenant.id, name=name, time_zone=zone, actor=ACTOR)

    def _connect(self, tenant: Tenant, client: Client, name: str) -> Account:
        made = self._world.create_account(name)
        return connect.add_account(
            self._wiring.stores,
            self._wiring.vault,
            self._wiring.http,
            tenant=tenant.id,
            client=client.id,
            platform="mastodon",
            base_url=made["base_url"],
            token=made["access_token"],
            actor=ACTOR,
            allow_private_addresses=True,
        )

    def _post(
        self, tenant: Tenant, client: Client, accounts: list[UUID], text: str, *, at: datetime
    ) -> Composed:
        now = datetime.now(UTC)
        return plan.plan_post(
            self._wiring.stores,
            tenant=tenant.id,
            client=client.id,
            account_ids=accounts,
            parts=[{"text": text}],
            resolved=resolve(at.isoformat(), zone=None, default_zone=client.time_zone, now=now),
            now=now,
            actor=ACTOR,
        )

    def _import(self, tenant: Tenant, client: Client, accounts: list[Account], begins_at: datetime) -> None:
        report = bulk_import.import_file(
            self._wiring.stores,
            self._wiring.files,
            tenant=tenant.id,
            client=client.id,
            data=_with_full_handles(self._data, accounts),
            base_folder=examples(),
            now=datetime.now(UTC),
            shift=self._shift(client, begins_at),
            actor=ACTOR,
        )
        if report.refused:
            raise AssertionError(f"the example calendar is refused: {report.refused[0]}")

    def _shift(self, client: Client, begins_at: datetime) -> _Shift:
        """Move the file's instants to now: same order, one instant stays one instant."""
        now = datetime.now(UTC)
        instants = {
            resolve(row.publish_at, zone=row.timezone, default_zone=client.time_zone, now=now).instant_utc
            for row in self._rows
        }
        steps = {instant: number for number, instant in enumerate(sorted(instants))}
        return _Shift(begins_at=begins_at, steps=steps)


@dataclass(frozen=True, slots=True)
class _Shift:
    begins_at: datetime
    steps: dict[datetime, int]

    def __call__(self, _row: int, instant: datetime) -> datetime:
        return self.begins_at + timedelta(seconds=STEP_SECONDS * self.steps[instant])


def _with_full_handles(data: bytes, accounts: list[Account]) -> bytes:
    """Complete `mastodon:name` to `mastodon:name@domain`: the file can't know where the sandbox listens."""
    full = {account.handle.partition("@")[0]: account.name for account in accounts}

    def complete(found: re.Match[bytes]) -> bytes:
        name = full.get(found.group(1).decode())
        return found.group(0) if name is None else name.encode()

    return re.sub(rb"mastodon:(\w+)(?![\w@])", complete, data)
