"""The processes of socialq on one machine, as data: what each is called and how it is started.

Arrives: names, counts, addresses. Leaves: a `Service` with its command line. What must stay true: the commands
are the ones that an operator would type, with this very Python; none depends on the folder it is started from.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from pathlib import Path

Role = Literal["beat", "watch", "control", "publishing", "preparing", "web", "flower", "sandbox"]

STOP_ORDER: Final[tuple[tuple[Role, ...], ...]] = (
    ("watch",),
    ("beat", "control", "publishing", "preparing"),
    ("web", "flower"),
    ("sandbox",),
)
"""Who is stopped together, first things first: nobody alarms at a stop that is meant; workers drain while the
platforms still answer them."""

WORKERS: Final[frozenset[Role]] = frozenset({"control", "publishing", "preparing"})
"""The roles that Celery answers a ping for."""

# Quiet: Celery prints a banner, and ends when the disk of its log is full.
_APP: Final = ("-m", "celery", "-q", "-A", "socialq.worker")
# No mingle and no gossip: workers need nothing of each other, and start a second sooner without.
_QUIET: Final = ("--without-mingle", "--without-gossip")
_SHORT_GRACE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One process to run."""

    name: str
    """Unique on this machine: `publishing-2`; its log file and its Celery node are named so."""
    role: Role
    command: tuple[str, ...]
    grace_seconds: float
    """From SIGTERM to SIGKILL."""


def beat(number: int, *, home: Path) -> Service:
    """Build a beat; any number may run."""
    name = f"beat-{number}"
    options = ("--schedule", str(home / f"{name}-schedule"), "--pidfile", "")
    return Service(
        name=name,
        role="beat",
        command=(sys.executable, *_APP, "beat", *options),
        grace_seconds=_SHORT_GRACE_SECONDS,
    )


def watch() -> Service:
    """Build the watch: it needs neither beat nor workers, and tells when they are gone."""
    return Service(
        name="watch",
        role="watch",
        command=(sys.executable, "-c", "from socialq.cli import main; main()", "watch"),
        grace_seconds=_SHORT_GRACE_SECONDS,
    )


def worker(
    role: Literal["control", "publishing", "preparing"],
    number: int,
    *,
    concurrency: int,
    drain_seconds: float,
) -> Service:
    """Build a worker of one queue, on threads: what it does is mostly waiting for networks."""
    name = f"{role}-{number}"
    options = ("-Q", role, "-P", "threads", "-c", str(concurrency), "-n", f"{name}@%h", *_QUIET)
    return Service(
        name=name,
        role=role,
        command=(sys.executable, *_APP, "worker", *options),
        # Longer than the drain, so that the worker ends by itself.
        grace_seconds=drain_seconds + _SHORT_GRACE_SECONDS,
    )


def web(*, host: str, port: int) -> Service:
    """Build the web, on gunicorn."""
    options = ("--bind", f"{host}:{port}", "--workers", "1", "--threads", "8", "--no-control-socket")
    return Service(
        name="web",
        role="web",
        command=(sys.executable, "-m", "gunicorn", *options, "socialq.web:create_app()"),
        grace_seconds=_SHORT_GRACE_SECONDS,
    )


def flower(*, port: int) -> Service:
    """Build Flower on loopback: it has no login of its own."""
    options = ("--address=127.0.0.1", f"--port={port}")
    return Service(
        name="flower",
        role="flower",
        command=(sys.executable, *_APP, "flower", *options),
        grace_seconds=_SHORT_GRACE_SECONDS,
    )


def sandbox(*, port: int, data: Path, address_file: Path) -> Service:
    """Build the sandbox; its address is in `address_file` once it answers."""
    options = ("--port", str(port), "--data", str(data), "--address-file", str(address_file))
    return Service(
        name="sandbox",
        role="sandbox",
        command=(sys.executable, "-m", "socialq.sandbox", *options),
        grace_seconds=_SHORT_GRACE_SECONDS,
    )
