"""What a person should know of a Facebook post at compose, though it would go out.

Parts arrive; `Problem`s leave. Pure: Facebook lets only approved applications ask for other pages by name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from socialq.providers.base import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.providers.base import Part

_MENTION: Final = re.compile(r"(?<![\w@./=&-])@(?P<name>[\w.]*\w)")


def plain_mentions(parts: Sequence[Part]) -> list[Problem]:
    """Name each `@name`: Facebook makes a link only of mentions that a person picks on its own pages."""
    names = dict.fromkeys(found["name"] for part in parts for found in _MENTION.finditer(part.text))
    return [_problem(name) for name in names]


def _problem(name: str) -> Problem:
    message = f"Facebook will show @{name} as plain text, without a link to anybody: write the name as people read it."
    return Problem(field="text", code="plain_mention", message=message)
