"""What the tests of the lanes share: everything as a worker has it, on real databases and the simulated X.

Only the message queue is a list: a test decides when a worker takes a message, and how many do at once.
"""

from __future__ import annotations

import io
import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from PIL import Image

from socialq.desk import clients, connect, library, plan, tenants
from socialq.domain.hops import Message
from socialq.domain.local_time import resolve
from socialq.domain.states import NextKind
from socialq.providers.base import AppCredentials
from tests.integration.pipeline.doubles import Queue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.desk.tenants import Tenant
    from socialq.domain.hops import Lane
    from socialq.domain.work import Work
    from socialq.wiring import Wiring
    from tests.fixtures_sandbox import RunningSandbox

ACTOR = "test"
_numbers = itertools.count(1)


def number() -> int:
    """A number that no other test of this process has got."""
    return next(_numbers)


@dataclass
class Agency:
    """A tenant with a client, in some cell."""

    tenant: Tenant
    client: UUID


@dataclass
class Lanes:
    """A worker's wiring, an agency in the default cell, and a queue for each lane."""

    wiring: Wiring
    sandbox: RunningSandbox
    queues: dict[Lane, Queue] = field(default_factory=lambda: {"main": Queue(), "prepare": Queue()})

    def __post_init__(self) -> None:
        self.agency = self.new_agency()

    # What there is.

    def new_agency(self, *, cell: str = "default") -> Agency:
        stores, name = self.wiring.stores, f"agency-{number()}"
        tenant = tenants.add(stores, name=name, cell=cell, actor=ACTOR)
        brand = clients.add(stores, tenant=tenant.id, name="Mill", time_zone="UTC", actor=ACTOR)
        return Agency(tenant=tenant, client=brand.id)

    def account(
        self,
        name: str | None = None,
        *,
        agency: Agency | None = None,
        ends_in_seconds: float | None = None,
        **wishes: Any,
    ) -> Account:
        """Make an account on the simulated X and connect it, with all that X gives."""
        made = self.sandbox.create_account(name or f"user{number()}", "x", **wishes)
        return self.connect(made, agency=agency, ends_in_seconds=ends_in_seconds)

    def connect(
        self,
        made: dict[str, Any],
        *,
        agency: Agency | None = None,
        ends_in_seconds: float | None = None,
        **changes: Any,
    ) -> Account:
        into = agency or self.agency
        lives = made["expires_in"] if ends_in_seconds is None else ends_in_seconds
        arguments: dict[str, Any] = {
            "platform": "x",
            "base_url": made["base_url"],
            "token": made["access_token"],
            "refresh_token": made["refresh_token"],
            "token_expires_at": datetime.now(UTC) + timedelta(seconds=lives),
            "app": AppCredentials(client_id=made["client_id"], client_secret=made["client_secret"] or ""),
            "scopes": frozenset(made["scopes"].split()),
            **changes,
        }
        connected = connect.add_account(
            self.wiring.stores,
            self.wiring.vault,
            self.wiring.http,
            tenant=into.tenant.id,
            client=into.client,
            actor=ACTOR,
            allow_private_addresses=True,
            **arguments,
        )
        return Account(lanes=self, agency=into, id=connected.id, name=made["account"])

    def image(self, agency: Agency | None = None) -> UUID:
        """A picture in the library that no other test has."""
        into, content = agency or self.agency, io.BytesIO()
        Image.new("RGB", (40, 30), (number() % 256, 80, 120)).save(content, "PNG")
        stored = library.add_media(
            self.wiring.stores,
            self.wiring.files,
            tenant=into.tenant.id,
            client=into.client,
            source=content.getvalue(),
            file_name="picture.png",
            alt_text="A colour",
            actor=ACTOR,
        )
        return stored.id

    def post(
        self, account: Account, *texts: str, seconds: float = 0.0, images: Sequence[UUID] = (), **more: Any
    ) -> UUID:
        """Plan a post (a thread where there are several texts) in so many seconds; returns its target's id."""
        now = datetime.now(UTC)
        at = now + timedelta(seconds=seconds)
        made = plan.plan_post(
            self.wiring.stores,
            tenant=account.agency.tenant.id,
            client=account.agency.client,
            account_ids=[account.id],
            parts=[
                {"text": text, "media": list(images) if place == 0 else []}
                for place, text in enumerate(texts or (f"Post {number()}",))
            ],
            resolved=resolve(at.isoformat(), zone=None, default_zone="UTC", now=now),
            now=now,
            actor=ACTOR,
            **more,
        )
        return made.targets[0].id

    # Hops.

    def relay(self, cell: str = "default") -> None:
        while self.wiring.relay(cell).scan():
            pass

    def dispatch(self, lane: Lane = "main") -> list[Message]:
        """Send what is due in a lane, and take the messages."""
        self.wiring.dispatcher(self.queues[lane], lane=lane).scan()
        return self.queues[lane].take()

    def handle(self, message: Message) -> str:
        """A worker works off one message."""
        match message.kind:
            case NextKind.LOOK:
                return self.wiring.looker.look(message)
            case NextKind.PREPARE:
                return self.wiring.preparer.prepare(message)
            case _:
                return self.wiring.publisher.publish(message)

    def work_off(self, *cells: str, lanes: Sequence[Lane] = ("main",)) -> list[str]:
        """Relay, dispatch and work off what is due until nothing is left; returns the words said."""
        said: list[str] = []
        for _ in range(20):
            for cell in cells or ("default",):
                self.relay(cell)
            messages = [message for lane in lanes for message in self.dispatch(lane)]
            if not messages:
                return said
            said += [self.handle(message) for message in messages]
        raise AssertionError(f"messages never end: {said}")

    def message(self, target: UUID, *, agency: Agency | None = None, kind: str | None = None) -> Message:
        """The message that is right for a target as it stands."""
        row = self.row(target, agency)
        return Message(
            tenant_id=row["tenant_id"],
            target_id=target,
            seq=row["seq"],
            kind=NextKind(kind or row["next_kind"]),
        )

    def publish_of(self, target: UUID, agency: Agency | None = None) -> str:
        """A worker publishes a target as it stands."""
        return self.wiring.publisher.publish(self.message(target, agency=agency, kind="publish"))

    # Rows.

    def work(self, target: UUID) -> Work:
        found = self.wiring.targets.load(self.agency.tenant.id, target)
        assert found is not None
        return found

    def row(self, target: UUID, agency: Agency | None = None) -> dict[str, Any]:
        (row,) = self.rows("SELECT * FROM cell.post_targets WHERE id = %(id)s", agency, id=target)
        return row

    def rows(self, sql: str, agency: Agency | None = None, **params: Any) -> list[dict[str, Any]]:
        tenant = (agency or self.agency).tenant.id
        with self.wiring.stores.cell_of(tenant).app.transaction(tenant=tenant, actor=ACTOR) as session:
            return session.all(sql, params)

    def change(self, sql: str, agency: Agency | None = None, **params: Any) -> None:
        """Change rows of a tenant as the runtime role may."""
        tenant = (agency or self.agency).tenant.id
        with self.wiring.stores.cell_of(tenant).app.transaction(tenant=tenant, actor=ACTOR) as session:
            session.run(sql, params)

    def lost_earlier(self, target: UUID, agency: Agency | None = None, *, minutes: float = 60.0) -> None:
        """Let the request whose answer was lost lie that much earlier: what is not listed counts as absent then."""
        for sql in (
            "UPDATE cell.post_targets SET lost_at = lost_at - %(m)s * interval '1 minute' WHERE id = %(id)s",
            "UPDATE cell.target_parts SET marked_at = marked_at - %(m)s * interval '1 minute' WHERE target_id = %(id)s",
        ):
            self.change(sql, agency, id=target, m=minutes)

    def central(self, sql: str, **params: Any) -> list[dict[str, Any]]:
        return self.wiring.stores.central.autocommit(sql, params)

    def index_row(self, target: UUID, lane: Lane = "main") -> dict[str, Any] | None:
        found = self.central(
            "SELECT * FROM central.publish_dispatch_index WHERE target_id = %(id)s AND lane = %(lane)s",
            id=target,
            lane=lane,
        )
        return found[0] if found else None

    def alarms(self) -> list[str]:
        rows = self.central("SELECT message FROM central.alarms WHERE resolved_at IS NULL ORDER BY id")
        return [row["message"] for row in rows]

    def due_now(self, target: UUID, agency: Agency | None = None) -> None:
        """Let a target's next work be due, as if time had passed, and mirror that."""
        self.change(
            "UPDATE cell.post_targets SET next_at = now() - interval '1 second' WHERE id = %(id)s",
            agency,
            id=target,
        )
        self.central(
            "UPDATE central.publish_dispatch_index SET due_at = now() - interval '1 second',"
            " ready_at = now() - interval '1 second' WHERE target_id = %(id)s AND lane = 'main'",
            id=target,
        )

    # The platform.

    def count_steps(self, account: Account, step: str = "prepare") -> None:
        """From here on, count an account's requests of a step."""
        rule = {"platform": "x", "account": account.name, "step": step, "kind": "slow", "delay_ms": 0}
        self.sandbox.faults([{**rule, "times": None}])

    @property
    def counted(self) -> int:
        return sum(rule["fired"] for rule in self.sandbox.faults())

    def live(self, account: Account) -> list[str]:
        """The texts that the world can see on an account."""
        return [post["text"] for post in self.sandbox.ledger("x", account.name)]


@dataclass
class Account:
    """A connected account on the simulated X."""

    lanes: Lanes
    agency: Agency
    id: UUID
    name: str

    @property
    def row(self) -> dict[str, Any]:
        (row,) = self.lanes.rows("SELECT * FROM cell.accounts WHERE id = %(id)s", self.agency, id=self.id)
        return row

    def set(self, **columns: Any) -> None:
        assignments = ", ".join(f"{name} = %({name})s" for name in columns)
        self.lanes.change(
            f"UPDATE cell.accounts SET {assignments} WHERE id = %(id)s", self.agency, id=self.id, **columns
        )

    def ends_in(self, seconds: float) -> None:
        """Let the stored access token end in so many seconds."""
        self.set(token_expires_at=datetime.now(UTC) + timedelta(seconds=seconds))

    def opened(self, field: str = "access_token") -> str:
        """The stored token in the clear."""
        place = {"tenant_id": self.agency.tenant.id, "table": "accounts", "row_id": self.id}
        return self.lanes.wiring.vault.decrypt(self.row[field], **place, field=field)

    def generation(self) -> int:
        """How many pairs X has given since the consent: 1 and one for each rotation."""
        return self.token_part(self.opened(), 2)

    @staticmethod
    def token_part(token: str, place: int) -> int:
        import base64

        plain = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        return int(plain.split(":")[place])
