"""The demo's second calendar: every platform, and every kind of content that the demo promises to show."""

from __future__ import annotations

from pathlib import Path

from socialq.cli.demo.channels import BLIND, Simulated, named_in
from socialq.cli.demo.story import LOST_ANSWER_ACCOUNTS
from socialq.domain.calendar_csv import parse
from socialq.providers.registry import ADAPTERS

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_calendar_of_seven_platforms_is_sound() -> None:
    """All platforms, a carousel, a thread, a video, first comments, a link; every file is there."""
    parsed = parse((EXAMPLES / "seven_platforms.csv").read_bytes())

    assert (parsed.problems, parsed.warnings) == ([], [])
    assert {name.platform for name in named_in(parsed.rows)} == set(ADAPTERS)
    assert BLIND in named_in(parsed.rows)
    assert any(len(row.media) > 2 for row in parsed.rows)
    assert any(len(row.segments) > 2 for row in parsed.rows)
    assert any(file.endswith(".mp4") for row in parsed.rows for file in row.media)
    assert sum(bool(row.first_comment) for row in parsed.rows) >= 2
    assert any("https://" in row.text for row in parsed.rows)
    assert all((EXAMPLES / file).is_file() for row in parsed.rows for file in row.media)


def test_an_answer_is_lost_on_every_platform() -> None:
    """On one account of each, and on the one that nobody can look through."""
    assert {name.platform for name in LOST_ANSWER_ACCOUNTS} == set(ADAPTERS)
    assert BLIND not in LOST_ANSWER_ACCOUNTS
    assert Simulated("linkedin", "quillmoss") in LOST_ANSWER_ACCOUNTS
