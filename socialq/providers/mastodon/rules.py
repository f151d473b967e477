"""Mastodon's rules for a post, checked at compose: length as the server counts, media, options.

Parts and an account's limits arrive; `Problem`s leave. Pure.
What must stay true: what passes here is not refused at the slot for its form, and what a person reads names
the count, the limit and the way out.
"""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from socialq.domain.text import find_urls, grapheme_count
from socialq.providers.base import Problem
from socialq.providers.mastodon.limits import DEFAULT_LIMITS
from socialq.providers.options import Option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from socialq.providers.base import MediaItem, Part

VISIBILITIES: Final = ("public", "unlisted", "private", "direct")

OPTIONS: Final = (
    Option("visibility", "choice", "Who sees the post.", VISIBILITIES),
    Option("language", "text", "The language of the text, an ISO 639 code such as de."),
    Option("spoiler_text", "text", "A content warning: the text is folded under it."),
    Option("sensitive", "yes or no", "Whether files are hidden until somebody asks for them."),
)

_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_MENTION: Final = re.compile(r"(?<![=/\w])@(?P<user>[A-Za-z0-9_]+(?:[.-]+[A-Za-z0-9_]+)*)@\w+(?:[.-]+\w+)*")
_TOP_LEVEL: Final = re.compile(r"[^\W\d_]{2,}|xn--[a-z0-9-]+", re.IGNORECASE)


def mastodon_length(text: str, *, spoiler_text: str = "", characters_per_url: int = 23) -> int:
    """Count as Mastodon's own check does: graphemes of warning and text, a link as 23, a mention as `@user`.

    A link to a host without a top-level domain (`http://localhost/`) counts in full, as it does there.
    """
    length = grapheme_count(spoiler_text)
    end = 0
    for link in find_urls(text):
        if _is_counted_as_link(link.url):
            length += _without_domains(text[end : link.start]) + characters_per_url
            end = link.end
    return length + _without_domains(text[end:])


def short_mentions(text: str) -> str:
    """Return the text with each `@user@domain` as `@user`, which is how Mastodon shows and counts it."""
    return _MENTION.sub(r"@\g<user>", text)


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
        yield _problem("text", "empty", "Mastodon needs a text or a file: this post has neither. Write one.")
    yield from _check_options(part.options)
    yield from _check_length(part, limits)
    yield from _check_media(part.media, limits)


def _check_length(part: Part, limits: Mapping[str, Any]) -> Iterator[Problem]:
    most, per_url = int(limits["max_characters"]), int(limits["characters_reserved_per_url"])
    warning = part.options.get("spoiler_text")
    length = mastodon_length(
        part.text, spoiler_text=warning if isinstance(warning, str) else "", characters_per_url=per_url
    )
    if length > most:
        message = (
            f"Mastodon counts {length} characters (each link as {per_url}, a content warning included) and "
            f"this server allows {most}: shorten it by {length - most}, or split it into a thread with lines "
            "of three dashes."
        )
        yield _problem("text", "too_long", message)


def _check_options(options: Mapping[str, Any]) -> Iterator[Problem]:
    visibility = options.get("visibility")
    if visibility is not None and visibility not in VISIBILITIES:
        allowed = ", ".join(VISIBILITIES)
        yield _problem("visibility", "unknown", f"Mastodon knows {allowed}: choose one of them.")
    language = options.get("language")
    if language is not None and not (isinstance(language, str) and _LANGUAGE.fullmatch(language)):
        yield _problem("language", "unknown", "Mastodon takes an ISO 639 code for the language, such as de.")
    if not isinstance(options.get("spoiler_text", ""), str):
        yield _problem("spoiler_text", "not_text", "Mastodon takes a text as content warning: write one.")
    if not isinstance(options.get("sensitive", False), bool):
        yield _problem("sensitive", "not_boolean", "Mastodon takes true or false for sensitive.")


def _check_media(media: Sequence[MediaItem], limits: Mapping[str, Any]) -> Iterator[Problem]:
    most = int(limits["max_media_attachments"])
    if len(media) > most:
        message = f"This Mastodon server allows {most} files and this post has {len(media)}: remove some."
        yield _problem("media", "too_many", message)
    if len(media) > 1 and any(_stands_alone(item.mime_type) for item in media):
        message = "Mastodon allows one video, GIF or sound alone, or several images: remove one or the other."
        yield _problem("media", "mixed", message)
    for number, item in enumerate(media, start=1):
        yield from _check_file(number, item, limits)


def _check_file(number: int, item: MediaItem, limits: Mapping[str, Any]) -> Iterator[Problem]:
    if item.mime_type not in limits["mime_types"]:
        message = f"This Mastodon server takes no {item.mime_type} (file {number}): convert it."
        yield _problem("media", "type", message)
    image = item.mime_type.startswith("image/")
    most = int(limits["image_size_limit_bytes" if image else "video_size_limit_bytes"])
    if item.byte_size > most:
        message = (
            f"File {number} has {_mebibytes(item.byte_size)} and this Mastodon server allows "
            f"{_mebibytes(most)} for {'images' if image else 'video and sound'}: make it smaller."
        )
        yield _problem("media", "too_large", message)
    if item.byte_size == 0:
        yield _problem("media", "empty_file", f"File {number} is empty: replace it.")
    most, length = int(limits["description_limit"]), grapheme_count(item.alt_text)
    if length > most:
        message = (
            f"The description of file {number} has {length} characters and this Mastodon server allows "
            f"{most}: shorten it."
        )
        yield _problem("alt_text", "too_long", message)


def _stands_alone(mime_type: str) -> bool:
    return mime_type == "image/gif" or not mime_type.startswith("image/")


def _is_counted_as_link(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    name, _, top = host.rpartition(".")
    return bool(name) and _TOP_LEVEL.fullmatch(top) is not None


def _without_domains(text: str) -> int:
    return grapheme_count(short_mentions(text))


def _mebibytes(size: int) -> str:
    return f"{size / 1024 / 1024:.1f} MiB"


def _problem(field: str, code: str, message: str) -> Problem:
    return Problem(field=field, code=code, message=message)
