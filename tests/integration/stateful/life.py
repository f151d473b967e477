"""Targets' lives on a real database, one step at a time: the machine that Hypothesis drives.

Workers run on a stage (`tests.simulation.stage`), so that one may stand still in the middle of a request or between
two commits, be overtaken, and go on or die. Time passes by moving every instant that counts into the past. After
each step the rows and the ledger must agree with what must always hold; at the end faults cease, everything comes
to rest, and nothing is lost.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from socialq.desk import resolve, schedule
from socialq.domain import local_time
from socialq.domain.errors import InputRefused
from socialq.domain.states import NextKind
from tests.hooked import Hooked
from tests.integration.stateful.ledger import OUTCOMES, LedgerPlatform
from tests.integration.stateful.rare_lives import STORIES, RareLives
from tests.integration.stateful.statements import MARKED, REFUSED, ROWS
from tests.passing_time import PassingClock, let_pass
from tests.simulation.stage import Actor, Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.domain.hops import Message
    from tests.integration.pipeline.world import World

RESTING: Final = frozenset(
    {"published", "failed", "cancelled", "needs_attention", "needs_reconnect", "ready", "draft"}
)
_MOST_ROUNDS: Final = 80
_POINTS: Final = (
    "targets.load",
    "targets.claim",
    "targets.mark",
    "connect",
    "send",
    "targets.accepted",
    "targets.settle",
)
_NOWHERE: Final = "nowhere"


class Life(RareLives, RuleBasedStateMachine):
    """See the module. `make_world` empties the database and returns a world on it."""

    make_world: Callable[[], World]

    def __init__(self) -> None:
        super().__init__()
        self.world = type(self).make_world()
        self.platform = self.world.platform = LedgerPlatform()
        self.platform.before_send = self._before_send
        self.stage = Stage()
        self.clock = PassingClock()
        self.platform.pause = partial(self._at, "send", after=True)
        self.platform.connecting = partial(self._at, "connect", after=False)
        self.accounts = [self.world.account, self.world.new_account()]
        self.targets: list[UUID] = []
        self.text_of: dict[tuple[UUID, int], str] = {}
        self.allowed: Counter[str] = Counter()
        self.before: dict[UUID, dict[str, Any]] = {}
        self.old: list[Message] = []
        self.keys: dict[str, set[str]] = {}
        self.story: str | None = None

    # Workers.

    def _around(self, point: str, step: Callable[[], Any]) -> Any:
        self._at(point, after=False)
        because = self._refused(step) if point == "targets.mark" else None
        result = step()
        assert because is None or result is None, f"marked, though {because}"
        self._at(point, after=True)
        return result

    def _refused(self, mark: partial[Any]) -> str | None:
        """Invariants 1 and 6: why the part that a worker is about to mark may not be sent."""
        asked = mark.keywords
        rows = self.world.arrange(REFUSED, id=asked["target_id"], no=asked["part_no"], token=asked["token"])
        because: str | None = rows[0]["because"]
        return because

    def _at(self, point: str, *, after: bool) -> None:
        actor = self.stage.current
        if actor is not None and actor.context == (point, after):
            actor.context = None
            self.stage.pause(0.0)

    def _before_send(self, body: dict[str, Any]) -> None:
        """Invariants 1 and 4: marked by this attempt, and always under one key."""
        target_id, number = next(key for key, text in self.text_of.items() if text == body["text"])
        [row] = self.world.arrange(MARKED, id=target_id, no=number)
        assert row["open"], "sent without a mark"
        assert row["marked_attempt"] == row["attempt_count"], "sent under another attempt's mark"
        assert row["status"] == "publishing", f"sent while {row['status']}"
        assert row["in_time"], "sent after its lease, or past its publish-by time"
        assert row["due"], "sent before its time"
        assert len(self.keys.setdefault(body["text"], set()) | {body["key"]}) == 1, "the key has changed"
        self.keys[body["text"]].add(body["key"])

    def _handle(self, message: Message, *, pause_at: tuple[str, bool] | None = None) -> None:
        targets = Hooked(self.world.targets, "targets", self._around)
        hop = self.world.looker if message.kind is NextKind.LOOK else self.world.publisher
        work_off = hop(targets=targets, clock=self.clock)
        handle = work_off.look if message.kind is NextKind.LOOK else work_off.publish
        self.stage.start(Actor("worker", context=pause_at), lambda: handle(message))

    # What happens.

    @initialize(
        threads=st.lists(st.sampled_from((1, 1, 1, 2)), min_size=2, max_size=4),
        plan=st.lists(st.sampled_from(OUTCOMES), min_size=3, max_size=8),
        story=st.sampled_from((None, None, None, *STORIES)),
    )
    def begin(self, threads: list[int], plan: list[str], story: str | None) -> None:
        for number, parts in enumerate(threads):
            self._post(number, parts)
        self.platform.plan = plan
        self.story = story

    def _post(self, number: int, parts: int, *, account: UUID | None = None, image: str = "") -> UUID:
        texts = [f"post{number}.{part}{image}" for part in range(1, parts + 1)]
        target = self.world.post(account=account or self.accounts[number % 2], texts=texts)
        self.targets.append(target)
        for part, text in enumerate(texts, start=1):
            self.text_of[target, part] = text
            self.allowed[text] = 1
        return target

    @precondition(lambda self: len(self.targets) < 6)
    @rule()
    def schedule_one_more(self) -> None:
        self._post(len(self.targets), 1)

    @rule(outcome=st.sampled_from(OUTCOMES))
    def platform_will(self, outcome: str) -> None:
        self.platform.plan.append(outcome)

    @rule()
    def relay(self) -> None:
        while self.world.relay().scan():
            pass

    @rule()
    def dispatch(self) -> None:
        self.world.dispatcher().scan()

    @rule(number=st.integers(0, 9), again=st.booleans())
    def deliver(self, number: int, again: bool) -> None:
        """A worker gets a message, any of those that wait; it may come once more later."""
        message = self._taken(number, keep=again)
        if message is not None:
            self._handle(message)

    @rule(number=st.integers(0, 9), point=st.sampled_from(_POINTS), after=st.booleans())
    def deliver_and_stand_still(self, number: int, point: str, after: bool) -> None:
        message = self._taken(number, keep=True)
        if message is not None:
            self._handle(message, pause_at=(point, after))

    @rule()
    def everything_moves(self) -> None:
        """What a quiet moment does: relay, dispatch, and a worker for each message."""
        self.relay()
        self.dispatch()
        for message in self.world.queue.take():
            self._handle(message)

    @rule(
        point=st.sampled_from(_POINTS), after=st.booleans(), crashes=st.booleans(), rounds=st.integers(0, 4)
    )
    def a_worker_is_overtaken(self, point: str, after: bool, crashes: bool, rounds: int) -> None:
        """It stands still past its lease, for good or not; others find out, and go on with its work."""
        self.relay()
        self.dispatch()
        message = self._taken(0, keep=True)
        if message is None:
            return
        self._handle(message, pause_at=(point, after))
        if crashes and self.stage.waiting:
            self.stage.crash(self.stage.waiting[-1])
        for _ in range(rounds):
            self.time_passes(400)
            self.sweep()
            self.everything_moves()
            self.what_must_always_hold()

    @precondition(lambda self: self.old)
    @rule(number=st.integers(0, 9))
    def deliver_an_old_one(self, number: int) -> None:
        self._handle(self.old[number % len(self.old)])

    @precondition(lambda self: self.stage.waiting)
    @rule(number=st.integers(0, 9))
    def go_on(self, number: int) -> None:
        self.stage.resume(self.stage.waiting[number % len(self.stage.waiting)])

    @precondition(lambda self: self.stage.waiting)
    @rule(number=st.integers(0, 9))
    def crash(self, number: int) -> None:
        self.stage.crash(self.stage.waiting[number % len(self.stage.waiting)])

    @rule()
    def lose_messages(self) -> None:
        self.world.queue.take()

    @rule(seconds=st.sampled_from((3, 20, 95, 400, 3700)))
    def time_passes(self, seconds: int) -> None:
        let_pass(seconds, owner=self.world._owner, clock=self.clock)
        if seconds > 20:
            self.platform.accept_what_is_left()

    @rule()
    def sweep(self) -> None:
        self.world.sweep().sweep()
        self.world.queue_sweep().sweep()

    @rule(number=st.integers(0, 9))
    def cancel(self, number: int) -> None:
        self._person(
            lambda target: resolve.cancel(
                self.world.stores, tenant=self.world.tenant, target_id=target, reason="no", actor="person"
            ),
            number,
        )

    @rule(number=st.integers(0, 9), seconds=st.sampled_from((-60, 30)))
    def move(self, number: int, seconds: int) -> None:
        now = datetime.now(UTC)
        at = local_time.resolve(
            (now + timedelta(seconds=seconds)).isoformat(), zone=None, default_zone="UTC", now=now
        )
        self._person(
            lambda target: schedule.reschedule(
                self.world.stores,
                tenant=self.world.tenant,
                target_ids=[target],
                resolved=at,
                now=now,
                actor="person",
            ),
            number,
        )

    @rule(number=st.integers(0, 9))
    def retry(self, number: int) -> None:
        target = self.targets[number % len(self.targets)]
        risked = [part["no"] for part in self._row(target)["parts"] if _open(part)]
        done = self._person(
            lambda target: resolve.retry(
                self.world.stores,
                tenant=self.world.tenant,
                target_id=target,
                now=datetime.now(UTC),
                actor="person",
            ),
            number,
        )
        if done:
            for part_no in risked:
                self.allowed[self.text_of[target, part_no]] += 1

    @rule(number=st.integers(0, 9))
    def mark_published(self, number: int) -> None:
        """A person who sees the post says so."""
        target = self.targets[number % len(self.targets)]
        text = self.text_of[target, 1]
        seen = next((post.id for post in self.platform.ledger if post.text == text), None)
        if seen is not None and (target, 2) not in self.text_of:
            self._person(
                lambda target: resolve.mark_published(
                    self.world.stores,
                    tenant=self.world.tenant,
                    target_id=target,
                    link_or_id=seen,
                    now=datetime.now(UTC),
                    actor="person",
                ),
                number,
            )

    def _person(self, deed: Callable[[UUID], Any], number: int) -> bool:
        try:
            deed(self.targets[number % len(self.targets)])
        except InputRefused:
            return False
        return True

    def _taken(self, number: int, *, keep: bool) -> Message | None:
        waiting = self.world.queue.messages
        if not waiting:
            return None
        message = waiting.pop(number % len(waiting))
        if keep:
            self.old = [*self.old[-5:], message]
        return message

    # What must always hold.

    def _row(self, target: UUID) -> dict[str, Any]:
        return next(row for row in self.world.arrange(ROWS) if row["id"] == target)

    @invariant()
    def what_must_always_hold(self) -> None:
        rows = self.world.arrange(ROWS)
        live = Counter(post.text for post in self.platform.ledger)
        for text, count in live.items():
            assert count <= self.allowed[text], (
                f"{text} is live {count} times, {self.allowed[text]} are allowed"
            )
        holders = Counter(row["account_id"] for row in rows if row["holds_account"])
        assert all(count == 1 for count in holders.values()), "two targets hold one account"
        for row in rows:
            self._check(row, self.before.get(row["id"]))
        self.before = {row["id"]: row for row in rows}

    def _check(self, row: dict[str, Any], before: dict[str, Any] | None) -> None:
        if row["status"] in {"scheduled", "retry_scheduled"}:
            assert not any(_open(part) for part in row["parts"]), "what may be live waits to be sent again"
        if row["status"] == "published":
            known = {post.id for post in self.platform.ledger}
            assert {part["id"] for part in row["parts"]} <= known, "published, and not live"
        if before is None:
            return
        assert row["seq"] >= before["seq"]
        if before["status"] == "published":
            assert row["status"] == "published"
        if before["status"] == "cancelled":
            assert row["status"] in {"cancelled", "published"}
        if before["key_instant"] is not None:
            assert row["key_instant"] == before["key_instant"], "a frozen key instant has changed"
        for part, old in zip(row["parts"], before["parts"], strict=True):
            assert old["id"] in {None, part["id"]}, "a remote id was erased or replaced"

    # The end.

    def teardown(self) -> None:
        try:
            self.a_rare_life()
            self._come_to_rest()
            self._nothing_is_lost()
        finally:
            self.stage.crash_all()

    def _come_to_rest(self) -> None:
        self.platform.plan, self.platform.blind_looks = [], 0
        while self.stage.waiting:
            self.stage.resume(self.stage.waiting[0])
        for _ in range(_MOST_ROUNDS):
            self.platform.accept_what_is_left()
            self.everything_moves()
            self.sweep()
            self.what_must_always_hold()
            if all(row["status"] in RESTING and row["next_kind"] is None for row in self.before.values()):
                return
            self.time_passes(3700)
        raise AssertionError(f"it never comes to rest: {self.before}")

    def _nothing_is_lost(self) -> None:
        """What is live is known, or a target says that it may be live, or a person risked it."""
        ids = {part["id"] for row in self.before.values() for part in row["parts"]}
        seen = {row["remote_id"] for row in self.world.rows("SELECT remote_id FROM cell.sightings")}
        may_be = {
            self.text_of[target, part["no"]]
            for target, row in self.before.items()
            for part in row["parts"]
            if _open(part) and row["status"] in {"needs_attention", "cancelled"}
        }
        for post in self.platform.ledger:
            told = post.text in may_be or self.allowed[post.text] > 1
            assert post.id in ids | seen or told, f"{post} is live, and nobody knows"


def _open(part: dict[str, Any]) -> bool:
    return part["marked"] and not part["cleared"] and part["id"] is None
