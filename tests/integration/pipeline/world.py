"""What the tests of the hops share: a world with a scripted platform, a fake queue, and real databases.

Everything but the platform and the message queue is the real thing: stores, roles, row security, triggers.
A test arranges rows as the database's owner where no hop would make them (`arrange`), and then lets hops run.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import dict_row

from socialq.domain.clock import SystemClock
from socialq.domain.hops import Message
from socialq.domain.ids import new_token
from socialq.domain.keys import publication_key
from socialq.domain.outcomes import Accepted, Evidence
from socialq.domain.retry import RetryPolicy
from socialq.domain.settlement import Rules
from socialq.domain.states import NextKind
from socialq.domain.work import Claimed, ClaimRequest
from socialq.pipeline.backing_off import BackOff
from socialq.pipeline.dispatch import Dispatcher
from socialq.pipeline.look import Looker
from socialq.pipeline.places import Places
from socialq.pipeline.publish import Publisher, PublishLimits
from socialq.pipeline.relay import Relay
from socialq.pipeline.sweep import CellSweep, QueueSweep
from socialq.store.evidence_store import PostgresEvidence
from socialq.store.index_store import PostgresIndex
from socialq.store.machine_store import CentralIndex, DispatchBounds, MachineCell
from socialq.store.target_store import PostgresTargets
from tests import factories
from tests.integration.pipeline.doubles import (
    SCOPES,
    Buckets,
    NeverEnding,
    NoFiles,
    NoSecrets,
    Platform,
    Queue,
    lost,
)
from tests.integration.pipeline.racing import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from uuid import UUID

    from socialq.domain.work import Work
    from socialq.store.stores import Stores

LOOK_DELAYS_SECONDS = (10.0, 60.0, 300.0)
LEASE_SECONDS = 90.0


class World:
    """Real stores on a real database, with a tenant, a client and an account, and every hop."""

    def __init__(self, stores: Stores, url: str, owner: psycopg.Connection[dict[str, Any]]) -> None:
        self.stores = stores
        self.url = url
        self._owner = owner
        self.platform = Platform()
        self.queue = Queue()
        self.buckets = Buckets()
        self.rules = Rules(
            retry=RetryPolicy(budget=5),
            look_delays_seconds=LOOK_DELAYS_SECONDS,
            look_again_seconds=3600.0,
            failed_looks_allowed=3,
        )
        self.targets = PostgresTargets(stores, rules=self.rules, settle_patience_seconds=5.0)
        self.index = PostgresIndex(stores)
        self.central = self.central_index()
        self.machine = MachineCell(stores.cell("default"), prepare_ahead_seconds={})
        self.tenant = factories.make_tenant(stores)
        self.client = factories.make_client(stores, self.tenant)
        self.account = self.new_account()

    # The hops.

    def publisher(self, **changes: Any) -> Publisher:
        return self._made(Publisher, changes)

    def looker(self, **changes: Any) -> Looker:
        return self._made(Looker, changes)

    def relay(self, **changes: Any) -> Relay:
        return self._made(Relay, {"index": self.central, "batch": 500, **changes})

    def central_index(self, **bounds: Any) -> CentralIndex:
        return CentralIndex(self.stores, bounds=DispatchBounds(**bounds))

    def dispatcher(self, **changes: Any) -> Dispatcher:
        return self._made(Dispatcher, changes)

    def sweep(self, **changes: Any) -> CellSweep:
        return self._made(CellSweep, changes)

    def _made(self, hop: Any, changes: Mapping[str, Any]) -> Any:
        """Build a hop from what it asks for, by name."""
        limits = PublishLimits(
            lease_seconds=LEASE_SECONDS,
            publish_deadline_seconds=30.0,
            mark_to_send_seconds=5.0,
            guard_wait_seconds=60.0,
            suspension_grace_hours=24.0,
        )
        known: dict[str, Any] = {
            "targets": self.targets,
            "index": self.index,
            "index_writer": self.central,
            "index_seqs": self.central,
            "outbox": self.machine,
            "overdue": self.machine,
            "due": self.central,
            "queue": self.queue,
            "credentials": NoSecrets(),
            "tokens": NeverEnding(),
            "buckets": self.buckets,
            "places": Places(threads=64, for_each_platform=64),
            "evidence": PostgresEvidence(self.stores),
            "files": NoFiles(),
            "http": self.platform,
            "adapter_for": lambda _platform: self.platform,
            "clock": SystemClock(),
            "back_off": BackOff(clock=SystemClock()),
            "rules": self.rules,
            "limits": limits,
            "worker": "test:1",
            "batch": 200,
            **changes,
        }
        return hop(**{name: known[name] for name in hop.__dataclass_fields__ if name in known})

    def queue_sweep(self) -> QueueSweep:
        return QueueSweep(due=self.central, queue=self.queue, index=self.index)

    def wait_for_older_transactions(self) -> None:
        """Wait until whatever was begun on this server before now has ended, in other tests' databases, too.

        Consumers of events go no further than the oldest transaction that runs anywhere on their server.
        """
        [row] = self.arrange("SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next")
        passed = "SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %(next)s::xid8 AS yes"
        wait_until(
            lambda: self.arrange(passed, next=row["next"])[0]["yes"], seconds=60, what="other transactions"
        )

    def work_off(self) -> list[str]:
        """Relay everything, dispatch what is due, and let a worker have each message, until nothing is left."""
        said: list[str] = []
        for _ in range(20):
            while self.relay().scan():
                pass
            self.dispatcher().scan()
            messages = self.queue.take()
            if not messages:
                return said
            said += [self.handle(message) for message in messages]
        raise AssertionError(f"messages never end: {said}")

    def handle(self, message: Message) -> str:
        if message.kind is NextKind.LOOK:
            return self.looker().look(message)
        return self.publisher().publish(message)

    # Rows.

    def new_account(self, tenant: UUID | None = None, **columns: Any) -> UUID:
        client = self.client if tenant is None else factories.make_client(self.stores, tenant)
        return factories.make_account(self.stores, tenant or self.tenant, client, scopes=SCOPES, **columns)

    def post(self, *, account: UUID | None = None, texts: Sequence[str] = ("Hello",), **more: Any) -> UUID:
        """A post with one target, scheduled for now unless told otherwise; returns the target's id."""
        made = factories.make_post(
            self.stores, self.tenant, self.client, [account or self.account], texts=texts, **more
        )
        return made.target_id

    def row(self, target: UUID) -> dict[str, Any]:
        return factories.read_target(self.stores, self.tenant, target)

    def status(self, target: UUID) -> str:
        return self.row(target)["status"]

    def parts(self, target: UUID) -> list[dict[str, Any]]:
        return self.rows(
            "SELECT * FROM cell.target_parts WHERE target_id = %(id)s ORDER BY part_no", id=target
        )

    def part(self, target: UUID, number: int = 1) -> dict[str, Any]:
        return self.parts(target)[number - 1]

    def attempts(self, target: UUID) -> list[dict[str, Any]]:
        return self.rows(
            "SELECT * FROM cell.publishing_attempts WHERE target_id = %(id)s ORDER BY attempt_no", id=target
        )

    def publications(self, target: UUID) -> list[dict[str, Any]]:
        return self.rows("SELECT * FROM cell.publications WHERE target_id = %(id)s", id=target)

    def history(self, target: UUID) -> list[str]:
        rows = self.rows(
            "SELECT to_status FROM cell.target_history WHERE target_id = %(id)s ORDER BY id", id=target
        )
        return [row["to_status"] for row in rows]

    def rows(self, sql: str, **params: Any) -> list[dict[str, Any]]:
        return factories.rows(self.stores, self.tenant, sql, params)

    def work(self, target: UUID) -> Work:
        work = self.targets.load(self.tenant, target)
        assert work is not None
        return work

    def index_row(self, target: UUID) -> dict[str, Any] | None:
        with self.stores.central.transaction() as session:
            return session.one(
                "SELECT *, extract(epoch FROM ready_at - clock_timestamp())::float8 AS ready_in_seconds"
                " FROM central.publish_dispatch_index WHERE target_id = %(id)s",
                {"id": target},
            )

    def alarms(self) -> list[str]:
        with self.stores.central.transaction() as session:
            rows = session.all("SELECT message FROM central.alarms WHERE resolved_at IS NULL ORDER BY id")
        return [row["message"] for row in rows]

    # Arranging, as the owner of the database: what no runtime role may do.

    @contextmanager
    def owner(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        """Another connection of the owner, in a transaction that the test ends."""
        with psycopg.connect(self.url, row_factory=dict_row) as connection:
            yield connection

    def arrange(self, sql: str, **params: Any) -> list[dict[str, Any]]:
        cursor = self._owner.execute(sql, params)
        return cursor.fetchall() if cursor.description else []

    def arrange_target(self, target: UUID, **columns: Any) -> None:
        """Set columns of a target past the trigger; the CHECK constraints hold."""
        assignments = ", ".join(f"{name} = %({name})s" for name in columns)
        with self._owner.transaction():
            connection = self._owner
            if "status" in columns:
                connection.execute("ALTER TABLE cell.post_targets DISABLE TRIGGER record_move")
            connection.execute(
                f"UPDATE cell.post_targets SET {assignments} WHERE id = %(id)s", {"id": target, **columns}
            )
            if "status" in columns:
                connection.execute("ALTER TABLE cell.post_targets ENABLE TRIGGER record_move")

    def end_lease(self, target: UUID, *, seconds_ago: float = 2.0) -> None:
        self.arrange_target(target, lease_until=datetime.now(UTC) - timedelta(seconds=seconds_ago))

    def taken_for_absent(self, target: UUID) -> None:
        """The claim is lost, every look found nothing, and the target waits for its one retry."""
        self.end_lease(target)
        self.sweep().sweep()
        for _ in LOOK_DELAYS_SECONDS:
            self.time_passes(target, 700.0)
            self.look(target)
        assert self.status(target) == "retry_scheduled"

    def time_passes(self, target: UUID, seconds: float) -> None:
        """Let every instant of a target that counts for its next work lie `seconds` earlier."""
        with self._owner.transaction():
            connection = self._owner
            connection.execute(
                "UPDATE cell.post_targets SET next_at = next_at - %(by)s, lost_at = lost_at - %(by)s,"
                " lease_until = lease_until - %(by)s WHERE id = %(id)s",
                {"id": target, "by": timedelta(seconds=seconds)},
            )
            connection.execute(
                "UPDATE cell.target_parts SET marked_at = marked_at - %(by)s WHERE target_id = %(id)s",
                {"id": target, "by": timedelta(seconds=seconds)},
            )
            connection.execute(
                "UPDATE central.publish_dispatch_index SET due_at = due_at - %(by)s, ready_at = ready_at - %(by)s"
                " WHERE target_id = %(id)s",
                {"id": target, "by": timedelta(seconds=seconds)},
            )

    # Steps of a hop, one at a time.

    def request(self, target: UUID, **changes: Any) -> ClaimRequest:
        row = self.row(target)
        asked: dict[str, Any] = {
            "tenant_id": self.tenant,
            "target_id": target,
            "version_id": row["version_id"],
            "seq": row["seq"],
            "token": new_token(),
            "lease_seconds": LEASE_SECONDS,
            "worker": "test:1",
            "part_no": 1,
            "mark": False,
            "required_scopes": sorted(SCOPES),
            "media_ids": [],
            "limited": False,
        }
        return ClaimRequest(**{**asked, **changes})

    def claim(self, target: UUID, **changes: Any) -> Claim:
        """A claim that must succeed."""
        request = self.request(target, **changes)
        work = self.work(target)
        claimed = self.targets.claim(request)
        assert isinstance(claimed, Claimed), claimed
        return Claim(world=self, target=target, token=request.token, claimed=claimed, work=work)

    def message(self, target: UUID, *, seq: int | None = None, kind: NextKind | None = None) -> Message:
        row = self.row(target)
        return Message(
            tenant_id=self.tenant,
            target_id=target,
            seq=row["seq"] if seq is None else seq,
            kind=kind or NextKind(row["next_kind"] or "publish"),
        )

    def publish(self, target: UUID) -> str:
        """A worker works off the message that is right for the target as it stands."""
        return self.publisher().publish(self.message(target, kind=NextKind.PUBLISH))

    def look(self, target: UUID) -> str:
        return self.looker().look(self.message(target, kind=NextKind.LOOK))

    def lose_answer(self, target: UUID) -> str:
        """Publish, and lose the answer to the request."""
        self.platform.answers.append(lost())
        return self.publish(target)


@dataclass(frozen=True)
class Claim:
    """One claim that a test holds, and what may be done with it."""

    world: World
    target: UUID
    token: UUID
    claimed: Claimed
    work: Work

    def mark(self, part_no: int = 1, **changes: Any) -> Claimed | None:
        asked = {"token": self.token, "part_no": part_no, "lease_seconds": LEASE_SECONDS, **changes}
        return self.world.targets.mark(tenant_id=self.world.tenant, target_id=self.target, **asked)

    def key(self) -> str:
        row = self.world.row(self.target)
        return publication_key(self.target, row["key_instant"] or row["publish_at"], row["version_id"])

    def accepted(self, remote_id: str, part_no: int = 1, **changes: Any) -> Any:
        asked: dict[str, Any] = {
            "work": self.work,
            "token": self.token,
            "part_no": part_no,
            "answer": Accepted(remote_id=remote_id, permalink=f"https://social.example/{remote_id}"),
            "publication_key": self.key(),
            "look_again_seconds": None,
        }
        return self.world.targets.accepted(**{**asked, **changes})

    def late(self, remote_id: str, part_no: int = 1) -> Any:
        """The answer comes after the claim was lost."""
        instant = self.work.target.key_instant or self.work.target.publish_at
        assert instant is not None
        return self.world.targets.late_acceptance(
            work=self.work,
            attempt_no=self.claimed.attempt_no,
            part_no=part_no,
            answer=Accepted(remote_id=remote_id, permalink=f"https://social.example/{remote_id}"),
            publication_key=publication_key(self.target, instant, self.work.target.version_id),
        )

    def settle(self, decide: Callable[..., Any], part_no: int = 1, evidence: Evidence | None = None) -> Any:
        return self.world.targets.settle(
            tenant_id=self.world.tenant,
            target_id=self.target,
            token=self.token,
            part_no=part_no,
            evidence=evidence or Evidence(code="test"),
            decide=decide,
        )


def wait_for_lock(world: World, count: int = 1) -> None:
    """Wait until `count` sessions on the world's database wait for a lock."""
    query = (
        "SELECT count(*) AS waiting FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    wait_until(lambda: world.arrange(query)[0]["waiting"] >= count, what="a lock wait")


def in_seconds(moment: datetime | None) -> float:
    """How far in the future an instant lies."""
    assert moment is not None
    return (moment - datetime.now(UTC)).total_seconds()


def values(mapping: Mapping[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(mapping[name] for name in names)
