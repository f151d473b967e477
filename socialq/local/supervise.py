"""Keeps child processes running: starts, watches, restarts with growing pauses, stops in order.

Arrives: services. Leaves: their pids, and at the end nothing. What must stay true: a child is in a session of
its own, so that Ctrl-C reaches only the supervisor; a child that dies again and again is not restarted in a
tight loop; every wait of a stop is bounded.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from socialq.local.process import rotate, wait_until
from socialq.local.services import STOP_ORDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from socialq.local.services import Service

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 15.0
STEADY_SECONDS: Final = 30.0
"""A child that ran this long starts over with the first pause when it dies."""
LOOK_SECONDS: Final = 0.1


@dataclass(slots=True)
class Child:
    """A service's process, and what became of the earlier ones."""

    service: Service
    process: subprocess.Popen[bytes]
    started_at: float
    log_path: Path
    restarts: int = 0
    pause_seconds: float = FIRST_PAUSE_SECONDS
    start_again_at: float | None = None

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self.process.poll() is None

    def signal(self, sig: int) -> None:
        """Send a signal; one that has ended meanwhile is left alone."""
        if self.alive:
            self.process.send_signal(sig)


@dataclass(slots=True, kw_only=True)
class Supervisor:
    """Runs services as child processes."""

    env: Mapping[str, str]
    cwd: Path
    """Where children run: a folder in which no module of theirs can be shadowed."""
    logs: Path
    restarts: bool = True
    on_change: Callable[[], None] = field(default=lambda: None)
    """Called after a pid changed."""
    on_death: Callable[[Child], None] = field(default=lambda _: None)
    """Called once for each unexpected end of a child."""
    _children: dict[str, Child] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _watcher: threading.Thread | None = None

    @property
    def children(self) -> dict[str, Child]:
        """Every child by its service's name."""
        with self._lock:
            return dict(self._children)

    @property
    def pids(self) -> dict[str, int]:
        """The pids of those that run, by name."""
        return {name: child.process.pid for name, child in self.children.items() if child.alive}

    def start(self, service: Service) -> Child:
        """Start a service, or start it again under the same name."""
        with self._lock:
            known = self._children.get(service.name)
            if known is not None and known.alive:
                raise ValueError(f"{service.name} runs already")
            log_path = self.logs / f"{service.name}.log"
            child = Child(
                service=service,
                process=self._launch(service, log_path),
                started_at=time.monotonic(),
                log_path=log_path,
                restarts=0 if known is None else known.restarts + 1,
            )
            self._children[service.name] = child
        self.on_change()
        return child

    def kill(self, name: str, sig: int = signal.SIGKILL) -> None:
        """Send a signal to a child; after SIGKILL return once it is gone."""
        child = self.children[name]
        process = child.process
        if process.poll() is None:
            process.send_signal(sig)
        if sig == signal.SIGKILL:
            wait_until(lambda: process.poll() is not None, seconds=10)

    def tend(self) -> None:
        """Look once at every child; start those again whose pause is over."""
        now = time.monotonic()
        for child in self.children.values():
            if child.alive or self._ended.is_set():
                continue
            if child.start_again_at is None:
                self._plan_restart(child, now)
            elif self.restarts and now >= child.start_again_at:
                self._start_again(child)

    def watch(self) -> None:
        """Tend in a thread of its own until `stop`."""
        self._watcher = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._watcher.start()

    def stop(self, *, hurry: Callable[[], bool] = lambda: False) -> None:
        """End every child, in order, each within its grace. Where `hurry` says yes, at once."""
        self._ended.set()
        if self._watcher is not None:
            self._watcher.join()
        with self._lock:
            for roles in STOP_ORDER:
                self._stop_some(
                    [child for child in self._children.values() if child.service.role in roles], hurry
                )
            self._children.clear()

    def _launch(self, service: Service, log_path: Path) -> subprocess.Popen[bytes]:
        self.logs.mkdir(parents=True, exist_ok=True)
        rotate(log_path)
        with log_path.open("ab") as log:
            return subprocess.Popen(
                service.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.cwd,
                env=dict(self.env),
                start_new_session=True,
            )

    def _plan_restart(self, child: Child, now: float) -> None:
        if now - child.started_at > STEADY_SECONDS:
            child.pause_seconds = FIRST_PAUSE_SECONDS
        child.start_again_at = now + child.pause_seconds
        child.pause_seconds = min(child.pause_seconds * 2, LONGEST_PAUSE_SECONDS)
        self.on_death(child)
        self.on_change()

    def _start_again(self, child: Child) -> None:
        with self._lock:
            child.process = self._launch(child.service, child.log_path)
            child.started_at, child.start_again_at = time.monotonic(), None
            child.restarts += 1
        self.on_change()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            self.tend()

    def _stop_some(self, children: list[Child], hurry: Callable[[], bool]) -> None:
        for child in children:
            child.signal(signal.SIGCONT)
            child.signal(signal.SIGTERM)
        began = time.monotonic()
        for child in children:
            left = max(0.1, began + child.service.grace_seconds - time.monotonic())
            wait_until(lambda child=child: not child.alive or hurry(), seconds=left)  # type: ignore[misc]
            if child.alive:
                end_group(child.process.pid)
            child.process.wait()


def end_group(pid: int) -> None:
    """Kill a child with whatever it has started itself: it leads its session's only process group."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def group_runs(pid: int) -> bool:
    """Whether any process of a child's group is left."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True
