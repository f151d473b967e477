"""Steps that run at the same moment, or while something else happens, and waiting for what must come true."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def race(*steps: Callable[[], Any], timeout_seconds: float = 20.0) -> list[Any]:
    """Run steps at the same moment, each on its own thread; returns each one's result or exception."""
    barrier = threading.Barrier(len(steps))
    results: list[Any] = [None] * len(steps)

    def run(number: int, step: Callable[[], Any]) -> None:
        barrier.wait(timeout_seconds)
        try:
            results[number] = step()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            results[number] = error

    threads = [
        threading.Thread(target=run, args=(number, step), daemon=True) for number, step in enumerate(steps)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_seconds)
        assert not thread.is_alive(), "a racing step did not end"
    return results


@dataclass
class Background:
    """A step that runs on its own thread until it is joined."""

    step: Callable[[], Any]
    result: Any = None

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self.step()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.result = error

    def join(self, seconds: float = 20.0) -> Any:
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "a step in the background did not end"
        return self.result


def wait_until(true: Callable[[], Any], *, seconds: float = 10.0, what: str = "it") -> Any:
    """Poll until something is true; fails at the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        got = true()
        if got:
            return got
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds} s"
        time.sleep(0.01)
