"""What a person may choose for a post on Bluesky, read from the options of a version.

`language` (one or several), `reply_settings` (who may reply), `labels` (content warnings), `link_card`. Options
arrive; the values that a record needs leave. Pure; what is wrong in them is told by `rules`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

NOBODY: Final = "nobody"
REPLY_RULES: Final = {
    "mentionedUsers": "mentionRule",
    "followers": "followerRule",
    "following": "followingRule",
}
LABELS: Final = ("sexual", "nudity", "porn", "graphic-media")
MOST_LANGUAGES: Final = 3
LANGUAGE: Final = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def languages_of(options: Mapping[str, Any]) -> list[str]:
    """Return the languages of the text, as ISO 639 codes."""
    return words_of(options.get("language"))


def repliers_of(options: Mapping[str, Any]) -> list[str] | None:
    """Return the rules of who may reply; an empty list: nobody; None: everybody."""
    chosen = words_of(options.get("reply_settings"))
    if not chosen:
        return None
    return [REPLY_RULES[one] for one in chosen if one in REPLY_RULES]


def labels_of(options: Mapping[str, Any]) -> list[str]:
    """Return the labels that the author gives the post."""
    return words_of(options.get("labels"))


def link_card_of(options: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the card below the text: Bluesky reads no page by itself, so all of it is said here."""
    card = options.get("link_card")
    if not isinstance(card, dict) or not card:
        return None
    return {name: str(card.get(name) or "") for name in ("uri", "title", "description")}


def words_of(value: object) -> list[str]:
    """Read one word or a list of words; anything else is no word."""
    if isinstance(value, str):
        return [value] if value else []
    return [word for word in value if isinstance(word, str) and word] if isinstance(value, list) else []
