"""The demo's own home and environment: fresh each time, with shortened waits."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from socialq.cli.failures import Failure
from socialq.local import LocalServers, LocalServersUnavailable
from socialq.local.process import try_lock

SHORTENED: Final[dict[str, str]] = {
    "SOCIALQ_LOOK_DELAYS_SECONDS": "1,2,4",
    "SOCIALQ_RETRY_BASE_SECONDS": "2",
    "SOCIALQ_RETRY_CAP_SECONDS": "10",
    "SOCIALQ_RESEND_BASE_SECONDS": "3",
    "SOCIALQ_RESEND_CAP_SECONDS": "30",
    "SOCIALQ_LEASE_SECONDS": "15",
    "SOCIALQ_PUBLISH_DEADLINE_SECONDS": "4",
    "SOCIALQ_MARK_TO_SEND_SECONDS": "0.9",
    "SOCIALQ_CONNECT_TIMEOUT_SECONDS": "2",
    "SOCIALQ_GUARD_WAIT_SECONDS": "2",
    "SOCIALQ_RESCAN_SECONDS": "1",
    "SOCIALQ_DRAIN_SECONDS": "5",
}
"""Waits that a real day has time for and half a minute has not. The report names them."""

_OTHERS: Final = {"SOCIALQ_ALLOW_PRIVATE_ADDRESSES": "true", "SOCIALQ_PUBLISHING_CONCURRENCY": "16"}


def shortened_settings() -> dict[str, object]:
    """Return the shortened waits by their settings' names, as numbers."""
    return {
        name.removeprefix("SOCIALQ_").lower(): [float(part) for part in value.split(",")]
        if "," in value
        else float(value)
        for name, value in SHORTENED.items()
    }


def environment(home: Path) -> dict[str, str]:
    """Build the demo's environment: nothing of the caller's settings goes into it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SOCIALQ_")}
    return {**inherited, **SHORTENED, **_OTHERS, "SOCIALQ_HOME": str(home)}


def fresh_home() -> Path:
    """Clear the demo's home and return it. Raises `Failure` if another demo runs in it."""
    base = Path(os.environ.get("SOCIALQ_HOME") or ".socialq").expanduser().absolute()
    home = base / "demo"
    if home.exists():
        _refuse_if_running(home)
        _end_servers(home)
        shutil.rmtree(home, ignore_errors=True)
    return home


def examples() -> Path:
    """Return the folder of the examples. Raises `Failure` if it did not come along."""
    import socialq

    for root in (*(Path(path).parent for path in socialq.__path__), Path.cwd()):
        if (root / "examples" / "launch_week.csv").is_file():
            return root / "examples"
    raise Failure(
        "Error: examples/launch_week.csv is not here: run the demo from a checkout of the repository"
    )


def _refuse_if_running(home: Path) -> None:
    lock = home / "up.lock"
    if not lock.exists():
        return
    with lock.open("rb+") as held:
        if not try_lock(held.fileno()):
            raise Failure(f"Error: another demo runs in {home}: wait for it, or set SOCIALQ_HOME elsewhere")


def _end_servers(home: Path) -> None:
    """End servers that outlived a demo which was killed, and delete what they keep, wherever it is."""
    if not (home / "servers.json").exists():
        return
    try:
        LocalServers(home).start().discard()
    except LocalServersUnavailable:
        # Nothing of a broken run is worth more than a fresh start.
        return
