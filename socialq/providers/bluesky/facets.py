"""The pieces of a text that are more than words: links, mentions, hashtags and cashtags, and where they stand.

A text arrives; spans, and facets with their places in UTF-8 bytes, leave. Pure.
What must stay true: a facet's bytes are exactly the characters it was found at, since a server does not check
them; the text itself is never changed; no text costs more than time in proportion to its length.

Source: app.bsky.richtext.facet, and the detection in Bluesky's own client (packages/api/src/rich-text).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import regex

from socialq.domain.text import find_urls, grapheme_count
from socialq.providers.top_level_domains import TOP_LEVEL_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Kind = Literal["link", "mention", "tag"]

_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?+"
_HOST: Final = rf"{_LABEL}(?:\.{_LABEL})++"
_AFTER_SPACE: Final = r"(?:^|(?<=[\s(]))"
_BARE_LINK: Final = regex.compile(
    rf"{_AFTER_SPACE}(?P<host>{_HOST})(?P<rest>(?::[0-9]{{1,5}})?+(?:[/?#]\S*+)?+)(?![\w@-])",
    regex.IGNORECASE,
)
_MENTION: Final = regex.compile(rf"{_AFTER_SPACE}@(?P<handle>{_HOST})(?![\w@-])", regex.IGNORECASE)
_INVISIBLE: Final = r"\s\u00AD\u2060\u200A\u200B\u200C\u200D\u20e2"
_TAG: Final = regex.compile(rf"(?:^|(?<=\s))[#＃](?!\ufe0f)(?P<tag>[^{_INVISIBLE}]++)")
_TAG_NEEDS: Final = regex.compile(r"[^\d\s\p{P}]")
_ENDS_TAG: Final = regex.compile(r"\p{P}++$")
_CASHTAG: Final = regex.compile(
    rf"{_AFTER_SPACE}\$(?P<tag>[A-Za-z][A-Za-z0-9]{{0,4}})(?=[\s.,;:!?)\"'\u2019]|$)"
)
_MOST_TAG_GRAPHEMES: Final = 64
_MOST_TAG_BYTES: Final = 640


class Span(NamedTuple):
    """A piece of a text: `text[start:end]`, and its link, its handle in small letters, or its tag."""

    start: int
    end: int
    kind: Kind
    value: str


def find_spans(text: str) -> list[Span]:
    """Find every piece, in order; none overlaps another."""
    found = [Span(link.start, link.end, "link", link.url) for link in find_urls(text)]
    for more in (_bare_links(text), _mentions(text), _tags(text), _cashtags(text)):
        taken = [(span.start, span.end) for span in found]
        found += [
            span for span in more if not any(span.start < end and start < span.end for start, end in taken)
        ]
    return sorted(found)


def handles_in(text: str) -> list[str]:
    """Return the handles that are mentioned, each once, in order."""
    return list(dict.fromkeys(span.value for span in find_spans(text) if span.kind == "mention"))


def facets_of(text: str, dids: Mapping[str, str]) -> list[dict[str, Any]]:
    """Build the facets of a text. A handle without an entry in `dids` stays plain words."""
    facets = []
    for span in find_spans(text):
        feature = _feature(span, dids)
        if feature is not None:
            facets.append({"index": _index(text, span), "features": [feature]})
    return facets


def _feature(span: Span, dids: Mapping[str, str]) -> dict[str, str] | None:
    name = f"app.bsky.richtext.facet#{span.kind}"
    if span.kind == "link":
        return {"$type": name, "uri": span.value}
    if span.kind == "tag":
        return {"$type": name, "tag": span.value}
    did = dids.get(span.value)
    return None if did is None else {"$type": name, "did": did}


def _index(text: str, span: Span) -> dict[str, int]:
    start = len(text[: span.start].encode())
    return {"byteStart": start, "byteEnd": start + len(text[span.start : span.end].encode())}


def _bare_links(text: str) -> Iterator[Span]:
    """Hosts without `https://` whose last label is a top-level domain, with their path."""
    for match in _BARE_LINK.finditer(text):
        if match["host"].rpartition(".")[2].lower() not in TOP_LEVEL_DOMAINS:
            continue
        # The sentence's punctuation is taken off as for any link.
        links: Sequence[Any] = find_urls(f"https://{match.group()}")
        if links:
            yield Span(
                match.start(), match.start() + len(links[0].url) - len("https://"), "link", links[0].url
            )


def _mentions(text: str) -> Iterator[Span]:
    for match in _MENTION.finditer(text):
        if not match["handle"].rpartition(".")[2].isdigit():
            yield Span(match.start(), match.end(), "mention", match["handle"].lower())


def _tags(text: str) -> Iterator[Span]:
    for match in _TAG.finditer(text):
        tag = _ENDS_TAG.sub("", match["tag"])
        is_short = len(tag.encode()) <= _MOST_TAG_BYTES and grapheme_count(tag) <= _MOST_TAG_GRAPHEMES
        if _TAG_NEEDS.search(tag) and is_short:
            yield Span(match.start(), match.start("tag") + len(tag), "tag", tag)


def _cashtags(text: str) -> Iterator[Span]:
    for match in _CASHTAG.finditer(text):
        yield Span(match.start(), match.end(), "tag", f"${match['tag'].upper()}")
