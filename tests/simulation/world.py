"""One simulated run: a world made from a seed, a director that decides who goes on, and the end of all faults.

A step is one of: a process starts on a piece of work, a waiting one goes on or dies, time passes, a person acts,
something outside breaks. Processes wait at their ports' calls, where `Director.around` decides. At the end faults
cease, time runs on until nothing is left to do, and the oracle looks at what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Final
from uuid import UUID

from socialq.domain.clock import ManualClock
from socialq.domain.retry import RetryPolicy
from socialq.domain.settlement import Rules
from socialq.domain.states import TargetStatus
from socialq.domain.targets import PartState, Target
from socialq.domain.work import AccountRow, TenantState
from tests.simulation.cell import Cell
from tests.simulation.central import Central, LossyQueue
from tests.simulation.hops import Hops
from tests.simulation.oracle import Oracle, ViolationError
from tests.simulation.people import People
from tests.simulation.platform import DEADLINE_SECONDS, SCOPES, SimPlatform
from tests.simulation.stage import Actor, Crashed, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from socialq.domain.hops import Message

BEGINNING: Final = datetime(2030, 6, 1, 8, 0, tzinfo=UTC)
STEPS: Final = 160
_ROUNDS_ON_TROUBLED_PLATFORMS: Final = 25
_MOST_DRAIN_ROUNDS: Final = 400
_MOST_WORKERS: Final = 4


@dataclass(kw_only=True)
class Job:
    """What a process works on."""

    message: Message | None = None
    attempt_no: int = 0
    inline: bool = False


class Mood:
    """What a run has more of than others: rare things meet only where each of them is frequent."""

    def __init__(self, rng: Random) -> None:
        self.trouble = rng.choice((0.3, 1.0, 1.6))
        """How often platforms and connections do what they should not."""
        self.pauses = rng.choice((0.06, 0.15, 0.3))
        """How often a process stands still at a port's call."""
        self.pause_seconds = rng.choice(
            ((0.0, 0.5, 4.0, 7.0), (0.0, 0.0, 4.0, 50.0, 120.0), (0.0, 50.0, 200.0))
        )
        self.people = rng.choice((0.02, 0.06, 0.15))
        self.twins = rng.choice((0.0, 0.1, 0.8))
        """The share of posts that have the same text as others."""
        self.threads = rng.choice((0.1, 0.6))
        self.images = rng.choice((0.1, 0.7))
        self.late = rng.choice((0.1, 0.5))
        """Of what goes wrong at a request: how often it is accepted after all, late."""


@dataclass
class World:
    """Everything of one run."""

    seed: int
    without: frozenset[str] = frozenset()
    trace: Callable[[str], None] | None = None
    lines: int = 0
    whole: bool = False
    """Processes, databases and the queue work; platforms may not."""
    calm: bool = False
    """Platforms work, too."""
    cell_down_until: datetime = BEGINNING
    central_down_until: datetime = BEGINNING
    was_cut: bool = False
    """A process died or was cut off where it may have had an alarm to raise."""
    handled: int = 0
    inline_job: Job | None = None
    target_ids: list[UUID] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = self.rng = Random(self.seed)
        self.clock = ManualClock(BEGINNING)
        self.deadline_seconds = DEADLINE_SECONDS
        self.mood = Mood(rng)
        self.rules = Rules(
            retry=RetryPolicy(budget=5),
            look_delays_seconds=(10.0, 60.0, 300.0),
            failed_looks_allowed=4,
            random=rng.random,
        )
        self.cell = Cell(clock=self.clock, rules=self.rules, without=self.without)
        self.central = Central(clock=self.clock)
        self.queue = LossyQueue(rng=rng, tell=self.tell)
        self.platforms = {
            "quick": SimPlatform(platform="quick", world=self, lag_seconds=5.0),
            "slow": SimPlatform(platform="slow", world=self, lag_seconds=400.0),
            "picky": SimPlatform(platform="picky", world=self, refuses_duplicates=True),
            "blind": SimPlatform(platform="blind", world=self, lag_seconds=None),
        }
        self.stage = Stage()
        self.oracle = Oracle(self)
        self.people = People(self)
        self.hops = Hops(self)
        self._populate()

    # Making the world.

    def new_id(self) -> UUID:
        return UUID(int=self.rng.getrandbits(128), version=4)

    def _populate(self) -> None:
        rng = self.rng
        tenants = [self.new_id() for _ in range(rng.randint(1, 2))]
        self.cell.tenants = dict.fromkeys(tenants, TenantState(status="active"))
        accounts = []
        for number in range(rng.randint(1, 3)):
            platform = rng.choice(("quick", "quick", "slow", "picky", "blind"))
            account = AccountRow(
                id=self.new_id(),
                platform=platform,
                handle=f"a{number}",
                base_url="https://sim.example",
                remote_user_id=str(number),
                status="active",
                access_token="-",
                scopes=SCOPES,
            )
            self.cell.accounts[account.id] = account
            accounts.append((account, rng.choice(tenants)))
        for number in range(rng.randint(2, 6)):
            account, tenant = rng.choice(accounts)
            self._post(number, account, tenant)

    def _post(self, number: int, account: AccountRow, tenant: UUID) -> None:
        rng = self.rng
        twin = rng.random() < self.mood.twins
        name = "twin" if twin else f"post{number}"
        texts = [name]
        if not twin and rng.random() < self.mood.threads:
            texts = [f"{name}.{part}" for part in (1, 2, 3)]
        if rng.random() < self.mood.images:
            texts[-1] += "+image"
        version_id, post_id, target_id = self.new_id(), self.new_id(), self.new_id()
        self.compose(version_id, account.id, texts)
        self.cell.approved[post_id] = version_id
        target = Target(
            tenant_id=tenant,
            id=target_id,
            post_id=post_id,
            account_id=account.id,
            platform=account.platform,
            version_id=version_id,
            status=TargetStatus.READY,
            seq=0,
        )
        self.cell.parts[target_id] = tuple(PartState(part_no=n + 1) for n in range(len(texts)))
        self.cell.write(target)
        self.target_ids.append(target_id)
        publish_by_seconds = rng.choice((86400.0, 86400.0, 86400.0, 400.0, 60.0))
        self.people.schedule(target, rng.uniform(0, 90), publish_by_seconds=publish_by_seconds)

    def compose(self, version_id: UUID, account_id: UUID, texts: Sequence[str]) -> None:
        self.cell.contents[version_id] = {"parts": [{"text": text} for text in texts]}
        for text in texts:
            self.oracle.wanted[str(account_id), text] += 1

    def withdraw(self, target: Target) -> None:
        """An edit takes these texts back: none of them has gone out."""
        for part in self.cell.contents[target.version_id]["parts"]:
            self.oracle.wanted[str(target.account_id), part["text"]] -= 1

    def text_of(self, target: Target, part_no: int) -> str:
        return self.cell.contents[target.version_id]["parts"][part_no - 1]["text"]

    def label(self, target_id: UUID) -> str:
        return f"{self.text_of(self.cell.targets[target_id], 1)} on {self.cell.targets[target_id].platform}"

    def platform_of(self, account_id: str) -> SimPlatform:
        return self.platforms[self.cell.accounts[UUID(account_id)].platform]

    def ledger_ids(self) -> set[str]:
        return {post.id for platform in self.platforms.values() for post in platform.ledger}

    # What processes and platforms ask of the world.

    @property
    def job(self) -> Job:
        actor = self.stage.current
        job = self.inline_job if actor is None else actor.context
        assert job is not None
        return job

    def tell(self, line: str) -> None:
        if self.trace is not None:
            self.trace(f"{(self.clock.now() - BEGINNING).total_seconds():9.2f} {line}")

    def strikes(self, probability: float) -> bool:
        return not self.calm and self.rng.random() < probability * self.mood.trouble

    def waits(self, seconds: float) -> None:
        """The process that runs waits so long, or longer."""
        if self.stage.current is not None and not self.whole:
            self.stage.pause(self.clock.monotonic() + seconds)

    def takes_a_while(self, what: str) -> None:
        """The process that runs may stand still or die here."""
        if self.whole:
            return
        roll = self.rng.random()
        if roll < self.mood.pauses:
            self.stand_still()
        elif roll > 0.985:
            self.tell(f"  crash at {what}")
            raise Crashed

    def stand_still(self) -> None:
        """The process that runs waits as long as one does in this run."""
        self.waits(self.rng.choice(self.mood.pause_seconds))

    # One run.

    def run(self) -> None:
        """Live through it; raises whatever did not hold."""
        try:
            for _ in range(STEPS):
                self._step()
                self.oracle.check_changed()
            self._live_on()
            self._drain()
            self.oracle.check_end()
        finally:
            self.stage.crash_all()

    def _step(self) -> None:
        if self.rng.random() < self.mood.people:
            self.people.act()
            return
        roll = self.rng.random()
        if roll < 0.28:
            self._deliver()
        elif roll < 0.48:
            self._go_on()
        elif roll < 0.56:
            self.start("relay", self.hops.relay)
        elif roll < 0.72:
            # What is due right after an event is likely to be dispatched right then.
            self.start("dispatch", self.hops.dispatch)
            self._deliver()
        elif roll < 0.80:
            self.start("sweep", self.hops.sweep)
        elif roll < 0.98:
            self.pass_time(self.rng.choice((0.1, 1.0, 5.0, 10.0, 20.0, 50.0, 70.0, 310.0)))
        else:
            self._break_something()

    def _deliver(self) -> None:
        if sum(actor.name == "worker" for actor in self.stage.waiting) >= _MOST_WORKERS:
            return
        message = self.queue.take()
        if message is not None:
            self.start("worker", lambda: self.hops.work_off(message), message)

    def start(self, name: str, job: Callable[[], None], message: Message | None = None) -> None:
        """Start a process: half of them run through without a pause, which is cheaper and as likely."""
        if message is not None:
            self.handled += 1
            self.tell(f"{name}: {message.kind} of {self.label(message.target_id)} at seq {message.seq}")
        if self.whole or self.rng.random() < 0.4:
            self.inline_job = Job(message=message, inline=True)
            try:
                job()
            except Crashed:
                pass
            finally:
                self.inline_job = None
        else:
            self.stage.start(Actor(name, context=Job(message=message)), job)

    def _go_on(self) -> None:
        now = self.clock.monotonic()
        awake = [actor for actor in self.stage.waiting if actor.wakes_at <= now]
        if awake:
            self.stage.resume(self.rng.choice(awake))

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        for platform in self.platforms.values():
            if platform.later:
                platform.accept_what_is_due()

    def _break_something(self) -> None:
        roll, until = self.rng.random(), self.clock.now() + timedelta(seconds=self.rng.choice((1, 30, 100)))
        if roll < 0.5 and self.stage.waiting:
            actor = self.rng.choice(self.stage.waiting)
            self.tell(f"{actor.name} is killed")
            self.was_cut = True
            self.stage.crash(actor)
        elif roll < 0.75:
            self.tell("messages are lost")
            self.queue.lose()
        elif roll < 0.88:
            self.tell("the cell goes away")
            self.cell_down_until = until
        else:
            self.tell("the central database goes away")
            self.central_down_until = until

    # The end of all faults.

    def _live_on(self) -> None:
        """Our side is whole again, the platforms are not: what takes long in a target's life gets its time."""
        self.tell("our side is whole")
        self.whole = self.queue.calm = True
        self.cell_down_until = self.central_down_until = BEGINNING
        for target_id in self.target_ids:
            self.people.resume(self.cell.targets[target_id])
        for _ in range(_ROUNDS_ON_TROUBLED_PLATFORMS):
            while self.stage.waiting:
                self.stage.resume(self.stage.waiting[0])
            self._work_off()
            if not self._anything_left():
                break
            self.pass_time(max(0.05, self._seconds_to_next()))

    def _drain(self) -> None:
        self.tell("faults cease")
        self.calm = True
        handled = self.handled
        for _ in range(_MOST_DRAIN_ROUNDS):
            while self.stage.waiting:
                self.stage.resume(self.stage.waiting[0])
            self._work_off()
            if self.handled - handled > 40 * len(self.target_ids):
                raise ViolationError("messages go round in circles")
            if not self._anything_left():
                return
            self.pass_time(max(0.05, self._seconds_to_next()))
        raise ViolationError("it never comes to rest")

    def _work_off(self) -> None:
        for job in (self.hops.relay, self.hops.dispatch):
            self.start("drain", job)
        while (message := self.queue.take()) is not None:
            self.start("worker", lambda message=message: self.hops.work_off(message), message)
            self.oracle.check_changed()
        self.start("sweep", self.hops.sweep)
        self.oracle.check_changed()

    def _anything_left(self) -> bool:
        later = any(platform.later for platform in self.platforms.values())
        busy = any(row.next_kind is not None for row in self.cell.targets.values())
        return later or busy or bool(self.cell.events or self.central.evidence or self.queue.messages)

    def _seconds_to_next(self) -> float:
        """Until the next thing that has a time; a second where it has come already."""
        now = self.clock.now()
        times = [at for platform in self.platforms.values() for at, _ in platform.later]
        for row in self.cell.targets.values():
            times += [at for at in (row.lease_until, row.next_at) if at is not None]
        for entry in self.central.entries.values():
            if entry.status == "pending":
                times.append(entry.ready_at)
            elif entry.status == "enqueued" and entry.resend_at is not None:
                times.append(entry.resend_at)
        ahead = [(at - now).total_seconds() for at in times if at > now]
        return min(ahead, default=1.0) + 1.1
