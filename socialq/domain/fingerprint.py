"""Fingerprints of texts: equal for two texts that a platform may have made of one another.

A text arrives as it was composed or as a platform shows it; a SHA-256 in hexadecimal leaves. Pure.
What must stay true: what platforms change on their own (line ends, blank lines, escapes, composed letters,
joiners, the tail of links) changes no fingerprint, and what a person changes in the words does.
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from typing import Final
from urllib.parse import urlsplit

from socialq.domain.text import find_urls

# Zero width space, joiners, word joiner and byte order mark: dropped by some platforms, kept by others.
_ZERO_WIDTH: Final = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF])
_LINE_END: Final = re.compile(r"\r\n|\r")
_TRAILING_SPACE: Final = re.compile(r"[^\S\n]+(?=\n)")
_BLANK_LINES: Final = re.compile(r"\n{3,}")


def fingerprint(text: str) -> str:
    """Return the SHA-256 (64 hexadecimal digits) of `comparable(text)`."""
    return hashlib.sha256(comparable(text).encode("utf-8", "surrogatepass")).hexdigest()


def same_text(one: str, other: str) -> bool:
    """Say whether two texts are the same once what platforms change is undone."""
    return one == other or comparable(one) == comparable(other)


def comparable(text: str) -> str:
    """Undo what platforms change by themselves, for comparison only; applying it twice changes nothing."""
    plain = _unescaped(text)
    while (shorter := _unescaped(_links_to_host_and_path(_even_lines(plain)))) != plain:
        plain = shorter
    return plain


def _unescaped(text: str) -> str:
    # To a fixed point, joiners first: taking one out can complete an escape, and an escape can hide one.
    while True:
        plain = unicodedata.normalize("NFC", html.unescape(text.translate(_ZERO_WIDTH)))
        if plain == text:
            return plain
        text = plain


def _even_lines(text: str) -> str:
    text = _TRAILING_SPACE.sub("", _LINE_END.sub("\n", text))
    return _BLANK_LINES.sub("\n\n", text).strip()


def _links_to_host_and_path(text: str) -> str:
    pieces: list[str] = []
    end = 0
    for link in find_urls(text):
        pieces += [text[end : link.start], _host_and_path(link.url)]
        end = link.end
    return "".join([*pieces, text[end:]])


def _host_and_path(url: str) -> str:
    try:
        split = urlsplit(url)
    except ValueError:  # such as an unclosed [ of an IPv6 address: no link after all
        return url.partition("://")[2]
    return split.netloc.lower() + split.path.rstrip("/")
