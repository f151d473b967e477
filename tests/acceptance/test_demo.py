"""The demo, as a newcomer runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from socialq.providers.registry import ADAPTERS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.timeout(300)
def test_the_demo_agrees_with_the_ledger(tmp_path: Path) -> None:
    """From an empty folder: nothing doubled, nothing lost, 8 of 10 in the acceptance case, only JSON on stdout."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("SOCIALQ_")}
    command = [sys.executable, "-c", "from socialq.cli import main; main()", "demo", "--json"]
    ran = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=280
    )

    assert ran.returncode == 0, ran.stderr
    numbers = json.loads(ran.stdout)
    assert list(numbers) == [
        "targets",
        "published",
        "failed",
        "uncertain",
        "accepted_calls",
        "duplicates",
        "lost",
        "platforms",
        "asked_a_person",
        "lateness_ms",
        "acceptance",
        "settings",
    ]
    assert numbers["targets"] == numbers["published"] + numbers["failed"] >= 50
    assert (numbers["duplicates"], numbers["lost"]) == (0, 0)
    assert sorted(numbers["platforms"]) == sorted(ADAPTERS)
    # On each the answer to a first post was lost.
    assert all(row["published"] >= 4 and row["uncertain"] for row in numbers["platforms"].values())
    [asked] = numbers["asked_a_person"]
    assert asked["account"].startswith("linkedin:mara-lindqvist-")
    assert "target mark-published" in asked["offered"]
    assert asked["did"].startswith("it is on the page")
    assert set(numbers["lateness_ms"]) == {"p50", "p99"}
    assert numbers["acceptance"] == {
        "published": 8,
        "failed": 2,
        "accepted_calls": 8,
        "post_status": "partially_failed",
    }
