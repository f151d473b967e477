"""LinkedIn's rules for a post, checked at compose: length, files, options.

Parts and an account's limits arrive; `Problem`s leave. Pure.
What must stay true: what passes here is not refused at the slot for its form, and what a person reads names the
count, the limit and the way out.
"""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from socialq.providers.base import Problem
from socialq.providers.linkedin.content import VISIBILITIES, is_comment, visibility_of
from socialq.providers.linkedin.limits import DEFAULT_LIMITS, MEGABYTE
from socialq.providers.linkedin.little_text import little_text, visible_text
from socialq.providers.options import Option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from socialq.providers.base import MediaItem, Part

OPTIONS: Final = (
    Option("visibility", "choice", "Who sees the post.", tuple(word.lower() for word in VISIBILITIES)),
    Option("reshare_disabled", "yes or no", "Whether nobody may share the post."),
    Option("title", "text", "The title of a document or a video."),
    Option("article_source", "text", "The link of a card below the text."),
    Option("article_title", "text", "The title of that card, which LinkedIn does not look up."),
    Option("article_description", "text", "The words below the card's title."),
)

_KINDS: Final = (("image", "images"), ("video", "videos"), ("document", "documents"))


def check_parts(parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
    """Check a whole target: one post, and its first comment if it has one."""
    known = ChainMap(dict(limits), dict(DEFAULT_LIMITS))
    problems = [] if sum(part.role == "post" for part in parts) <= 1 else [_no_threads(len(parts))]
    for part in parts:
        problems += _check_comment(part, known) if is_comment(part) else _check_post(part, known)
    return problems


def _no_threads(count: int) -> Problem:
    message = (
        f"LinkedIn has no threads and this text has {count} parts: give LinkedIn a text of its own without the "
        "lines of three dashes, or use the first comment."
    )
    return _problem("text", "no_threads", message)


def _check_post(part: Part, limits: Mapping[str, Any]) -> Iterator[Problem]:
    has_card = bool(part.options.get("article_source"))
    if not part.text.strip() and not part.media and not has_card:
        message = "LinkedIn needs a text, a file or a link's card: this post has none. Write one."
        yield _problem("text", "empty", message)
    yield from _check_length(part.text, int(limits["max_characters"]))
    yield from _check_visibility(part.options, limits)
    yield from _check_article(part, limits)
    yield from _check_media(part.media, limits)


def _check_comment(part: Part, limits: Mapping[str, Any]) -> Iterator[Problem]:
    text, most = visible_text(part.text), int(limits["max_comment_characters"])
    if not text.strip():
        yield _problem("text", "empty", "A comment on LinkedIn needs a text: write one, or leave it out.")
    if len(text) > most:
        message = (
            f"LinkedIn allows {most} characters in a comment and this one has {len(text)}: shorten it by "
            f"{len(text) - most}."
        )
        yield _problem("text", "too_long", message)
    if part.media:
        yield _problem("media", "in_comment", "A comment on LinkedIn can't carry files here: remove them.")


def _check_length(text: str, most: int) -> Iterator[Problem]:
    """Count what a reader sees, and what is sent: LinkedIn does not say which of them it limits."""
    seen, sent = len(visible_text(text)), len(little_text(text))
    if seen > most:
        message = f"LinkedIn allows {most} characters and this text has {seen}: shorten it by {seen - most}."
        yield _problem("text", "too_long", message)
    elif sent > most:
        message = (
            f"LinkedIn allows {most} characters. This text has {seen}, and {sent} with what brackets, hashes, "
            f"mentions and the like add when it is sent: shorten it by {sent - most}."
        )
        yield _problem("text", "too_long", message)


def _check_visibility(options: Mapping[str, Any], limits: Mapping[str, Any]) -> Iterator[Problem]:
    chosen = visibility_of(options)
    if chosen not in VISIBILITIES:
        message = (
            f"LinkedIn knows {', '.join(VISIBILITIES).lower()} for who may see a post: choose one of them, or "
            "leave it out for everyone."
        )
        yield _problem("visibility", "unknown", message)
    elif chosen == "CONNECTIONS" and limits["author"] == "organization":
        message = "An organisation on LinkedIn has no connections: choose public or logged_in."
        yield _problem("visibility", "not_for_organisations", message)


def _check_article(part: Part, limits: Mapping[str, Any]) -> Iterator[Problem]:
    source, title = part.options.get("article_source"), str(part.options.get("article_title") or "")
    if not source:
        return
    if not _is_link(source):
        message = "The address of the link's card is none that LinkedIn takes: begin it with https://."
        yield _problem("article_source", "not_a_link", message)
    if not title.strip():
        message = "LinkedIn looks at no link itself: give its card a title (article_title)."
        yield _problem("article_title", "missing", message)
    most = int(limits["title_limit"])
    if len(title) > most:
        message = f"The card's title has {len(title)} characters and LinkedIn allows {most}: shorten it."
        yield _problem("article_title", "too_long", message)
    if len(part.media) > 1 or any(not item.mime_type.startswith("image/") for item in part.media):
        message = "A link's card on LinkedIn shows one image: remove the other files, or the card."
        yield _problem("media", "with_card", message)


def _check_media(media: Sequence[MediaItem], limits: Mapping[str, Any]) -> Iterator[Problem]:
    most = int(limits["max_images"])
    if len(media) > 1 and any(_kind(item.mime_type, limits) != "image" for item in media):
        message = "LinkedIn allows one video or document alone, or several images: remove one or the other."
        yield _problem("media", "mixed", message)
    elif len(media) > most:
        message = f"LinkedIn allows {most} images and this post has {len(media)}: remove some."
        yield _problem("media", "too_many", message)
    for number, item in enumerate(media, start=1):
        yield from _check_file(number, item, limits)


def _check_file(number: int, item: MediaItem, limits: Mapping[str, Any]) -> Iterator[Problem]:
    kind = _kind(item.mime_type, limits)
    if kind is None:
        message = (
            f"LinkedIn takes no {item.mime_type} (file {number}): convert it to JPEG, PNG, GIF, MP4 or PDF."
        )
        yield _problem("media", "type", message)
    elif item.byte_size > (most := int(limits[f"{kind}_size_limit_bytes"])):
        message = (
            f"File {number} has {item.byte_size / MEGABYTE:.1f} MB and LinkedIn allows {most / MEGABYTE:.1f} MB "
            f"for {dict(_KINDS)[kind]}: make it smaller."
        )
        yield _problem("media", "too_large", message)
    if item.byte_size == 0:
        yield _problem("media", "empty_file", f"File {number} is empty: replace it.")
    elif kind == "video" and item.byte_size < int(limits["video_least_bytes"]):
        message = f"File {number} is smaller than any video that LinkedIn takes (75 kB): replace it."
        yield _problem("media", "too_small", message)
    most, length = int(limits["description_limit"]), len(item.alt_text)
    if length > most:
        message = (
            f"The description of file {number} has {length} characters and LinkedIn allows {most}: shorten it "
            f"by {length - most}."
        )
        yield _problem("alt_text", "too_long", message)


def _kind(mime_type: str, limits: Mapping[str, Any]) -> str | None:
    return next((kind for kind, _ in _KINDS if mime_type in limits[f"{kind}_types"]), None)


def _is_link(source: object) -> bool:
    try:
        split = urlsplit(str(source))
    except ValueError:
        return False
    return split.scheme in {"http", "https"} and bool(split.hostname)


def _problem(field: str, code: str, message: str) -> Problem:
    return Problem(field=field, code=code, message=message)
