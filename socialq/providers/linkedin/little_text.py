r"""LinkedIn's "little text": a post's text with reserved characters escaped, mentions and hashtags as elements.

A person's text arrives, or what a listing gave back; little text, and the text that a reader sees, leave. Pure.
What must stay true: every reserved character that is no element is escaped, since LinkedIn cuts a text off at
the first that is not, and says nothing; what is made here reads back as the text a reader sees.

A person writes a mention as `@[Name](urn:li:organization:1)` and a hashtag as `#word`.
Source: learn.microsoft.com/linkedin/marketing/community-management/shares/little-text-format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from socialq.domain.fingerprint import same_text
from socialq.domain.text import find_urls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

_RESERVED: Final = re.compile(r"([|{}@\[\]()<>#\\*_~])")
_MENTION: Final = re.compile(
    r"@\[(?P<name>[^\[\]\n]{1,200})\]\((?P<urn>urn:li:(?:person|organization):[\w-]+)\)"
)
_HASHTAG: Final = re.compile(r"(?<![\w#&/])#(?P<word>[^\W_]*[^\W\d_][^\W_]*)")
_PLAIN_MENTION: Final = re.compile(r"(?<![\w@./])@(?P<name>\w[\w.-]*)")

_LISTED: Final = re.compile(
    r"\\(?P<escaped>.)"
    r"|@\[(?P<name>(?:\\.|[^\\\]])+)\]\(urn:li:[^)\s]+\)"
    r"|\{hashtag\|\\?#\|(?P<word>(?:\\.|[^\\|{}])+)\}",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_SHORTENED: Final = re.compile(r"https?://lnkd\.in/[A-Za-z0-9_-]+")
_LINK: Final = "\ufffc"
"""Stands for any link, where only the words around links can be compared."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention as a person wrote it."""

    name: str
    urn: str


def little_text(text: str) -> str:
    """Write a person's text as little text."""
    return "".join(_written(text))


def visible_text(text: str) -> str:
    """Return what a reader sees of a person's text: mentions by their names."""
    return _MENTION.sub(lambda match: match["name"], text)


def mentions_in(text: str) -> list[Mention]:
    """List the mentions that LinkedIn will link."""
    return [Mention(match["name"], match["urn"]) for match in _MENTION.finditer(text)]


def plain_mentions_in(text: str) -> list[str]:
    """List the words that look like mentions and are none to LinkedIn, without the `@`."""
    without = _MENTION.sub(" ", text)
    links = [(link.start, link.end) for link in find_urls(without)]
    return [
        match["name"]
        for match in _PLAIN_MENTION.finditer(without)
        if not any(start <= match.start() < end for start, end in links)
    ]


def listed_text(commentary: str) -> str:
    """Return what a reader sees of a listed post's commentary."""
    return _LISTED.sub(_seen, commentary)


def verdict(commentary: str, text: str) -> Literal["same", "different", "unreadable"]:
    """Say whether a listed commentary was sent as `text`; unreadable where shortened links hide the answer."""
    listed, written = listed_text(commentary), visible_text(text)
    if same_text(listed, written):
        return "same"
    if not _SHORTENED.search(listed):
        return "different"
    return "unreadable" if same_text(_without_links(listed), _without_links(written)) else "different"


def _written(text: str) -> Iterator[str]:
    position = 0
    links = [(link.start, link.end) for link in find_urls(text)]
    while position < len(text):
        element = _next_element(text, position, links)
        if element is None:
            break
        start, end, little = element
        yield _escaped(text[position:start])
        yield little
        position = end
    yield _escaped(text[position:])


def _next_element(text: str, position: int, links: list[tuple[int, int]]) -> tuple[int, int, str] | None:
    """Find the next mention or hashtag; a `#` in a link is none."""
    mention, hashtag = _MENTION.search(text, position), _HASHTAG.search(text, position)
    while hashtag is not None and any(start <= hashtag.start() < end for start, end in links):
        hashtag = _HASHTAG.search(text, hashtag.end())
    if mention is not None and (hashtag is None or mention.start() < hashtag.start()):
        return mention.start(), mention.end(), f"@[{_escaped(mention['name'])}]({mention['urn']})"
    if hashtag is not None:
        return hashtag.start(), hashtag.end(), f"{{hashtag|\\#|{hashtag['word']}}}"
    return None


def _escaped(text: str) -> str:
    return _RESERVED.sub(r"\\\1", text)


def _seen(match: re.Match[str]) -> str:
    if (escaped := match["escaped"]) is not None:
        return escaped
    if (name := match["name"]) is not None:
        return _ESCAPED.sub(r"\1", name)
    return "#" + _ESCAPED.sub(r"\1", match["word"])


def _without_links(text: str) -> str:
    pieces, end = [], 0
    for link in find_urls(text):
        pieces += [text[end : link.start], _LINK]
        end = link.end
    return "".join([*pieces, text[end:]])
