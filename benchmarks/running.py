"""What benchmarks share: a stack of real processes, the stub platform, percentiles, and the shape of a report."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import requests

from socialq.local.stack import LocalStack, Wanted
from socialq.wiring import Wiring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


@contextmanager
def running_stack(
    settings: Mapping[str, str], *, wanted: Wanted | None = None
) -> Iterator[tuple[LocalStack, Wiring]]:
    """Run a stack in a folder of its own, without the variables of this shell; fsync stays on."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SOCIALQ_")}
    with tempfile.TemporaryDirectory(prefix="socialq-benchmark-") as home:
        env = {
            **clean,
            "SOCIALQ_HOME": home,
            "SOCIALQ_ALLOW_PRIVATE_ADDRESSES": "true",
            "SOCIALQ_LOG_LEVEL": "warning",
            **settings,
        }
        stack = LocalStack(env=env, wanted=wanted or Wanted(web=False, any_ports=True))
        with stack:
            wiring = Wiring(stack.settings)
            try:
                yield stack, wiring
            finally:
                wiring.stores.dispose()


@contextmanager
def running_stub(*, delay_seconds: float = 0.0) -> Iterator[str]:
    """Run the stub platform, which takes `delay_seconds` for each post; gives its address."""
    with tempfile.TemporaryDirectory(prefix="socialq-stub-") as folder:
        address_file = Path(folder) / "address.json"
        options = ["--address-file", str(address_file), "--delay-seconds", str(delay_seconds)]
        process = subprocess.Popen([sys.executable, "-m", "benchmarks.stub", *options])
        try:
            wait_until(address_file.exists, seconds=10, what="the stub to start")
            yield str(json.loads(address_file.read_text())["url"])
        finally:
            process.terminate()
            process.wait()


def received(stub_url: str) -> list[tuple[str, float]]:
    """Read what the stub received: (text, unix seconds) in the order of arrival."""
    rows = requests.get(f"{stub_url}/_received", timeout=60).json()
    return [(row[0], row[1]) for row in rows]


def most_at_once(stub_url: str) -> int:
    """Read how many posts the stub had under way at the same time, at most."""
    return int(requests.get(f"{stub_url}/_most_at_once", timeout=60).json())


def wait_until(
    condition: Callable[[], bool], *, seconds: float, what: str, pause_seconds: float = 0.05
) -> None:
    """Wait for `condition`; raises TimeoutError naming `what`."""
    give_up_at = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(pause_seconds)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value below which `percent` of `values` lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(percent / 100 * len(ordered) + 0.5) - 1))]


def machine() -> dict[str, object]:
    """Name the machine, for the report."""
    return {"cpus": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}


def report(figures: Mapping[str, object], *, as_json: bool) -> None:
    """Print figures, as JSON or as lines."""
    if as_json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:24} {value}")
