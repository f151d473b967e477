"""Lives that chance seldom leads, step by step: a worker stands still at the one point where it does harm.

Each is of a target of its own on an account of its own, among whatever else is under way. What must hold is said by the
machine that leads them (`life`): nothing is asserted here.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from tests.integration.stateful.ledger import IMAGE

if TYPE_CHECKING:
    from uuid import UUID

    from tests.simulation.stage import Actor

STORIES: Final = ("late_mark", "two_marks", "late_answer", "moved", "withdrawn", "too_late")


class RareLives:
    """Of `life.Life`: two in three of its examples end with one of these lives, in whatever state they have come to."""

    story: str | None

    def a_rare_life(self: Any) -> None:
        """Lead the life that was drawn, if one was, with a platform that does nothing else."""
        if self.story is None:
            return
        self.platform.plan = []
        account = self.world.new_account()
        parts = 2 if self.story == "late_answer" else 1
        target = self._post(len(self.targets), parts, account=account, image=IMAGE)
        getattr(self, f"_{self.story}")(target)

    def _late_mark(self: Any, target: UUID) -> None:
        """It stands still while it connects until its lease is over, and nobody has swept yet."""
        worker = self._stands_before(target, "connect")
        self.time_passes(400)
        self._goes_on(worker)

    def _two_marks(self: Any, target: UUID) -> None:
        """It is overtaken while it connects by another, which stands there as well; the next answer is lost."""
        first = self._stands_before(target, "connect")
        self.time_passes(400)
        self.sweep()
        self.time_passes(400)
        second = self._stands_before(target, "connect")
        self.platform.plan.insert(0, "accept_and_lose")
        self._goes_on(first)
        self._goes_on(second)

    def _late_answer(self: Any, target: UUID) -> None:
        """An acceptance is read when nobody could look for it, a person risked a second one, and that is under way."""
        self.platform.plan.insert(0, "accept")
        first = self._stands_before(target, "send", after=True)
        self.platform.blind_looks = 20
        for _ in range(5):
            self.time_passes(400)
            self.sweep()
            self.everything_moves()
        self.platform.blind_looks = 0
        self.retry(self.targets.index(target))
        second = self._stands_before(target, "targets.mark")
        self._goes_on(first)
        self._goes_on(second)

    def _moved(self: Any, target: UUID) -> None:
        """A person gives it a later time while a worker has it in hand."""
        worker = self._stands_before(target, "targets.load", after=True)
        self.move(self.targets.index(target), 30)
        self._goes_on(worker)

    def _withdrawn(self: Any, target: UUID) -> None:
        """A person withdraws it right before its mark."""
        worker = self._stands_before(target, "targets.mark")
        self.cancel(self.targets.index(target))
        self._goes_on(worker)

    def _too_late(self: Any, target: UUID) -> None:
        """Its publish-by time passes right before its mark, and well within the lease."""
        worker = self._stands_before(target, "targets.mark")
        now = datetime.now(UTC)
        past = {"publish_at": now - timedelta(minutes=1), "publish_by": now - timedelta(seconds=10)}
        self.world.arrange_target(target, **past)
        self._goes_on(worker)

    def _stands_before(self: Any, target: UUID, point: str, *, after: bool = False) -> Actor | None:
        """A worker works off the target's message up to a point; None: there is none, or it did not come there."""
        # What another has uploaded is gone, so that its claim is not the mark.
        self.world.arrange("UPDATE cell.target_parts SET prepared = '{}' WHERE target_id = %(id)s", id=target)
        self.relay()
        self.dispatch()
        message = next((one for one in self.world.queue.messages if one.target_id == target), None)
        if message is None:
            return None
        self.world.queue.messages.remove(message)
        waited = list(self.stage.waiting)
        self._handle(message, pause_at=(point, after))
        return next((one for one in self.stage.waiting if one not in waited), None)

    def _goes_on(self: Any, worker: Actor | None) -> None:
        if worker in self.stage.waiting:
            self.stage.resume(worker)
        self.what_must_always_hold()
