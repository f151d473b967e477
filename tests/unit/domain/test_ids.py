"""Ids and tokens."""

from __future__ import annotations

from uuid import UUID

import pytest

from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id, new_token, parse_id


def test_ids_sort_by_when_they_were_made() -> None:
    """New rows land at the end of their index."""
    made = [new_id() for _ in range(1000)]
    assert made == sorted(made)
    assert len(set(made)) == 1000
    assert {(type(one), one.version) for one in made} == {(UUID, 7)}


def test_tokens_are_random() -> None:
    """A token says nothing of when it was made, and none comes twice."""
    made = [new_token() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert {one.version for one in made} == {4}
    assert made != sorted(made)


def test_an_id_from_a_person_is_read_or_refused() -> None:
    """Blanks and upper case are forgiven, anything else names the field."""
    one = new_id()
    assert parse_id(f" {str(one).upper()} ", field="TARGET") == one
    with pytest.raises(InputRefused, match='TARGET "12": is not an id'):
        parse_id("12", field="TARGET")
