"""What the documents name as their proof is there: every test file, and every test in it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted((ROOT / "docs").glob("**/*.md"))
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
ELSEWHERE = "## What went wrong elsewhere\n"
NUMBERS = {
    "A": (1, 2, 4, 5, 6, 8, 11, 12, 14, 15),
    "B": (17, 18, 19, 20, 22, 24),
    "C": (25, 26, 27),
    "D": (29, 31, 32, 33),
    "E": (34, 36, 37, 38, 39, 40, 42, 43),
    "F": (44, 45, 47, 48),
    "G": (50, 51, 53, 54, 55, 56, 57),
}
CASES = [f"{group}{number}" for group, numbers in NUMBERS.items() for number in numbers]
"""Reports of others that socialq is held to."""


@cache
def named_in(path: str) -> frozenset[str]:
    """The tests that a file of this repository has; none where it is not there."""
    file = ROOT / path
    if not file.exists():
        return frozenset()
    return frozenset(re.findall(r"^(?:async )?def (test_\w+)", file.read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_that_a_document_names_is_there(document: Path):
    """By its file, and by its name where that is given."""
    missing = [
        f"{path}::{name}" if name else path
        for path, name in NAMED.findall(document.read_text("utf-8"))
        if not named_in(path) or (name and name not in named_in(path))
    ]
    assert missing == []


def test_every_case_of_others_has_a_row_and_a_test():
    """What went wrong elsewhere, what is done here, and at least one test by its full name."""
    section = (ROOT / "docs" / "reliability.md").read_text("utf-8").partition(ELSEWHERE)[2]
    lines = section.partition("\n## ")[0].splitlines()
    rows = [line.strip("|").split("|") for line in lines if re.match(r"\| [A-G]\d", line)]
    assert [row[0].strip() for row in rows] == CASES
    assert all(len(row) == 4 and all(cell.strip() for cell in row) for row in rows)
    assert all(any(name for _, name in NAMED.findall(row[3])) for row in rows)
