"""A post's text as X gives it back: links shortened, media appended as a link, three characters escaped.

Arrives: the text as it was posted. Leaves: another text, with entities that say what was there. Indices count
code points of the text that is given back.
"""

import hashlib
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from socialq.sandbox.x.text import Span, cashtags, hashtags, mentions, normalised, urls, weights

SHORT_LENGTH = 280
# Room for "… " and a link to the whole post.
ROOM_FOR_REST = 26
SHOWN_PATH_CHARACTERS = 15
SLUG_CHARACTERS = 10
_ALPHABET = string.digits + string.ascii_letters
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True)
class Source:
    """What a post's shown text is made of. `media`: keys in order; `media_path` ends its page's address."""

    post_id: str
    page: str
    text: str
    media: Sequence[str] = ()
    media_path: str = "photo"


@dataclass(frozen=True, slots=True)
class Shown:
    """`note_text` and `note_entities` are set if the text is too long to be shown whole."""

    text: str
    entities: dict[str, list[dict[str, Any]]]
    note_text: str | None = None
    note_entities: dict[str, list[dict[str, Any]]] | None = None


def show(source: Source, *, user_id_of: Callable[[str], str | None]) -> Shown:
    """`user_id_of` gives the id of an account that a text may mention, None for nobody."""
    text = normalised(source.text)
    short = _shortened(text)
    build = _Builder(source, user_id_of)
    if short == text:
        return Shown(*build.with_media(text))
    note_text, note_entities = build.plain(text)
    whole = build.with_media(short, rest=True)
    return Shown(*whole, note_text=note_text, note_entities=note_entities)


class _Builder:
    def __init__(self, source: Source, user_id_of: Callable[[str], str | None]) -> None:
        self._source = source
        self._user_id_of = user_id_of

    def plain(self, text: str) -> tuple[str, dict[str, list[dict[str, Any]]]]:
        shown, links = self._with_short_links(text)
        return shown, self._entities(shown, links)

    def with_media(self, text: str, *, rest: bool = False) -> tuple[str, dict[str, list[dict[str, Any]]]]:
        """The text and the links behind it: to the whole post, if it was cut, and to the media."""
        shown, links = self._with_short_links(text)
        if rest:
            shown = _append(f"{shown}…", links, [_link(self._short("rest"), self._source.page)])
        if self._source.media:
            shown = _append(shown, links, list(self._media_links()))
        return shown, self._entities(shown, links)

    def _with_short_links(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        shown, position = "", 0
        links: list[dict[str, Any]] = []
        for number, span in enumerate(urls(text)):
            shown += text[position : span.start].translate(_ESCAPES)
            link = _link(self._short(str(number)), _with_scheme(span.value))
            links.append({"start": len(shown), "end": len(shown) + len(link["url"]), **link})
            shown += link["url"]
            position = span.end
        return shown + text[position:].translate(_ESCAPES), links

    def _media_links(self) -> Iterator[dict[str, Any]]:
        """One entity for each of the media; they share one short link."""
        short = self._short("media")
        address = f"{self._source.page}/{self._source.media_path}/1"
        display = f"pic.x.com/{short.rpartition('/')[2]}"
        for key in self._source.media:
            yield {"url": short, "expanded_url": address, "display_url": display, "media_key": key}

    def _entities(self, shown: str, links: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        people = [(span, self._user_id_of(span.value)) for span in mentions(shown)]
        found = {
            "urls": links,
            "hashtags": [_tag(span) for span in hashtags(shown)],
            "cashtags": [_tag(span) for span in cashtags(shown)],
            "mentions": [
                {"start": span.start, "end": span.end, "username": span.value, "id": user_id}
                for span, user_id in people
                if user_id is not None
            ],
        }
        return {name: entities for name, entities in found.items() if entities}

    def _short(self, name: str) -> str:
        digest = hashlib.sha256(f"{self._source.post_id} {name}".encode()).digest()
        slug = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:SLUG_CHARACTERS])
        return f"https://t.co/{slug}"


def display_url(address: str) -> str:
    """Without scheme and `www.`, the path cut after fifteen characters."""
    host, slash, path = address.partition("://")[2].removeprefix("www.").partition("/")
    rest = f"{slash}{path}"
    shown = rest if len(rest) <= SHOWN_PATH_CHARACTERS else f"{rest[:SHOWN_PATH_CHARACTERS]}…"
    return host if shown == "/" else f"{host}{shown}"


def _shortened(text: str) -> str:
    """What of a text is shown in a listing: all of 280, less of a longer one."""
    pieces = list(weights(text))
    if sum(weight for _, _, weight in pieces) <= SHORT_LENGTH:
        return text
    left = SHORT_LENGTH - ROOM_FOR_REST
    for start, _, weight in pieces:
        left -= weight
        if left < 0:
            return text[:start].rstrip()
    return text


def _append(shown: str, links: list[dict[str, Any]], added: list[dict[str, Any]]) -> str:
    shown = f"{shown} " if shown else ""
    end = len(shown) + len(added[0]["url"])
    links.extend({"start": len(shown), "end": end, **link} for link in added)
    return f"{shown}{added[0]['url']}"


def _link(short: str, address: str) -> dict[str, Any]:
    return {"url": short, "expanded_url": address, "display_url": display_url(address)}


def _with_scheme(address: str) -> str:
    return address if urlsplit(address).scheme.lower() in {"http", "https"} else f"http://{address}"


def _tag(span: Span) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "tag": span.value}
