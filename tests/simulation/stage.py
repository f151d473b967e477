"""Processes that take turns: one runs at any time, and says itself where it may be made to wait.

Every process is a thread, for the sake of its stack, but only the holder of the baton runs, and it gives it back
only in `pause` or at its end. So a run depends on nothing but the order in which the director resumes them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Crashed(BaseException):
    """The process is gone: nothing of the product may catch this."""


class _Hand:
    """A thread that runs one process after the other, each only while it has the baton."""

    def __init__(self) -> None:
        self.go, self.back = threading.Lock(), threading.Lock()
        self.go.acquire()
        self.back.acquire()
        self.job: Callable[[], None] | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            self.go.acquire()
            job, self.job = self.job, None
            assert job is not None
            job()
            self.back.release()

    def hand_over(self) -> None:
        """Let the thread run until it gives the baton back."""
        self.go.release()
        self.back.acquire()


_idle: list[_Hand] = []
"""Hands that have nothing to do, kept from run to run: a thread costs more than a step."""


@dataclass(eq=False)
class Actor:
    """One process at one piece of work."""

    name: str
    context: Any = None
    wakes_at: float = 0.0
    """Simulated seconds before which it is not resumed."""
    done: bool = False
    doomed: bool = False
    error: BaseException | None = None
    hand: _Hand | None = field(default=None, repr=False)


class Stage:
    """Starts, resumes and ends actors; `current` is the one that runs."""

    def __init__(self) -> None:
        self.current: Actor | None = None
        self.waiting: list[Actor] = []

    def start(self, actor: Actor, job: Callable[[], None]) -> None:
        """Run an actor until it waits or ends."""
        hand = _idle.pop() if _idle else _Hand()
        actor.hand = hand

        def run() -> None:
            try:
                job()
            except Crashed:
                pass
            except BaseException as error:  # noqa: BLE001 - the director raises it again
                actor.error = error
            actor.done = True

        hand.job = run
        self._let_run(actor)

    def resume(self, actor: Actor) -> None:
        """Let a waiting actor go on until it waits again or ends."""
        self.waiting.remove(actor)
        self._let_run(actor)

    def crash(self, actor: Actor) -> None:
        """End a waiting actor where it stands."""
        actor.doomed = True
        self.resume(actor)

    def crash_all(self) -> None:
        """End every waiting actor, so that the run leaves no thread behind."""
        while self.waiting:
            self.crash(self.waiting[0])

    def pause(self, wakes_at: float) -> None:
        """Wait, as the actor that runs, until the director resumes it."""
        actor = self.current
        assert actor is not None
        assert actor.hand is not None
        if actor.doomed:
            raise Crashed
        actor.wakes_at = wakes_at
        self.waiting.append(actor)
        actor.hand.back.release()
        actor.hand.go.acquire()
        if actor.doomed:
            raise Crashed

    def _let_run(self, actor: Actor) -> None:
        assert actor.hand is not None
        before, self.current = self.current, actor
        actor.hand.hand_over()
        self.current = before
        if actor.done:
            _idle.append(actor.hand)
            actor.hand = None
            if actor.error is not None:
                raise actor.error
