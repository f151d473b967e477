"""Text as X reads it: where its links, tags and mentions are, and how much it counts.

Follows twitter-text 3.1.0 (github.com/twitter/twitter-text, configuration version 3). Differences: any
joined emoji sequence and any pair of flag letters counts as one emoji, not only those that the library's
emoji release knew; and a host whose labels are emoji is read whole, not in halves of UTF-16.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from socialq.sandbox.x.tlds import TOP_LEVEL_DOMAINS

CHARACTERS_PER_URL = 23
LONGEST_URL = 4096
LONGEST_SLUG = 40
LONGEST_LABEL = 63
# Code points that count one; all others count two.
_LIGHT = ((0, 4351), (8192, 8205), (8208, 8223), (8242, 8247))

_SPACES = r"\t-\r \x85\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_PUNCTUATION = r"!'#%&()*+,\-./:;<=>?@\[\]\\^_{|}~$"
_DIRECTIONS = r"\u202a-\u202e\u061c\u200e\u200f\u2066-\u2069"
_NEVER = r"\ufffe\ufeff\uffff"
_ACCENTED = r"\xc0-\xd6\xd8-\xf6\xf8-\xff\u0100-\u024f\u0253\u0254\u0256\u0257\u0259\u025b\u0263\u0268"
_ACCENTED += r"\u026f\u0272\u0289\u028b\u02bb\u0300-\u036f\u1e00-\u1eff"

_DOMAIN_CHARACTER = rf"[^{_PUNCTUATION}{_SPACES}{_NEVER}{_DIRECTIONS}]"
_LAST_LABEL = r"(?:(?:\L<top>)(?=[^0-9a-zA-Z@+\-]|$)|xn--[\-0-9a-z]+)"
_LABEL_TAIL = _DOMAIN_CHARACTER.replace(r"\-", "")
# Possessive and bounded, so that no text costs more than time in proportion to its length.
_SUBDOMAIN = rf"{_DOMAIN_CHARACTER}{_LABEL_TAIL.replace('_', '')}{{0,250}}+(?<![_\-])\."
_NAME = rf"{_DOMAIN_CHARACTER}{_LABEL_TAIL}{{0,250}}+(?<!-)\."
_IN_PATH = rf"[a-z\u0400-\u04ff0-9!*';:=+,.$/%#\[\]\-\u2013_~@|&{_ACCENTED}]"
_BALANCED = rf"\((?:{_IN_PATH}+|{_IN_PATH}*\({_IN_PATH}+\){_IN_PATH}*)\)"
_ENDS_PATH = rf"[+\-a-z\u0400-\u04ff0-9=_#/{_ACCENTED}]"
_PATH = rf"(?:{_IN_PATH}*(?:{_BALANCED}{_IN_PATH}*)*{_ENDS_PATH}|{_BALANCED}|@{_IN_PATH}+/)"
_QUERY = r"\?[a-z0-9!?*'@();:&=+$/%#\[\]\-_.,~|]*[a-z0-9\-_&=#/]"
_URL = regex.compile(
    rf"(?P<before>[^A-Za-z0-9@＠$#＃{_NEVER}]|[{_DIRECTIONS}]|^)"
    rf"(?P<url>(?P<scheme>https?://)?(?P<domain>(?:{_SUBDOMAIN}){{0,20}}{_NAME}{_LAST_LABEL})(?::[0-9]+)?"
    rf"(?P<path>/{_PATH}*)?(?:{_QUERY})?)",
    regex.IGNORECASE | regex.VERSION0,
    top=TOP_LEVEL_DOMAINS,
)
_PLAIN_DOMAIN = regex.compile(
    rf"(?:[\-a-z0-9{_ACCENTED}]+\.)+{_LAST_LABEL}", regex.IGNORECASE | regex.VERSION0, top=TOP_LEVEL_DOMAINS
)
_SHORT_LINK = regex.compile(rf"https?://t\.co/([a-z0-9]+)(?:{_QUERY})?", regex.IGNORECASE)
_CASHTAG = regex.compile(
    rf"(?:^|[{_SPACES}{_DIRECTIONS}])\$(?P<tag>[a-z]{{1,6}}(?:[._][a-z]{{1,2}})?)(?=$|\s|[{_PUNCTUATION}])",
    regex.IGNORECASE,
)
_IN_TAG = r"\p{L}\p{M}\p{Nd}_\xb7\u05be\u05f3\u05f4\u0f0b\u0f0c\u200c\u200d\u3003\u301c\u309b\u309c"
_IN_TAG += r"\u30a0\u30fb\ua67e\uff5e"
_HASHTAG = regex.compile(
    rf"(?:(?<=[\ufe0e\ufe0f])|(?<![{_IN_TAG}&]))[#＃](?!\ufe0f|\u20e3)"
    rf"(?P<tag>(?>[{_IN_TAG}]*[\p{{L}}\p{{M}}][{_IN_TAG}]*))(?![#＃]|://)"
)
_MENTION = regex.compile(
    rf"(?<![a-zA-Z0-9_!#$%&*@＠])[@＠](?P<tag>[a-zA-Z0-9_]{{1,20}})(?![a-zA-Z0-9_@＠{_ACCENTED}]|://)"
)
_EMOJI_UNIT = r"[[\p{Emoji}]--[0-9#*©®]](?:\ufe0f|\p{Emoji_Modifier})?"
_EMOJI = regex.compile(
    rf"[0-9#*]\ufe0f?\u20e3|[©®]\ufe0f|\p{{Regional_Indicator}}{{2}}"
    rf"|\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f|{_EMOJI_UNIT}(?:\u200d{_EMOJI_UNIT})*",
    regex.VERSION1,
)
_INVALID = regex.compile(rf"[{_NEVER}]")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text; `value` is the URL, or the tag or name without its sign."""

    start: int
    end: int
    value: str


def normalised(text: str) -> str:
    """The text as X keeps it: NFC, its ends trimmed."""
    return unicodedata.normalize("NFC", text).strip()


def urls(text: str) -> list[Span]:
    """Every link, schemeless ones included, in order."""
    if "." not in text:
        return []
    return [span for match in _URL.finditer(text) for span in _links_of(match)]


def hashtags(text: str) -> list[Span]:
    return _tags(_HASHTAG, text)


def cashtags(text: str) -> list[Span]:
    return _tags(_CASHTAG, text)


def mentions(text: str) -> list[Span]:
    return _tags(_MENTION, text)


def has_invalid_characters(text: str) -> bool:
    return _INVALID.search(text) is not None


def weighted_length(text: str) -> int:
    """Characters as X counts them; the limit that most accounts have is 280."""
    text = unicodedata.normalize("NFC", text)
    return sum(weight for _, _, weight in weights(text))


def weights(text: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and weight of each piece that is counted as one: a link, an emoji or a code point."""
    whole = {span.start: (span.end, CHARACTERS_PER_URL) for span in urls(text)}
    for match in _EMOJI.finditer(text):
        whole.setdefault(match.start(), (match.end(), 2))
    position = 0
    while position < len(text):
        end, weight = whole.get(position) or (position + 1, _weight(text[position]))
        yield position, end, weight
        position = end


def _weight(character: str) -> int:
    return 1 if any(first <= ord(character) <= last for first, last in _LIGHT) else 2


def _tags(pattern: "regex.Pattern[str]", text: str) -> list[Span]:
    return [Span(match.start("tag") - 1, match.end(), match["tag"]) for match in pattern.finditer(text)]


def _links_of(match: "regex.Match[str]") -> list[Span]:
    scheme, domain = match["scheme"], match["domain"]
    if not _is_resolvable(domain) or len(scheme or "https://") + len(match["url"]) > LONGEST_URL:
        return []
    if scheme is None:
        return _schemeless(match)
    short = _SHORT_LINK.match(match["url"])
    if short is None:
        return [Span(match.start("url"), match.end("url"), match["url"])]
    if len(short[1]) > LONGEST_SLUG:
        return []
    return [Span(match.start("url"), match.start("url") + short.end(), short[0])]


def _schemeless(match: "regex.Match[str]") -> list[Span]:
    """Only the parts of a bare domain in Latin letters are links; a path belongs to the last of them."""
    if match["before"] and match["before"] in "-_./":
        return []
    begin = match.start("domain")
    found = [
        Span(begin + part.start(), begin + part.end(), part[0])
        for part in _PLAIN_DOMAIN.finditer(match["domain"])
    ]
    if found and match["path"]:
        start = found[-1].start
        found[-1] = Span(start, match.end("url"), match.string[start : match.end("url")])
    return found


def _is_resolvable(domain: str) -> bool:
    if domain.startswith("xn--") and not _PLAIN_DOMAIN.match(domain):
        return False
    return all(0 < _encoded_length(label) <= LONGEST_LABEL for label in domain.split("."))


def _encoded_length(label: str) -> int:
    return len(label) if label.isascii() else len("xn--") + len(label.encode("punycode"))
