"""What a version holds for one account: everybody's, or its own."""

from __future__ import annotations

from typing import Any

import pytest

from socialq.domain.contents import options_of, parts_of

EVERYBODYS: dict[str, Any] = {"visibility": "public", "link_card": {"uri": "https://a.example", "title": "A"}}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, EVERYBODYS),
        ({"visibility": "unlisted"}, {**EVERYBODYS, "visibility": "unlisted"}),
        ({"sensitive": False}, {**EVERYBODYS, "sensitive": False}),
        ({"visibility": None}, {"link_card": EVERYBODYS["link_card"]}),
        ({"poll": None}, EVERYBODYS),
        (
            {"link_card": {"title": "B"}},
            {"visibility": "public", "link_card": {"uri": "https://a.example", "title": "B"}},
        ),
        ({"link_card": {"uri": None, "title": None}}, {"visibility": "public"}),
    ],
)
def test_an_accounts_own_options_go_over_everybodys(own: dict[str, Any], expected: dict[str, Any]) -> None:
    """Name by name, also within one; None takes everybody's back there; nobody else's change."""
    content = {"parts": [{"text": "a"}], "options": EVERYBODYS, "accounts": {"7": {"options": own}}}
    assert options_of(content, "7") == expected
    assert options_of(content, "8") == EVERYBODYS
    assert options_of({"parts": []}, "7") == {}


def test_options_of_its_own_leave_an_account_everybodys_parts() -> None:
    """And parts of its own leave it everybody's options."""
    content: dict[str, Any] = {
        "parts": [{"text": "all"}],
        "options": EVERYBODYS,
        "accounts": {"7": {"options": {"sensitive": True}}, "8": {"parts": [{"text": "own"}]}},
    }
    assert parts_of(content, "7") == [{"text": "all"}]
    assert parts_of(content, "8") == [{"text": "own"}]
    assert options_of(content, "8") == EVERYBODYS
