"""docs/platforms.md says what the adapters do."""

from __future__ import annotations

from pathlib import Path

import pytest

from socialq.providers.registry import ADAPTERS
from socialq.providers.table import page

DOCUMENT = Path(__file__).parents[3] / "docs" / "platforms.md"


def rows(title: str) -> dict[str, dict[str, str]]:
    """Read one table of the page: rows by platform, cells by their heading."""
    section = page().partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    head, _, *body = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {cells[0]: dict(zip(head, cells, strict=True)) for cells in body}


def test_the_document_is_up_to_date() -> None:
    """Run `python -m socialq.providers.table > docs/platforms.md` after a change to an adapter."""
    assert DOCUMENT.read_text("utf-8") == page()


@pytest.mark.parametrize("title", ["How sure it can be", "What may be posted", "Access and limits"])
def test_every_platform_has_a_row_in_every_table(title: str) -> None:
    """In the order of their names, with no empty cell."""
    table = rows(title)
    assert list(table) == sorted(ADAPTERS)
    assert all(cell for row in table.values() for cell in row.values())


def test_what_is_found_by_asking_is_what_the_platforms_are_known_for() -> None:
    """A few facts that anybody can look up."""
    posted, sure = rows("What may be posted"), rows("How sure it can be")
    assert (posted["mastodon"]["longest text²"], posted["mastodon"]["images"]) == ("500", "4")
    assert (posted["linkedin"]["thread"], posted["linkedin"]["first comment"]) == ("no", "yes")
    assert (posted["linkedin"]["longest text²"], posted["linkedin"]["images"]) == ("3,000", "20")
    assert sure["linkedin"]["a post can be looked for"].startswith("on some accounts")
    assert sure["mastodon"]["recognises a repeat by its key"] == "for 1 hour¹"
