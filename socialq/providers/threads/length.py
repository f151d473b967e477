"""How Threads counts: each letter as one, an emoji as the bytes that it has in UTF-8.

A text arrives; a number leaves. Pure. Source: developers.facebook.com/docs/threads/posts, "Limitations", which
does not say what an emoji is: whatever may be shown as one counts as one, so that nothing counts too little.
"""

from __future__ import annotations

from typing import Final

import regex

from socialq.domain.text import find_urls

_GRAPHEME: Final = regex.compile(r"\X")
_EMOJI: Final = regex.compile(r"[\p{Extended_Pictographic}\p{Regional_Indicator}\u20e3]")


def threads_length(text: str) -> int:
    """Count as Threads does: a family emoji is 25, a flag 8, a keycap 7, é one or, as two code points, two."""
    if text.isascii():
        return len(text)
    return sum(
        len(grapheme.encode("utf-8", "surrogatepass")) if _EMOJI.search(grapheme) else len(grapheme)
        for grapheme in _GRAPHEME.findall(text)
    )


def distinct_links(text: str, attachment: object = None) -> int:
    """Count the different links of a post, the attached one among them."""
    links = {link.url for link in find_urls(text)}
    return len(links | {attachment}) if isinstance(attachment, str) and attachment else len(links)
