"""X's rules for a post, checked at compose: length as X weighs it, files, options.

Parts and an account's limits arrive; `Problem`s leave. Pure.
What must stay true: what passes here is not refused at the slot for its form, and what a person reads names
the count, the limit and the way out.
"""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from socialq.providers.base import Problem
from socialq.providers.options import Option
from socialq.providers.x.length import CHARACTERS_PER_LINK, weighted_length
from socialq.providers.x.limits import DEFAULT_LIMITS, MEBIBYTE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from socialq.providers.base import MediaItem, Part

REPLY_SETTINGS: Final = ("following", "mentionedUsers", "subscribers", "verified")
OPTIONS: Final = (
    Option("reply_settings", "choice", "Who may reply; everyone where it is left out.", REPLY_SETTINGS),
)
GIF: Final = "image/gif"

_INVALID: Final = re.compile("[\ufffe\ufeff\uffff]")
_CASHTAG: Final = re.compile(
    r"(?:^|(?<=\s))[$＄][a-z]{1,6}(?:[._][a-z]{1,2})?(?![^\s!-/:-@\[-`{-~])", re.IGNORECASE
)


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
        yield _problem("text", "empty", "X needs a text or a file: this post has neither. Write one.")
    yield from _check_text(part.text, limits)
    yield from _check_options(part.options)
    yield from _check_media(part.media, limits)


def _check_text(text: str, limits: Mapping[str, Any]) -> Iterator[Problem]:
    most, length = int(limits["max_weighted_length"]), weighted_length(text)
    if length > most:
        message = (
            f"X counts {length} characters (each link as {CHARACTERS_PER_LINK}, an emoji and most Asian letters "
            f"as 2) and allows {most}: shorten it by {length - most}, or split it into a thread with lines of "
            "three dashes."
        )
        yield _problem("text", "too_long", message)
    if found := _INVALID.search(text):
        message = f"X refuses the invisible character U+{ord(found.group()):04X} in this text: remove it."
        yield _problem("text", "invalid_character", message)
    most, cashtags = int(limits["max_cashtags"]), len(_CASHTAG.findall(text))
    if cashtags > most:
        message = f"X allows {most} cashtag in a post and this one has {cashtags}: remove some $ signs."
        yield _problem("text", "too_many_cashtags", message)


def _check_options(options: Mapping[str, Any]) -> Iterator[Problem]:
    who = options.get("reply_settings")
    if who not in (None, "") and who not in REPLY_SETTINGS:
        allowed = ", ".join(REPLY_SETTINGS)
        message = f"X knows {allowed} for who may reply: choose one of them, or leave it out for everyone."
        yield _problem("reply_settings", "unknown", message)


def _check_media(media: Sequence[MediaItem], limits: Mapping[str, Any]) -> Iterator[Problem]:
    most = int(limits["max_images"])
    if len(media) > 1 and any(_stands_alone(item.mime_type) for item in media):
        message = "X allows one video or GIF alone, or several images: remove one or the other."
        yield _problem("media", "mixed", message)
    elif len(media) > most:
        message = f"X allows {most} images and this post has {len(media)}: remove some."
        yield _problem("media", "too_many", message)
    for number, item in enumerate(media, start=1):
        yield from _check_file(number, item, limits)


def _check_file(number: int, item: MediaItem, limits: Mapping[str, Any]) -> Iterator[Problem]:
    kind, most = _kind_and_size(item.mime_type, limits)
    if kind is None:
        message = f"X takes no {item.mime_type} (file {number}): convert it to JPEG, PNG, WebP, GIF or MP4."
        yield _problem("media", "type", message)
    elif item.byte_size > most:
        message = (
            f"File {number} has {item.byte_size / MEBIBYTE:.1f} MiB and X allows {most / MEBIBYTE:.1f} MiB "
            f"for {kind}: make it smaller."
        )
        yield _problem("media", "too_large", message)
    if item.byte_size == 0:
        yield _problem("media", "empty_file", f"File {number} is empty: replace it.")
    most, length = int(limits["description_limit"]), len(item.alt_text)
    if length > most:
        message = (
            f"The description of file {number} has {length} characters and X allows {most}: shorten it by "
            f"{length - most}."
        )
        yield _problem("alt_text", "too_long", message)


def _kind_and_size(mime_type: str, limits: Mapping[str, Any]) -> tuple[str | None, int]:
    if mime_type == GIF:
        return "GIFs", int(limits["gif_size_limit_bytes"])
    if mime_type in limits["image_types"]:
        return "images", int(limits["image_size_limit_bytes"])
    if mime_type in limits["video_types"]:
        return "videos", int(limits["video_size_limit_bytes"])
    return None, 0


def _stands_alone(mime_type: str) -> bool:
    return mime_type == GIF or not mime_type.startswith("image/")


def _problem(field: str, code: str, message: str) -> Problem:
    return Problem(field=field, code=code, message=message)
