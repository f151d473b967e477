"""What a text is made of: line ends, graphemes, links, and the segments of a thread.

A text arrives as a person or a file gave it; clean text, counts and segments leave. Pure, and the same for
every platform: how a platform counts stands with its adapter.
What must stay true: nothing here changes a text beyond its line ends, and no text passes that a database, a
JSON body or a platform would refuse for a character that nobody can see.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import regex

THREAD_SEPARATOR: Final = "---"
"""A line that is exactly this divides a thread into its segments."""

# Everything that Unicode calls a control (NUL among them) save tab and newline, and lone surrogates, which
# have no UTF-8 form: PostgreSQL refuses NUL, and JSON encoders write surrogates that no platform reads.
_FORBIDDEN: Final = regex.compile(r"[\p{Cc}\p{Cs}--[\t\n]]", regex.V1)
_UNKEEPABLE: Final = regex.compile(r"[\0\p{Cs}]")
_GRAPHEME: Final = regex.compile(r"\X")
# A link starts where a word does, so that `xhttps://` and `@https://` are none, and runs to white space or to
# a character that no link holds. What is punctuation of the sentence is taken off its end afterwards.
_LINK: Final = regex.compile(r"(?i)(?<![\p{L}\p{N}_@＠$#＃])https?://[^\s<>\"`{}|\\^\p{C}]+")
_SENTENCE_END: Final = frozenset(".,;:!?'*~|$%@…‥’”»›。、，！？；：）」』】〉》]")
_CLOSING: Final = {")": "("}


# White space, what Unicode says to ignore, other format characters, and the blank Braille pattern.
_VISIBLE: Final = regex.compile(r"[^\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]")


class BadText(ValueError):  # noqa: N818 - named, as every error here, for what is wrong
    """A text that can't be accepted; the message tells a person where and why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class FoundLink(NamedTuple):
    """A link and where it stands: `text[start:end] == url`."""

    start: int
    end: int
    url: str


def clean_text(text: str) -> str:
    r"""Make every line end `\n`, drop a leading byte order mark, and refuse invisible control characters.

    Raises `BadText` (`control_character`) naming the line and the code point.
    """
    unified = _with_newlines(text.removeprefix("\ufeff"))
    if found := _FORBIDDEN.search(unified):
        line = unified.count("\n", 0, found.start()) + 1
        message = f"Line {line} contains the control character U+{ord(found.group()):04X}: remove it."
        raise BadText("control_character", message)
    return unified


def shows_something(text: str) -> bool:
    """Say whether there is anything in a text that a reader could see; an emoji's joiners alone are nothing."""
    return _VISIBLE.search(text) is not None


def harmless(text: str, *, longest: int) -> str:
    """Make one line that any database takes of a name from outside: what can't be kept becomes U+FFFD."""
    harmless_text: str = _FORBIDDEN.sub("\ufffd", text.replace("\n", " ").replace("\t", " "))
    return harmless_text[:longest]


def is_keepable(value: object) -> bool:
    """Say whether a database takes every text in a JSON value: PostgreSQL refuses NUL and lone surrogates."""
    match value:
        case str():
            return _UNKEEPABLE.search(value) is None
        case dict():
            return all(is_keepable(key) and is_keepable(held) for key, held in value.items())
        case list() | tuple():
            return all(map(is_keepable, value))
        case _:
            return True


def grapheme_count(text: str) -> int:
    """Count what a reader sees as characters: a flag, a family emoji or e + accent is one."""
    if text.isascii() and "\r" not in text:
        return len(text)
    return sum(1 for _ in _GRAPHEME.finditer(text))


def find_urls(text: str) -> list[FoundLink]:
    """Find the http and https links in order, without the punctuation of the sentence around them."""
    links = []
    for match in _LINK.finditer(text):
        url = _without_sentence_end(match.group())
        if len(url) > url.index("://") + 3:
            links.append(FoundLink(match.start(), match.start() + len(url), url))
    return links


def split_thread(text: str) -> list[str]:
    """Split a text at lines that are exactly `---` into its segments, each without white space around it.

    A text without such a line is one segment, which may be empty (a post of media only). Raises `BadText`
    (`empty_segment`) when a thread has a segment with nothing in it.
    """
    segments: list[list[str]] = [[]]
    for line in _with_newlines(text).split("\n"):
        if line == THREAD_SEPARATOR:
            segments.append([])
        else:
            segments[-1].append(line)
    texts = ["\n".join(lines).strip() for lines in segments]
    if len(texts) > 1:
        _refuse_empty(texts)
    return texts


def _refuse_empty(texts: list[str]) -> None:
    for number, segment in enumerate(texts, start=1):
        if not segment:
            which = f"Segment {number} of {len(texts)} of the thread"
            raise BadText("empty_segment", f"{which} is empty: fill it or remove a --- line.")


def _with_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _without_sentence_end(url: str) -> str:
    """Take off closing punctuation; a closing bracket stays where the link itself opened it."""
    end = len(url)
    while end:
        last = url[end - 1]
        opening = _CLOSING.get(last)
        unbalanced = opening is not None and url.count(opening, 0, end) < url.count(last, 0, end)
        if last not in _SENTENCE_END and not unbalanced:
            break
        end -= 1
    return url[:end]
