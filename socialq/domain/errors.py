"""What is said when a person's input can't be taken: which field, what was there, what is wrong, the way out.

Every refusal of input carries its problems in this one shape, so that the command line, the API and the panel
say the same. What a person typed is shown shortened, on one line, without control characters and without the
password of an address: it ends up on terminals and in logs.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_JOINERS = frozenset("\u200c\u200d")
"""Format characters that belong to words and emoji, and do nothing to a terminal."""
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_CREDENTIALS = re.compile(r"(?<=//)[^/?#\s]*@")


def shown(value: object, *, limit: int = 60) -> str:
    """Return `value` fit for a message: one line, `limit` characters, nothing a terminal would obey."""
    text = _CREDENTIALS.sub("…@", str(value))
    # Cut before escaping, so that no escape is cut in half.
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(_escaped(character) for character in cut)


def _escaped(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _UNSAFE_CATEGORIES:
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


@dataclass(frozen=True, slots=True)
class InputProblem:
    """One thing that is wrong with what a person gave."""

    field: str
    """The name the person knows it by: an option, a column, a key of the request."""
    value: str
    """What was there, made fit to show; empty where nothing was, or where it must not be repeated."""
    problem: str
    """What is wrong, as a clause that follows the value: "is not a date and time"."""
    way_out: str
    """What to do about it, as an instruction."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", shown(self.value))

    def __str__(self) -> str:
        value = f' "{self.value}"' if self.value else ""
        return f"{self.field}{value}: {self.problem}; {self.way_out}"


class InputRefused(Exception):  # noqa: N818 - named for what happened; nothing is broken
    """A person's input can't be taken. Carries every problem found, not only the first."""

    def __init__(self, problems: Iterable[InputProblem]) -> None:
        """Keep `problems`; there is at least one, or refusing was a bug."""
        self.problems: tuple[InputProblem, ...] = tuple(problems)
        if not self.problems:
            raise ValueError("input is refused for a reason, and none was given")
        super().__init__("\n".join(str(problem) for problem in self.problems))


class BadTime(InputRefused):
    """A date, time or zone can't be taken."""

    def __init__(self, *, field: str, value: str, problem: str, way_out: str) -> None:
        """Refuse one value, for one reason."""
        super().__init__([InputProblem(field=field, value=value, problem=problem, way_out=way_out)])
