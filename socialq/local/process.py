"""One server process: launched by us as a direct child, or adopted from a supervisor that was killed.

Arrives: a command line. Leaves: a `Server` with a pid, signals, a bounded stop. What must stay true: a
direct child (under a launcher of its own, a killed server stays a zombie and cannot be restarted), in a
session of its own, so that Ctrl-C reaches the workers first and the servers last.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from socialq.local.unavailable import LocalServersUnavailable

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence

    from socialq.local.run_as import RunAs

STEP_SECONDS = 0.01
LOG_ROTATE_BYTES = 16 * 1024 * 1024


class Server(ABC):
    """A running server. ``pid`` and ``port`` are those of the current process."""

    label: ClassVar[str]
    stop_signals: ClassVar[Sequence[tuple[signal.Signals, float]]]
    """The signals of a stop, mildest first, each with the seconds it is given."""

    def __init__(self, *, port: int, log_path: Path, run_as: RunAs) -> None:
        self.port = port
        self.log_path = log_path
        self._run_as = run_as
        self._child: subprocess.Popen[bytes] | None = None
        self._pid = 0

    @property
    def pid(self) -> int:
        """The main process; 0 before the first start."""
        return self._pid

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients connect, with the password."""

    @abstractmethod
    def start(self) -> None:
        """Launch on ``port`` and return once it answers. Raises `LocalServersUnavailable`."""

    def alive(self) -> bool:
        """Whether the process runs; a zombie does not."""
        if self._child is not None:
            return self._child.poll() is None
        return self._pid != 0 and process_runs(self._pid)

    def kill(self, sig: int = signal.SIGKILL) -> None:
        """Send a signal; after SIGKILL, return once the process is gone."""
        if self.alive():
            os.kill(self._pid, sig)
        if sig == signal.SIGKILL:
            wait_until(lambda: not self.alive(), seconds=10)

    def stop(self) -> None:
        """End it, first gently, within seconds. A stopped (SIGSTOP) process is woken to hear it."""
        for sig, seconds in self.stop_signals:
            if not self.alive():
                break
            os.kill(self._pid, signal.SIGCONT)
            os.kill(self._pid, sig)
            wait_until(lambda: not self.alive(), seconds=seconds)
        self._child = None

    def restart(self) -> None:
        """Stop what runs and start again on the same port and data."""
        self.stop()
        self.start()

    def adopt(self, pid: int) -> None:
        """Take over a process that an earlier supervisor launched."""
        self._child, self._pid = None, pid

    def _launch(self, command: Sequence[str], *, keep_open: Sequence[int] = ()) -> None:
        rotate(self.log_path)
        with self.log_path.open("ab") as log:
            self._child = self._run_as.launch(command, log=log, keep_open=keep_open)
        self._pid = self._child.pid

    def _failure(self, what: str) -> LocalServersUnavailable:
        return LocalServersUnavailable(
            f"{self.label} {what}\n{log_tail(self.log_path)}\n(log: {self.log_path})"
        )


def process_runs(pid: int) -> bool:
    """Whether a process, ours or not, runs. Where /proc tells, a zombie counts as gone."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="ascii", errors="replace")
            .rpartition(")")[2]
            .split()[0]
        )
    except (OSError, IndexError):
        return not Path("/proc/self").exists()
    return state not in {"Z", "X"}


def wait_until(condition: Callable[[], bool], *, seconds: float) -> bool:
    """Poll until the condition holds; False if it did not within the time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(STEP_SECONDS)
    return True


def try_lock(descriptor: int) -> bool:
    """Take an exclusive lock on an open file; False if someone has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def log_tail(path: Path, *, lines: int = 12) -> str:
    """The last lines of a log, indented for an error message."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(f"  {line}" for line in text.splitlines()[-lines:])


def rotate(path: Path) -> None:
    """Keep one earlier log once the current one has grown past `LOG_ROTATE_BYTES`."""
    if path.exists() and path.stat().st_size > LOG_ROTATE_BYTES:
        path.replace(path.with_suffix(path.suffix + ".1"))
