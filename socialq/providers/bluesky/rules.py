"""Bluesky's rules for a post, checked at compose: length in graphemes and in bytes, files, options.

Parts and an account's limits arrive; `Problem`s leave. Pure.
What must stay true: what passes here is not refused at the slot for its form, and what a person reads names
the count, the limit and the way out.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.text import find_urls, grapheme_count
from socialq.providers.base import Problem
from socialq.providers.bluesky.limits import DEFAULT_LIMITS
from socialq.providers.bluesky.options import (
    LABELS,
    LANGUAGE,
    MOST_LANGUAGES,
    NOBODY,
    REPLY_RULES,
    languages_of,
    link_card_of,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from socialq.providers.base import MediaItem, Part

_MEGABYTE: Final = 1_000_000


def check_parts(parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
    """Check all parts of a target; a problem of a thread's part says which one."""
    known = ChainMap(dict(limits), dict(DEFAULT_LIMITS))
    if len(parts) == 1:
        return list(_check(parts[0], known))
    return [
        replace(problem, message=f"{_name(part, parts)}: {problem.message}")
        for part in parts
        for problem in _check(part, known)
    ]


def _name(part: Part, parts: Sequence[Part]) -> str:
    return "First comment" if part.role == "comment" else f"Part {part.number} of {len(parts)}"


def _check(part: Part, limits: Mapping[str, Any]) -> Iterator[Problem]:
    if not part.text.strip() and not part.media:
        yield _problem("text", "empty", "Bluesky needs a text or a file: this post has neither. Write one.")
    yield from _check_length(part.text, limits)
    yield from _check_options(part)
    yield from _check_media(part.media, limits)


def _check_length(text: str, limits: Mapping[str, Any]) -> Iterator[Problem]:
    """Two limits, either of which may be the one: an emoji of a family is one character and 25 bytes."""
    most, length = int(limits["max_graphemes"]), grapheme_count(text)
    if length > most:
        message = (
            f"Bluesky counts {length} characters (links in full) and allows {most}: shorten it by "
            f"{length - most}, or split it into a thread with lines of three dashes."
        )
        yield _problem("text", "too_long", message)
    most, size = int(limits["max_bytes"]), len(text.encode("utf-8", "replace"))
    if size > most and length <= int(limits["max_graphemes"]):
        message = (
            f"Bluesky allows {most} bytes and this text has {size}, most of them in emoji or accents made of "
            "several signs: take some out."
        )
        yield _problem("text", "too_long", message)


def _check_options(part: Part) -> Iterator[Problem]:
    options = part.options
    languages = languages_of(options)
    is_wrong = not _is_words(options.get("language")) or any(not LANGUAGE.fullmatch(one) for one in languages)
    if is_wrong or len(languages) > MOST_LANGUAGES:
        message = f"Bluesky takes up to {MOST_LANGUAGES} ISO 639 codes for the language, such as de."
        yield _problem("language", "unknown", message)
    yield from _check_repliers(options.get("reply_settings"))
    labels = options.get("labels")
    if not _is_words(labels) or set(words_of(labels)) - set(LABELS):
        message = f"Bluesky knows the labels {', '.join(LABELS)}: choose of them."
        yield _problem("labels", "unknown", message)
    yield from _check_card(part)


def _check_repliers(value: object) -> Iterator[Problem]:
    chosen = words_of(value)
    known = {NOBODY, *REPLY_RULES}
    if not _is_words(value) or set(chosen) - known or (NOBODY in chosen and len(chosen) > 1):
        message = (
            f"Bluesky knows {NOBODY}, or any of {', '.join(REPLY_RULES)}, for who may reply: choose of them, "
            "or leave it out for everyone."
        )
        yield _problem("reply_settings", "unknown", message)


def _check_card(part: Part) -> Iterator[Problem]:
    given = part.options.get("link_card")
    if given in (None, "", {}):
        return
    card = link_card_of(part.options)
    links = [] if card is None else find_urls(card["uri"])
    if card is None or not links or links[0].url != card["uri"] or not card["title"].strip():
        message = "Bluesky's link card needs uri (a whole link) and title, and may have a description."
        yield _problem("link_card", "incomplete", message)
    elif part.media:
        message = "Bluesky shows files or a link card, not both: remove one or the other."
        yield _problem("link_card", "mixed", message)


def _check_media(media: Sequence[MediaItem], limits: Mapping[str, Any]) -> Iterator[Problem]:
    most = int(limits["max_images"])
    if len(media) > 1 and any(not item.mime_type.startswith("image/") for item in media):
        message = "Bluesky allows one video alone, or several images: remove one or the other."
        yield _problem("media", "mixed", message)
    elif len(media) > most:
        message = f"Bluesky allows {most} images and this post has {len(media)}: remove some."
        yield _problem("media", "too_many", message)
    for number, item in enumerate(media, start=1):
        yield from _check_file(number, item, limits)


def _check_file(number: int, item: MediaItem, limits: Mapping[str, Any]) -> Iterator[Problem]:
    kind, most = _kind_and_size(item.mime_type, limits)
    if kind is None:
        message = f"Bluesky takes no {item.mime_type} (file {number}): convert it to JPEG, PNG, WebP or MP4."
        yield _problem("media", "type", message)
    elif item.byte_size > most:
        message = (
            f"File {number} has {item.byte_size / _MEGABYTE:.2f} MB and Bluesky allows {most / _MEGABYTE:.0f} "
            f"MB for {kind}: make it smaller."
        )
        yield _problem("media", "too_large", message)
    if item.byte_size == 0:
        yield _problem("media", "empty_file", f"File {number} is empty: replace it.")
    longest = int(limits["video_seconds_limit"])
    if kind == "videos" and item.duration_seconds is not None and item.duration_seconds > longest:
        message = f"File {number} runs {item.duration_seconds:.0f} seconds and Bluesky allows {longest}: shorten it."
        yield _problem("media", "too_long", message)
    most, length = int(limits["description_limit"]), grapheme_count(item.alt_text)
    if length > most:
        message = (
            f"The description of file {number} has {length} characters and Bluesky shows {most}: shorten it by "
            f"{length - most}."
        )
        yield _problem("alt_text", "too_long", message)


def _kind_and_size(mime_type: str, limits: Mapping[str, Any]) -> tuple[str | None, int]:
    if mime_type in limits["image_types"]:
        return "images", int(limits["image_size_limit_bytes"])
    if mime_type in limits["video_types"]:
        return "videos", int(limits["video_size_limit_bytes"])
    return None, 0


def _is_words(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(word, str) for word in value)
    return value is None or isinstance(value, str)


def _problem(field: str, code: str, message: str) -> Problem:
    return Problem(field=field, code=code, message=message)
