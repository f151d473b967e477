r"""LinkedIn's "little text": plain text in which reserved characters stand for elements unless escaped.

Arrives: the commentary as it was sent. Leaves: the text as a reader sees it, and as a listing tells it. A
reserved character that is neither escaped nor the beginning of an element ends the text there, silently, as on
LinkedIn.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

RESERVED = frozenset("|{}@[]()<>#\\*_~")
_MENTION = re.compile(r"@\[((?:\\.|[^\\\]])+)\]\((urn:li:(?:person|organization):[A-Za-z0-9_-]+)\)")
_TEMPLATE = re.compile(r"\{hashtag\|\\?#\|((?:\\.|[^\\|{}])+)\}")
_HASHTAG = re.compile(r"#([^\W_]+)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text, or an element. `shown` is what a reader sees of it, `listed` what a listing says."""

    shown: str
    listed: str


def pieces(commentary: str) -> Iterator[Piece]:
    """Everything up to the first reserved character that stands for nothing."""
    position = 0
    while position < len(commentary):
        character = commentary[position]
        if character == "\\" and commentary[position + 1 : position + 2] in RESERVED:
            yield Piece(commentary[position + 1], commentary[position : position + 2])
            position += 2
        elif character not in RESERVED:
            yield Piece(character, character)
            position += 1
        elif (found := _element(commentary, position)) is not None:
            piece, position = found
            yield piece
        else:
            return


def shown(commentary: str) -> str:
    return "".join(piece.shown for piece in pieces(commentary))


def listed(commentary: str) -> str:
    return "".join(piece.listed for piece in pieces(commentary))


def _element(commentary: str, position: int) -> tuple[Piece, int] | None:
    if match := _MENTION.match(commentary, position):
        return Piece(_unescaped(match[1]), match[0]), match.end()
    if match := _TEMPLATE.match(commentary, position):
        return Piece(f"#{_unescaped(match[1])}", match[0]), match.end()
    if match := _HASHTAG.match(commentary, position):
        return Piece(match[0], f"{{hashtag|\\#|{match[1]}}}"), match.end()
    return None


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
