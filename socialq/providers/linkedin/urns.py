"""LinkedIn's names for things: which are whose, and how they stand in addresses.

Text arrives; a URN that may be kept, shown and put into a path leaves, or None.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple
from urllib.parse import quote, unquote

AuthorKind = Literal["person", "organization"]

_AUTHOR: Final = re.compile(r"urn:li:(person|organization):[A-Za-z0-9_-]{1,64}")
_POST: Final = re.compile(r"urn:li:(?:share|ugcPost):[0-9]{1,25}")
_ANY_POST: Final = re.compile(r"urn:li:(?:share|ugcPost|activity):[0-9]{1,25}")
_ASSET: Final = re.compile(r"urn:li:(?:image|video|document):[A-Za-z0-9_-]{1,200}")
_COMMENT: Final = re.compile(
    r"urn:li:comment:\((?P<parent>urn:li:(?:share|ugcPost|activity):[0-9]{1,25}),(?P<number>[0-9]{1,25})\)"
)
_NUMBER: Final = re.compile(r"[0-9]{1,25}")


class CommentName(NamedTuple):
    """The two halves of a comment's URN."""

    parent: str
    number: str


def author_kind(urn: str) -> AuthorKind | None:
    """Say whether a URN is a person's or an organisation's; None for anything else."""
    match = _AUTHOR.fullmatch(urn)
    if match is None:
        return None
    return "organization" if match[1] == "organization" else "person"


def post_urn(value: object) -> str | None:
    """Return the URN of a post (`share` or `ugcPost`), also one that came encoded."""
    return _matching(value, _POST)


def asset_urn(value: object) -> str | None:
    """Return the URN of an image, a video or a document."""
    return _matching(value, _ASSET)


def comment_urn(value: object) -> str | None:
    """Return the URN of a comment."""
    return _matching(value, _COMMENT)


def comment_name(urn: str) -> CommentName | None:
    """Take a comment's URN apart; None for any other URN."""
    match = _COMMENT.fullmatch(urn)
    return CommentName(match["parent"], match["number"]) if match else None


def comment_below(parent: str, number: object) -> str | None:
    """Name the comment `number` below a post."""
    if isinstance(number, int) and not isinstance(number, bool):
        number = str(number)
    if not isinstance(number, str) or not _NUMBER.fullmatch(number):
        return None
    return comment_urn(f"urn:li:comment:({parent},{number})")


def posts_named_in(words: str) -> list[str]:
    """List the posts that a sentence names."""
    return list(dict.fromkeys(_ANY_POST.findall(words)))


def in_path(urn: str) -> str:
    """Encode a URN as a path's segment; Rest.li wants its colons and brackets encoded too."""
    return quote(urn, safe="")


def permalink(urn: str) -> str:
    """Return the address of a post, or of a comment below its post."""
    if name := comment_name(urn):
        return f"https://www.linkedin.com/feed/update/{name.parent}/?commentUrn={quote(urn, safe='')}"
    return f"https://www.linkedin.com/feed/update/{urn}/"


def _matching(value: object, pattern: re.Pattern[str]) -> str | None:
    if not isinstance(value, str):
        return None
    plain = unquote(value.strip())
    return plain if pattern.fullmatch(plain) else None
