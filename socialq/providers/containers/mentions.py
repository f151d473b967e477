"""Mentions in a text that goes out from a container: nobody can be asked whether there is such an account.

Parts arrive; `Problem`s leave. Pure: these platforms look names up only for applications that were approved for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from socialq.providers.base import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.providers.base import Part

_MENTION: Final = re.compile(r"(?<![\w@./=&-])@(?P<name>[A-Za-z0-9_.]*[A-Za-z0-9_])")


def unchecked_mentions(parts: Sequence[Part], *, label: str) -> list[Problem]:
    """Name each `@name` once: it becomes a link only if an account is called exactly that."""
    found = (mention["name"] for part in parts for mention in _MENTION.finditer(part.text))
    names: dict[str, str] = {}
    for name in found:
        names.setdefault(name.lower(), name)
    return [_problem(name, label) for name in names.values()]


def _problem(name: str, label: str) -> Problem:
    message = (
        f"Nobody here can check @{name} on {label}: it becomes a link only if an account there has this name, so look "
        "at how it is spelled."
    )
    return Problem(field="text", code="mention_unchecked", message=message)
