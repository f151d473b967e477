"""Ids and tokens: UUIDs, unique across tenants and cells without asking anybody.

Row ids are version 7, so that new rows land side by side in their index. Tokens are version 4, so that nobody
guesses one: a claim's token is what lets its holder mark and settle.
"""

from __future__ import annotations

from uuid import UUID, uuid4

from uuid_utils.compat import uuid7

from socialq.domain.errors import InputProblem, InputRefused


def new_id() -> UUID:
    """Return an id for a new row; ids made later sort later, by the millisecond."""
    made: UUID = uuid7()
    return made


def new_token() -> UUID:
    """Return a token for a claim, from the operating system's random source."""
    return uuid4()


def parse_id(text: str, *, field: str) -> UUID:
    """Read an id that a person gave for `field`. Raises `InputRefused`."""
    try:
        return UUID(text.strip())
    except ValueError:
        problem = InputProblem(
            field=field,
            value=text,
            problem="is not an id",
            way_out="copy it from a list, it looks like 0197f0a2-5c1e-7a3b-9d4e-2f6a8b0c1d2e",
        )
        raise InputRefused([problem]) from None
