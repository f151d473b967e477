"""Threads' rules for a post, checked at compose: length as Threads counts, links, files, options.

Parts and an account's limits arrive; `Problem`s leave. Pure.
What must stay true: what passes here is not refused at the slot for its form, in any part of a thread; what a
person reads names the count, the limit and the way out.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from socialq.providers.base import Problem
from socialq.providers.options import Option
from socialq.providers.threads.length import distinct_links, threads_length
from socialq.providers.threads.limits import DEFAULT_LIMITS, IMAGE_TYPES, MEBIBYTE, VIDEO_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from socialq.providers.base import MediaItem, Part

REPLY_CONTROLS: Final = (
    "everyone",
    "accounts_you_follow",
    "mentioned_only",
    "parent_post_author_only",
    "followers_only",
)

OPTIONS: Final = (
    Option("reply_control", "choice", "Who may reply.", REPLY_CONTROLS),
    Option("topic_tag", "text", "The topic that the post is filed under."),
    Option("link_attachment", "text", "A link that is shown as a card, on a post without files."),
)


def check_parts(parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
    """Check all parts of a target; a problem of a thread's part says which one."""
    known = ChainMap(dict(limits), dict(DEFAULT_LIMITS))
    if len(parts) == 1:
        return list(_check(parts[0], known))
    return [
        replace(problem, message=f"Part {part.number} of {len(parts)}: {problem.message}")
        for part in parts
        for problem in _check(part, known)
    ]


def _check(part: Part, limits: Mapping[str, Any]) -> Iterator[Problem]:
    if not part.text.strip() and not part.media:
        yield _problem("text", "empty", "Threads needs a text or a file: this post has neither. Write one.")
    yield from _check_text(part, limits)
    yield from _check_options(part, limits)
    yield from _check_media(part.media, limits)


def _check_text(part: Part, limits: Mapping[str, Any]) -> Iterator[Problem]:
    most, length = int(limits["max_length"]), threads_length(part.text)
    if length > most:
        message = (
            f"Threads counts {length} characters (an emoji as its 4 to 30 bytes) and allows {most}: shorten it "
            f"by {length - most}, or split it into a thread with lines of three dashes."
        )
        yield _problem("text", "too_long", message)
    attachment = part.options.get("link_attachment") if part.number == 1 else None
    most, links = int(limits["max_links"]), distinct_links(part.text, attachment)
    if links > most:
        message = f"Threads allows {most} different links in a post and this one has {links}: remove some."
        yield _problem("text", "too_many_links", message)


def _check_options(part: Part, limits: Mapping[str, Any]) -> Iterator[Problem]:
    who = part.options.get("reply_control")
    if who not in (None, "") and who not in REPLY_CONTROLS:
        allowed = ", ".join(REPLY_CONTROLS)
        yield _problem("reply_control", "unknown", f"Threads knows {allowed}: choose one of them.")
    tag, most = part.options.get("topic_tag"), int(limits["max_tag_length"])
    if tag not in (None, "") and not (isinstance(tag, str) and len(tag) <= most and not set(tag) & set(".&")):
        message = f"Threads takes a topic of 1 to {most} characters, without dots and ampersands: change it."
        yield _problem("topic_tag", "invalid", message)
    link = part.options.get("link_attachment")
    if link in (None, ""):
        return
    if not (isinstance(link, str) and link.startswith(("https://", "http://"))):
        yield _problem("link_attachment", "invalid", "Threads attaches a link that begins with https://.")
    elif part.media and part.number == 1:
        message = (
            "Threads attaches a link only to a post without files: put it into the text, or remove them."
        )
        yield _problem("link_attachment", "with_files", message)


def _check_media(media: Sequence[MediaItem], limits: Mapping[str, Any]) -> Iterator[Problem]:
    most = int(limits["max_files"])
    if len(media) > most:
        message = f"Threads allows {most} files and this post has {len(media)}: remove some."
        yield _problem("media", "too_many", message)
    for number, item in enumerate(media, start=1):
        yield from _check_file(number, item, limits)


def _check_file(number: int, item: MediaItem, limits: Mapping[str, Any]) -> Iterator[Problem]:
    kind, most = _kind_and_size(item.mime_type, limits)
    if kind is None:
        message = f"Threads takes no {item.mime_type} (file {number}): convert it to JPEG, PNG or MP4."
        yield _problem("media", "type", message)
    elif item.byte_size > most:
        message = (
            f"File {number} has {item.byte_size / MEBIBYTE:.1f} MiB and Threads allows {most / MEBIBYTE:.1f} "
            f"MiB for {kind}: make it smaller."
        )
        yield _problem("media", "too_large", message)
    if item.byte_size == 0:
        yield _problem("media", "empty_file", f"File {number} is empty: replace it.")
    most, length = int(limits["description_limit"]), len(item.alt_text)
    if length > most:
        message = (
            f"The description of file {number} has {length} characters and Threads allows {most}: shorten it by "
            f"{length - most}."
        )
        yield _problem("alt_text", "too_long", message)


def _kind_and_size(mime_type: str, limits: Mapping[str, Any]) -> tuple[str | None, int]:
    if mime_type in IMAGE_TYPES:
        return "images", int(limits["image_size_limit_bytes"])
    if mime_type in VIDEO_TYPES:
        return "videos", int(limits["video_size_limit_bytes"])
    return None, 0


def _problem(field: str, code: str, message: str) -> Problem:
    return Problem(field=field, code=code, message=message)
