"""How long a text is for X, and which pieces of it X makes links of.

A text arrives; its weighted length, and its links with their places, leave. Pure.
What must stay true: what is counted as at most the limit here is not refused for its length there.

Source: twitter-text, configuration version 3. A link is 23 whatever its length; an emoji, of however many
code points, is 2; letters of most alphabets 1, everything else (Chinese, Japanese, Korean, …) 2.
"""

from __future__ import annotations

import unicodedata
from typing import Final

import regex

from socialq.domain.text import FoundLink
from socialq.providers.top_level_domains import TOP_LEVEL_DOMAINS

CHARACTERS_PER_LINK: Final = 23

_MOST_LINK_CHARACTERS: Final = 4096
_MOST_LABEL_CHARACTERS: Final = 63
_ENCODED: Final = "xn--"
"""What an encoded label begins with."""
_MOST_CHARACTERS_SEARCHED: Final = 4_000
"""A longer text is too long whatever links it has; searching it would take time for nothing."""

_LIGHT: Final = ((0, 4351), (8192, 8205), (8208, 8223), (8242, 8247))
"""The code points that weigh 1; all others weigh 2."""

# The regions with a flag (CLDR, as of Emoji 16); two region letters that are none of them count for themselves.
_REGIONS: Final = (
    "AC AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV "
    "BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CP CQ CR CU CV CW CX CY CZ DE DG DJ DK DM DO DZ EA EC EE EG "
    "EH ER ES ET EU FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT "
    "HU IC ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT "
    "LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP "
    "NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL "
    "SM SN SO SR SS ST SV SX SY SZ TA TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM UN US UY UZ VA "
    "VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW"
)
_FLAGS: Final = frozenset(_REGIONS.split())
_REGION_A: Final = 0x1F1E6

_MODIFIED: Final = r"(?:(?<=\p{Emoji_Modifier_Base}\uFE0F?)\p{Emoji_Modifier})"
_ONE_EMOJI: Final = rf"(?:[©®]\uFE0F|[\p{{Extended_Pictographic}}--[©®]]\uFE0F?){_MODIFIED}?(?!\uFE0E)"
# Joined ones are one only if each is meant as a picture: by itself, by a mark, or by the colour of its skin.
_JOINED_EMOJI: Final = (
    rf"(?:\p{{Emoji_Presentation}}\uFE0F?{_MODIFIED}?"
    rf"|\p{{Extended_Pictographic}}(?:\uFE0F{_MODIFIED}?|{_MODIFIED}))"
)
_EMOJI: Final = regex.compile(
    r"(?P<keycap>[#*0-9]\uFE0F?\u20E3)"
    r"|(?P<flag>[\U0001F1E6-\U0001F1FF]{2})"
    r"|(?P<nation>\U0001F3F4[\U000E0061-\U000E007A]{2,6}\U000E007F)"
    rf"|(?P<picture>{_JOINED_EMOJI}(?:\u200D{_JOINED_EMOJI})+|{_ONE_EMOJI})",
    regex.V1,
)

_ACCENTED: Final = (
    r"\xC0-\xD6\xD8-\xF6\xF8-\xFF\u0100-\u024F\u0253\u0254\u0256\u0257\u0259\u025B\u0263\u0268\u026F\u0272"
    r"\u0289\u028B\u02BB\u0300-\u036F\u1E00-\u1EFF"
)
_UNSEEN: Final = r"\uFFFE\uFEFF\uFFFF"
_DIRECTION: Final = r"\u202A-\u202E\u061C\u200E\u200F\u2066-\u2069"
_SPACE: Final = r"\x09-\x0D\x20\x85\xA0\u1680\u180E\u2000-\u200A\u2028\u2029\u202F\u205F\u3000"
_NOT_IN_HOST: Final = rf"!'#%&()*+,\\./:;<=>?@\[\]^{{|}}~${_SPACE}{_UNSEEN}{_DIRECTION}"
# A label runs to its dot, so nothing is gained by trying it shorter: possessive, or long texts take minutes.
_SUBDOMAIN: Final = rf"(?![_-])[^{_NOT_IN_HOST}]++(?<![_-])\."
_DOMAIN: Final = rf"(?!-)[^_{_NOT_IN_HOST}]++(?<!-)\."
_TOP: Final = r"(?:\L<tops>(?=[^0-9a-zA-Z@+-]|$)|xn--[-0-9a-z]+)"
_IN_PATH: Final = rf"[a-z\u0400-\u04FF0-9!*';:=+,.$/%#\[\]\-\u2013_~@|&{_ACCENTED}]"
_BRACKETS: Final = rf"\((?:{_IN_PATH}+|{_IN_PATH}*\({_IN_PATH}+\){_IN_PATH}*)\)"
_PATH_END: Final = rf"(?:[+\-a-z\u0400-\u04FF0-9=_#/{_ACCENTED}]|{_BRACKETS})"
_PATH: Final = rf"(?:(?:{_IN_PATH}*(?:{_BRACKETS}{_IN_PATH}*)*{_PATH_END})|(?:@{_IN_PATH}+/))"
_IN_QUERY: Final = r"[a-z0-9!?*'@();:&=+$/%#\[\]\-_.,~|]"
_QUERY: Final = rf"\?{_IN_QUERY}*[a-z0-9\-_&=#/]"
_LINK: Final = regex.compile(
    rf"(?P<before>[^A-Za-z0-9@＠$#＃{_UNSEEN}]|^)"
    r"(?P<url>(?P<scheme>https?://)?"
    rf"(?P<host>(?:{_SUBDOMAIN}){{0,30}}{_DOMAIN}{_TOP})"
    rf"(?::[0-9]+)?(?P<path>/{_PATH}*)?(?:{_QUERY})?)",
    regex.IGNORECASE,
    tops=TOP_LEVEL_DOMAINS,
)
_PLAIN_HOST: Final = regex.compile(
    rf"(?:[-a-z0-9{_ACCENTED}]+\.)+{_TOP}", regex.IGNORECASE, tops=TOP_LEVEL_DOMAINS
)
_SHORTENED: Final = regex.compile(rf"https?://t\.co/(?P<slug>[a-z0-9]+)(?:{_QUERY})?", regex.IGNORECASE)
_MOST_SLUG_CHARACTERS: Final = 40


def weighted_length(text: str) -> int:
    """Return how much of the limit a text takes, in X's weighted characters."""
    plain = unicodedata.normalize("NFC", text)
    length = end = 0
    for link in find_links(plain):
        length += _weight(plain[end : link.start]) + CHARACTERS_PER_LINK
        end = link.end
    return length + _weight(plain[end:])


def find_links(text: str) -> list[FoundLink]:
    """Find what X makes a link of, in order, also hosts without `https://` in front.

    An address of e-mail is none, nor is a host whose last label is no top-level domain.
    """
    links: list[FoundLink] = []
    if "." not in text or len(text) > _MOST_CHARACTERS_SEARCHED:
        return links
    for match in _LINK.finditer(text):
        if not _is_possible(match["host"], match["url"]):
            continue
        if match["scheme"]:
            links += _with_scheme(match)
        elif not match["before"] or match["before"] not in "-_./":
            links += _without_scheme(match)
    return links


def _is_possible(host: str, url: str) -> bool:
    labels = host.split(".")
    return len(url) <= _MOST_LINK_CHARACTERS and all(map(_is_label, labels))


def _is_label(label: str) -> bool:
    """Say whether a label is short enough as name servers know it: other letters than ASCII's take more there."""
    if label.isascii() or len(label) > _MOST_LABEL_CHARACTERS:
        return len(label) <= _MOST_LABEL_CHARACTERS
    return len(_ENCODED) + len(label.encode("punycode")) <= _MOST_LABEL_CHARACTERS


def _with_scheme(match: regex.Match[str]) -> list[FoundLink]:
    start, url = match.start("url"), match["url"]
    shortened = _SHORTENED.match(url)
    if shortened is None:
        return [FoundLink(start, start + len(url), url)]
    if len(shortened["slug"]) > _MOST_SLUG_CHARACTERS:
        return []
    return [FoundLink(start, start + shortened.end(), shortened.group())]


def _without_scheme(match: regex.Match[str]) -> list[FoundLink]:
    """Take the parts of the host in Latin letters. What follows the host lengthens the last of them.

    Where other letters stand between, X still takes as many characters as that part and the path have.
    """
    start = match.start("host")
    links = [
        FoundLink(start + plain.start(), start + plain.end(), plain.group())
        for plain in _PLAIN_HOST.finditer(match["host"])
    ]
    if links and match["path"]:
        last = links[-1]
        end = last.end + match.end("url") - match.end("host")
        links[-1] = FoundLink(last.start, end, match.string[last.start : end])
    return links


def _weight(text: str) -> int:
    if text.isascii():
        return len(text)
    weight = end = 0
    for emoji in _EMOJI.finditer(text):
        if _is_one(emoji):
            weight += sum(map(_weight_of, text[end : emoji.start()])) + 2
            end = emoji.end()
    return weight + sum(map(_weight_of, text[end:]))


def _is_one(emoji: regex.Match[str]) -> bool:
    """Say whether a match counts as one emoji: flags only where there is such a region."""
    if not emoji["flag"]:
        return True
    region = "".join(chr(ord("A") + ord(letter) - _REGION_A) for letter in emoji["flag"])
    return region in _FLAGS


def _weight_of(character: str) -> int:
    code_point = ord(character)
    return 1 if any(first <= code_point <= last for first, last in _LIGHT) else 2
