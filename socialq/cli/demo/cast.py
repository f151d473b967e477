"""Who takes part: two agencies, their brands, their accounts; and what they plan.

Arrives: a running stack and its sandbox. Leaves: a `Cast`, whose posts are scheduled from `begins_at` on.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from socialq.cli.demo.channels import Simulated, connected, named_in, with_full_handles
from socialq.cli.demo.home import examples
from socialq.desk import bulk_import, clients, plan, tenants
from socialq.domain.calendar_csv import parse
from socialq.domain.local_time import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from socialq.cli.demo.world import World
    from socialq.desk.clients import Client
    from socialq.desk.compose import Composed
    from socialq.desk.connect import Account
    from socialq.desk.tenants import Tenant
    from socialq.domain.calendar_csv import CalendarRow
    from socialq.wiring import Wiring

ACTOR: Final = "demo"
ACCEPTANCE_ACCOUNTS: Final = tuple(
    Simulated("mastodon", f"acceptance_{number:02d}") for number in range(1, 11)
)
KILL_ACCOUNTS: Final = tuple(Simulated("mastodon", f"northlight_{number}") for number in range(1, 9))

BEGIN_AFTER_SECONDS: Final = 3.0
"""From the moment of planning to the first post: the import itself takes a second or two."""
STEP_SECONDS: Final = 0.6
"""Between two instants of the launch week, which are days or hours apart in the file."""
SEVEN_AFTER_SECONDS: Final = 5.0
SEVEN_STEP_SECONDS: Final = 2.5
"""The same for the calendar of the seven platforms, on which lost answers are looked for meanwhile."""
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
    accounts: Mapping[UUID, Simulated]
    """Every account by its id."""


class Casting:
    """Sets everything up, through the desk, as people would."""

    def __init__(self, wiring: Wiring, world: World) -> None:
        self._wiring = wiring
        self._world = world
        self._week = _Calendar.read("launch_week.csv")
        self._seven = _Calendar.read("seven_platforms.csv")

    def set_up(self, *, wait_ready: Callable[[], object]) -> Cast:
        """Add tenants, clients, accounts; then, once the workers are ready, plan all posts."""
        launch = tenants.add(self._wiring.stores, name="quillmoss", actor=ACTOR)
        north = tenants.add(self._wiring.stores, name="northlight", actor=ACTOR)
        mill = self._client(launch, "Quillmoss Paper", "Europe/Berlin")
        trial = self._client(launch, "Acceptance", "UTC")
        lights = self._client(north, "Northlight", "Europe/Oslo")
        wanted = {
            **dict.fromkeys([*named_in(self._week.rows), *named_in(self._seven.rows)], mill),
            **dict.fromkeys(ACCEPTANCE_ACCOUNTS, trial),
            **dict.fromkeys(KILL_ACCOUNTS, lights),
        }
        with ThreadPoolExecutor(8) as pool:
            made = pool.map(lambda name: self._connect(wanted[name], name), wanted)
            accounts = dict(zip(wanted, made, strict=True))
        wait_ready()
        begins_at = datetime.now(UTC) + timedelta(seconds=BEGIN_AFTER_SECONDS)
        in_flight = self._post(
            north,
            lights,
            [accounts[name].id for name in KILL_ACCOUNTS],
            "Nordlys over Tromsø tonight: look up at ten. 🌌 (Eight accounts, and a worker that will not survive it.)",
            at=begins_at + timedelta(seconds=KILL_AFTER_SECONDS),
        )
        self._import(mill, self._week, accounts, begins_at=begins_at, step_seconds=STEP_SECONDS)
        self._import(
            mill,
            self._seven,
            accounts,
            begins_at=begins_at + timedelta(seconds=SEVEN_AFTER_SECONDS),
            step_seconds=SEVEN_STEP_SECONDS,
        )
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
            accounts={account.id: name for name, account in accounts.items()},
        )

    def _client(self, tenant: Tenant, name: str, zone: str) -> Client:
        return clients.add(self._wiring.stores, tenant=tenant.id, name=name, time_zone=zone, actor=ACTOR)

    def _connect(self, client: Client, name: Simulated) -> Account:
        return connected(self._wiring, self._world, client, name, actor=ACTOR)

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

    def _import(
        self,
        client: Client,
        calendar: _Calendar,
        accounts: Mapping[Simulated, Account],
        *,
        begins_at: datetime,
        step_seconds: float,
    ) -> None:
        now = datetime.now(UTC)
        report = bulk_import.import_file(
            self._wiring.stores,
            self._wiring.files,
            tenant=client.tenant_id,
            client=client.id,
            data=with_full_handles(calendar.data, accounts),
            base_folder=examples(),
            now=now,
            shift=calendar.shift(client, begins_at=begins_at, step_seconds=step_seconds, now=now),
            links=self._wiring.link_signer is not None,
            actor=ACTOR,
        )
        if report.refused:
            raise AssertionError(f"the example calendar is refused: {report.refused[0]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Calendar:
    """One of the example calendars."""

    data: bytes
    rows: Sequence[CalendarRow]

    @classmethod
    def read(cls, name: str) -> _Calendar:
        data = (examples() / name).read_bytes()
        return cls(data=data, rows=parse(data).rows)

    def shift(self, client: Client, *, begins_at: datetime, step_seconds: float, now: datetime) -> _Shift:
        """Move the file's instants to now: same order, one instant stays one instant."""
        instants = {
            resolve(row.publish_at, zone=row.timezone, default_zone=client.time_zone, now=now).instant_utc
            for row in self.rows
        }
        steps = {instant: number for number, instant in enumerate(sorted(instants))}
        return _Shift(begins_at=begins_at, step_seconds=step_seconds, steps=steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shift:
    begins_at: datetime
    step_seconds: float
    steps: Mapping[datetime, int]

    def __call__(self, _row: int, instant: datetime) -> datetime:
        return self.begins_at + timedelta(seconds=self.step_seconds * self.steps[instant])
