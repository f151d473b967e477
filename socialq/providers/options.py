"""What a person may choose for a post beside text and files: each adapter declares its options as data.

Arrives: nothing, or a choice as a person writes it. Leaves: the options of a platform, or the value that adapters
take. Pure. What must stay true: help, refusals and the page on platforms are made of the same declarations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never

Kind = Literal["text", "choice", "choices", "words", "yes or no", "number"]

_YES: Final = frozenset({"yes", "true", "on", "1"})
_NO: Final = frozenset({"no", "false", "off", "0"})


@dataclass(frozen=True, slots=True)
class Option:
    """One option of one platform."""

    name: str
    """As it stands in a version's options; a dot divides what is nested, such as `link_card.uri`."""
    kind: Kind
    says: str
    """What it does, in one sentence."""
    allowed: tuple[str, ...] = ()
    """The values of a choice; empty: any of its kind."""


class UnreadableOptionError(ValueError):
    """A value is not of the option's kind; its text says what is taken."""


def read_value(option: Option, written: str) -> Any:
    """Read a value as a person writes it; whether the platform takes it is its adapter's to say."""
    text = written.strip()
    match option.kind:
        case "yes or no":
            if text.casefold() in _YES | _NO:
                return text.casefold() in _YES
            raise UnreadableOptionError(f"{option.name} takes yes or no")
        case "number":
            if text.isascii() and text.isdecimal() and len(text) <= 15:
                return int(text)
            raise UnreadableOptionError(f"{option.name} takes a whole number")
        case "choices" | "words":
            return [word.strip() for word in text.split(",") if word.strip()]
        case "text" | "choice":
            return text
        case _:
            assert_never(option.kind)
