"""How many cases each platform has, and what they came to, for the end of a test run.

Arrives: the node ids of the reports by outcome, as pytest's terminal reporter keeps them (also of distributed
workers). Leaves: one line per platform. A case belongs to the platform that its parameters name, else to the
one its file names; what names none is no platform's.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from socialq.providers.registry import ADAPTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OUTCOMES = ("passed", "failed", "error", "skipped")
_PARAMETERS = re.compile(r"\[(.*)\]$", re.DOTALL)
_FILE = re.compile(r"test_(?:sandbox_)?([a-z]+)(?:_clients)?\.py$")


def platform_of(node_id: str) -> str | None:
    """Return the platform whose case this is, or None."""
    path, _, name = node_id.partition("::")
    parameters = _PARAMETERS.search(name)
    for word in parameters.group(1).split("-") if parameters else ():
        if word in ADAPTERS:
            return word
    file = _FILE.search(path)
    return file.group(1) if file and file.group(1) in ADAPTERS else None


def lines(node_ids: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a line per platform that has cases: `bluesky: 130 cases: 128 passed, 2 skipped`."""
    counts: dict[str, Counter[str]] = {}
    for outcome in OUTCOMES:
        for node_id in node_ids.get(outcome, ()):
            platform = platform_of(node_id)
            if platform:
                counts.setdefault(platform, Counter())[outcome] += 1
    return [
        f"{platform}: {counts[platform].total()} cases: {_told(counts[platform])}"
        for platform in sorted(counts)
    ]


def _told(counted: Counter[str]) -> str:
    return ", ".join(f"{counted[outcome]} {outcome}" for outcome in OUTCOMES if counted[outcome])
