"""What a person may choose for a post on Bluesky, read from the options of a version.

`language` (one or several), `reply_settings` (who may reply), `labels` (content warnings), `link_card`. Options
arrive; the values that a record needs leave. Pure; what is wrong in them is told by `rules`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from socialq.providers.options import Option

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

OPTIONS: Final = (
    Option("language", "words", "The languages of the text, up to three ISO 639 codes such as de."),
    Option(
        "reply_settings", "choices", "Who may reply; everyone where it is left out.", (NOBODY, *REPLY_RULES)
    ),
    Option("labels", "choices", "Warnings that the author gives the post.", LABELS),
    Option("link_card.uri", "text", "The link of a card below the text, on a post without files."),
    Option("link_card.title", "text", "The title of that card, which Bluesky does not look up."),
    Option("link_card.description", "text", "The words below the card's title."),
)


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
