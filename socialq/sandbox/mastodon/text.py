"""Text as Mastodon reads it: what counts how much, and the HTML it turns into.

Follows `StatusLengthValidator` and `TextFormatter` of github.com/mastodon/mastodon. One deliberate
difference: Mastodon knows every top-level domain and links only those; here a domain is any dotted name
that ends in letters.
"""

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

import regex

CHARACTERS_PER_URL = 23
SHOWN_URL_CHARACTERS = 30

_BALANCED = r"\((?:[^\s<>()?]|\([^\s<>()?]*\))*\)"
_URL = (
    r"(?<![\w@＠$#＃/])(?P<url>https?://(?:[\w-]+\.)+(?:\p{L}{2,}|xn--[\w-]+)(?::\d+)?"
    rf"(?:/(?:[^\s<>()?]|{_BALANCED})*)?"
    r"(?:\?(?:[^\s<>\"`{}\\])*)?)"
)
_MENTION = (
    r"(?<![=/\w])@(?P<user>[a-z0-9_]+(?:[a-z0-9_.-]*[a-z0-9_])?)"
    r"(?:@(?P<domain>\w(?:[\w.-]*\w)?(?::\d+)?))?"
)
_HASHTAG = r"(?<![\w/)])[#＃](?P<tag>(?=[\w·]*[\p{L}\p{M}_])[\w·]*\w)"
_ENTITY = regex.compile(f"{_URL}|{_MENTION}|{_HASHTAG}", regex.IGNORECASE)
_GRAPHEME = regex.compile(r"\X")
_PREFIX = regex.compile(r"https?://(?:www\.)?", regex.IGNORECASE)
# A path or query never ends in these: they belong to the sentence around the link.
_NEVER_LAST = "()?!*\"'「」<>;:,.$%[]~|@`"


@dataclass(frozen=True, slots=True)
class Url:
    address: str


@dataclass(frozen=True, slots=True)
class Mention:
    user: str
    domain: str | None


@dataclass(frozen=True, slots=True)
class Hashtag:
    name: str


Entity = Url | Mention | Hashtag
Piece = str | Url | Mention | Hashtag


def pieces(text: str) -> Iterator[Piece]:
    """The text in order, split into plain stretches and entities."""
    position = 0
    while match := _ENTITY.search(text, position):
        end = match.end()
        entity = _entity_of(match)
        if isinstance(entity, Url):
            address = _without_sentence_end(entity.address)
            end -= len(entity.address) - len(address)
            entity = Url(address)
        if match.start() > position:
            yield text[position : match.start()]
        yield entity
        position = end
    if position < len(text):
        yield text[position:]


def counted_length(text: str, spoiler_text: str = "", *, per_url: int = CHARACTERS_PER_URL) -> int:
    """Characters as Mastodon counts them: graphemes, each URL alike (23), a mention without its domain."""
    countable = spoiler_text + "".join(_countable(piece, per_url) for piece in pieces(text))
    if countable.isascii() and "\r" not in countable:
        return len(countable)
    return len(_GRAPHEME.findall(countable))


def to_html(text: str, *, local_url: str, is_local: Callable[[str, str | None], bool]) -> str:
    """The status's `content`.

    `local_url` is where this instance's pages live; `is_local` tells whether (user, domain) is an account
    here. A mention with another domain is taken to exist there.
    """
    if not text.strip():
        return ""
    inner = "".join(_piece_html(piece, local_url=local_url, is_local=is_local) for piece in pieces(text))
    paragraphs = regex.split(r"\n\n+", regex.sub(r"\r\n?", "\n", inner))
    return "".join(f"<p>{paragraph.replace(chr(10), '<br />')}</p>" for paragraph in paragraphs)


def hashtags(text: str) -> list[str]:
    return list(dict.fromkeys(piece.name for piece in pieces(text) if isinstance(piece, Hashtag)))


def mentions(text: str) -> list[Mention]:
    return list(dict.fromkeys(piece for piece in pieces(text) if isinstance(piece, Mention)))


def _entity_of(match: "regex.Match[str]") -> Entity:
    if match["url"] is not None:
        return Url(match["url"])
    if match["user"] is not None:
        return Mention(match["user"], match["domain"])
    return Hashtag(match["tag"])


def _without_sentence_end(address: str) -> str:
    """Drop closing punctuation, but keep a bracket that was opened inside the address."""
    while address[-1] in _NEVER_LAST:
        if address[-1] == ")" and address.count("(") >= address.count(")"):
            break
        address = address[:-1]
    return address


def _countable(piece: Piece, per_url: int) -> str:
    match piece:
        case str():
            return piece
        case Url():
            return "x" * per_url
        case Mention():
            return f"@{piece.user}"
        case Hashtag():
            return f"#{piece.name}"
        case _:
            assert_never(piece)


def _piece_html(piece: Piece, *, local_url: str, is_local: Callable[[str, str | None], bool]) -> str:
    match piece:
        case str():
            return _escape(piece)
        case Url():
            return _link(piece.address)
        case Hashtag():
            address = _escape(f"{local_url}/tags/{piece.name}")
            name = _escape(piece.name)
            return f'<a href="{address}" class="mention hashtag" rel="tag">#<span>{name}</span></a>'
        case Mention():
            return _mention(piece, local_url=local_url, is_local=is_local)
        case _:
            assert_never(piece)


def _link(address: str) -> str:
    """Scheme and `www.` hidden, thirty characters shown, the rest hidden behind an ellipsis."""
    prefix = _PREFIX.match(address)[0]
    shown = address[len(prefix) : len(prefix) + SHOWN_URL_CHARACTERS]
    rest = address[len(prefix) + SHOWN_URL_CHARACTERS :]
    return (
        f'<a href="{_escape(address)}" target="_blank" rel="nofollow noopener noreferrer">'
        f'<span class="invisible">{_escape(prefix)}</span>'
        f'<span class="{"ellipsis" if rest else ""}">{_escape(shown)}</span>'
        f'<span class="invisible">{_escape(rest)}</span></a>'
    )


def _mention(mention: Mention, *, local_url: str, is_local: Callable[[str, str | None], bool]) -> str:
    if is_local(mention.user, mention.domain):
        address = f"{local_url}/@{mention.user}"
    elif mention.domain is not None:
        address = f"https://{mention.domain}/@{mention.user}"
    else:
        return f"@{_escape(mention.user)}"
    return (
        f'<span class="h-card"><a href="{_escape(address)}" class="u-url mention">'
        f"@<span>{_escape(mention.user)}</span></a></span>"
    )


def _escape(text: str) -> str:
    return html.escape(text).replace("&#x27;", "&#39;")
