"""Instagram's rules for a post, checked at compose: files, caption, hashtags, mentions, options.

Parts and an account's limits arrive; `Problem`s leave. Pure.
What must stay true: what passes here is not refused at the slot for its form, and what a person reads names the
count, the limit and the way out. There are no posts of text alone, and no threads: what stands under a post is its
first comment.
"""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from socialq.providers.base import Problem
from socialq.providers.instagram.limits import DEFAULT_LIMITS, IMAGE_TYPES, MEBIBYTE, VIDEO_TYPES
from socialq.providers.options import Option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from socialq.providers.base import MediaItem, Part

_HASHTAG: Final = re.compile(r"[#＃]\w+")
_MENTION: Final = re.compile(r"(?<!\w)@[A-Za-z0-9_.]+")
_USER_NAME: Final = re.compile(r"[A-Za-z0-9_.]{1,30}")
_RATIO_GRAIN: Final = 0.005

OPTIONS: Final = (
    Option(
        "collaborators",
        "words",
        "User names that are asked to share the post as theirs, with commas between.",
    ),
    Option("share_to_feed", "yes or no", "Whether a reel is shown among the posts as well."),
    Option(
        "thumb_offset_ms",
        "number",
        "Which moment of a video is its cover, in milliseconds from its beginning.",
    ),
)


def check_parts(parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
    """Check all parts of a target; a problem of a later part says which one."""
    known = ChainMap(dict(limits), dict(DEFAULT_LIMITS))
    return [
        problem
        if part.number == 1
        else replace(problem, message=f"Part {part.number} of {len(parts)}: {problem.message}")
        for part in parts
        for problem in _check(part, known)
    ]


def _check(part: Part, limits: Mapping[str, Any]) -> Iterator[Problem]:
    if part.role == "comment":
        yield from _check_comment(part)
    elif part.number > 1:
        message = "Instagram has no threads: write one post, and the rest as its first comment."
        yield _problem("text", "no_threads", message)
    elif not part.media:
        yield _problem("media", "missing", "Instagram needs a picture or a video: add one.")
    yield from _check_text(part.text, limits)
    yield from _check_options(part.options, limits)
    yield from _check_media(part.media, limits)


def _check_comment(part: Part) -> Iterator[Problem]:
    if not part.text.strip():
        yield _problem("text", "empty", "Instagram needs a text in a comment: write one, or leave it out.")
    if part.media:
        yield _problem("media", "in_comment", "Instagram takes no files in a comment: remove them.")


def _check_text(text: str, limits: Mapping[str, Any]) -> Iterator[Problem]:
    most, length = int(limits["max_length"]), len(text)
    if length > most:
        message = (
            f"Instagram allows {most} characters and this text has {length}: shorten it by {length - most}."
        )
        yield _problem("text", "too_long", message)
    for pattern, name, word in (
        (_HASHTAG, "max_hashtags", "hashtags"),
        (_MENTION, "max_mentions", "mentions"),
    ):
        most, count = int(limits[name]), len(pattern.findall(text))
        if count > most:
            message = f"Instagram allows {most} {word} and this text has {count}: remove {count - most}."
            yield _problem("text", f"too_many_{word}", message)


def _check_options(options: Mapping[str, Any], limits: Mapping[str, Any]) -> Iterator[Problem]:
    names, most = options.get("collaborators"), int(limits["max_collaborators"])
    if names not in (None, "", [], ()):
        listed = list(names) if isinstance(names, (list, tuple)) else []
        fit = [name for name in listed if isinstance(name, str) and _USER_NAME.fullmatch(name)]
        if not listed or len(fit) < len(listed) or len(listed) > most:
            message = f"Instagram takes up to {most} user names as collaborators: correct the list."
            yield _problem("collaborators", "invalid", message)
    if not isinstance(options.get("share_to_feed", True), bool):
        yield _problem("share_to_feed", "not_boolean", "Instagram takes true or false for share_to_feed.")
    offset = options.get("thumb_offset_ms", 0)
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        message = "Instagram takes a number of milliseconds as the place of a video's cover: correct it."
        yield _problem("thumb_offset_ms", "invalid", message)


def _check_media(media: Sequence[MediaItem], limits: Mapping[str, Any]) -> Iterator[Problem]:
    most = int(limits["max_files"])
    if len(media) > most:
        message = f"Instagram allows {most} files in a carousel and this post has {len(media)}: remove some."
        yield _problem("media", "too_many", message)
    for number, item in enumerate(media, start=1):
        yield from _check_file(number, item, limits)


def _check_file(number: int, item: MediaItem, limits: Mapping[str, Any]) -> Iterator[Problem]:
    kind, most = _kind_and_size(item.mime_type, limits)
    if kind is None:
        message = f"Instagram takes no {item.mime_type} (file {number}): convert it to JPEG or MP4."
        yield _problem("media", "type", message)
    elif item.byte_size > most:
        message = (
            f"File {number} has {item.byte_size / MEBIBYTE:.1f} MiB and Instagram allows {most / MEBIBYTE:.1f} "
            f"MiB for {kind}: make it smaller."
        )
        yield _problem("media", "too_large", message)
    if item.byte_size == 0:
        yield _problem("media", "empty_file", f"File {number} is empty: replace it.")
    if kind == "images" and item.width and item.height:
        yield from _check_ratio(number, item.width / item.height, limits)
    most, length = int(limits["description_limit"]), len(item.alt_text)
    if length > most:
        message = (
            f"The description of file {number} has {length} characters and Instagram allows {most}: shorten it by "
            f"{length - most}."
        )
        yield _problem("alt_text", "too_long", message)


def _check_ratio(number: int, ratio: float, limits: Mapping[str, Any]) -> Iterator[Problem]:
    least, most = float(limits["min_ratio"]), float(limits["max_ratio"])
    if not least - _RATIO_GRAIN <= ratio <= most + _RATIO_GRAIN:
        message = (
            f"File {number} is {ratio:.2f} times as wide as it is tall and Instagram shows {least:.2f} to "
            f"{most:.2f}: crop it."
        )
        yield _problem("media", "ratio", message)


def _kind_and_size(mime_type: str, limits: Mapping[str, Any]) -> tuple[str | None, int]:
    if mime_type in IMAGE_TYPES:
        return "images", int(limits["image_size_limit_bytes"])
    if mime_type in VIDEO_TYPES:
        return "videos", int(limits["video_size_limit_bytes"])
    return None, 0


def _problem(field: str, code: str, message: str) -> Problem:
    return Problem(field=field, code=code, message=message)
