"""The text of a post, read back from the HTML that Mastodon shows.

HTML arrives; plain text leaves. Pure.
What must stay true: `may_be` says no only where the words certainly differ, whatever the server did to links,
mentions and hashtags.
"""

from __future__ import annotations

import unicodedata
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PARAGRAPH_ENDS: Final = frozenset({"p", "div", "blockquote", "ul", "ol", "pre"})


class _Reader(HTMLParser):
    """Collects the text, and whether each piece of it stands within a link."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[tuple[str, bool]] = []
        self.links = 0
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "br":
            self.pieces.append(("\n", False))
        elif tag == "a":
            self._depth += 1
            self.links += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._depth = max(0, self._depth - 1)
        elif tag in _PARAGRAPH_ENDS:
            self.pieces.append(("\n\n", False))

    def handle_data(self, data: str) -> None:
        self.pieces.append((data, self._depth > 0))


def shown_text(content: str) -> str:
    """Return the text of a post's `content`: `<br>` a line end, a paragraph's end a blank line.

    Links are complete: Mastodon hides the ends of a long one in spans, which are read like the rest.
    """
    return "".join(text for text, _ in _read(content).pieces).strip()


def may_be(content: str, text: str) -> bool:
    """Say whether a post shown as `content` may have been written as `text`; cheap, and no is certain.

    The words outside of links must occur in `text`, in order; without links they must be all its words.
    """
    reader = _read(content)
    words = _letters(text)
    if not reader.links:
        return _letters("".join(piece for piece, _ in reader.pieces)) == words
    at = 0
    for run in _outside_links(reader.pieces):
        at = words.find(run, at)
        if at < 0:
            return False
        at += len(run)
    return True


def _read(content: str) -> _Reader:
    reader = _Reader()
    reader.feed(content)
    reader.close()
    return reader


def _outside_links(pieces: list[tuple[str, bool]]) -> Iterator[str]:
    run = ""
    for text, in_link in [*pieces, ("", True)]:
        if in_link:
            yield _letters(run)
            run = ""
        else:
            run += text


def _letters(text: str) -> str:
    """Keep letters and digits: what no server adds to or takes from a text."""
    return "".join(character for character in unicodedata.normalize("NFC", text) if character.isalnum())
