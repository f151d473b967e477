"""Facebook's rules for a Page's post, checked at compose: length, files, options, the first comment.

Parts and an account's limits arrive; `Problem`s leave. Pure.
What must stay true: what passes here is not refused at the slot for its form, and what a person reads names the
count, the limit and the way out. Lengths are counted in UTF-16 units, the largest of the counts that it could be.
"""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from socialq.providers.base import Problem
from socialq.providers.facebook.forms import (
    FORMATS,
    form_of,
    has_reel_coding,
    has_reel_speed,
    is_own_link,
    is_upright,
    is_video,
)
from socialq.providers.facebook.limits import DEFAULT_LIMITS, MEBIBYTE
from socialq.providers.options import Option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from socialq.providers.base import MediaItem, Part

OPTIONS: Final = (
    Option("link", "text", "A link that is shown as a card, on a post without files."),
    Option("link_preview", "yes or no", "Whether the first link of the text is shown as a card."),
    Option("format", "choice", "What becomes of a video.", FORMATS),
    Option("title", "text", "The title of a video."),
)
_LONGEST_TITLE: Final = 255


def utf16_length(text: str) -> int:
    """Count the units of UTF-16: an emoji counts two or more."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def check_parts(parts: Sequence[Part], limits: Mapping[str, Any]) -> list[Problem]:
    """Check all parts of a target."""
    known = ChainMap(dict(limits), dict(DEFAULT_LIMITS))
    posts = [part for part in parts if part.role == "post"]
    problems: list[Problem] = []
    if len(posts) > 1:
        message = (
            f"Facebook has no threads and this post has {len(posts)} parts: take out the lines of three dashes for "
            "Facebook, or put what follows into the first comment."
        )
        problems.append(_problem("text", "no_threads", message))
    for part in parts:
        problems += _check_comment(part, known) if part.role == "comment" else _check_post(part, known)
    return problems


def _check_post(part: Part, limits: Mapping[str, Any]) -> Iterator[Problem]:
    if not part.text.strip() and not part.media and not part.options.get("link"):
        yield _problem(
            "text", "empty", "Facebook needs a text, a link or a file: this post has none. Write one."
        )
    yield from _check_length(part.text, int(limits["max_characters"]), "")
    yield from _check_options(part)
    yield from _check_media(part.media, limits)
    if form_of(part) == "reel":
        yield from _check_reel(part.media[0], limits)


def _check_comment(part: Part, limits: Mapping[str, Any]) -> Iterator[Problem]:
    if not part.text.strip():
        yield _problem(
            "text", "empty", "The first comment on Facebook has no text: write one, or leave it out."
        )
    yield from _check_length(part.text, int(limits["max_comment_characters"]), "in the first comment ")
    if part.media:
        message = "Facebook's first comment takes no files here: put them into the post."
        yield _problem("media", "comment_media", message)


def _check_length(text: str, most: int, where: str) -> Iterator[Problem]:
    length = utf16_length(text)
    if length > most:
        message = (
            f"Facebook counts {length} characters {where}(an emoji as 2 or more) and allows {most}: shorten it by "
            f"{length - most}."
        )
        yield _problem("text", "too_long", message)


def _check_options(part: Part) -> Iterator[Problem]:
    options = part.options
    link = options.get("link")
    if link not in (None, "") and not _is_web_link(link):
        yield _problem(
            "link", "not_a_link", "Facebook takes an address with http or https as link: correct it."
        )
    elif isinstance(link, str) and link and is_own_link(link):
        message = "Facebook refuses links to itself: leave the link out, or share the post by hand."
        yield _problem("link", "own_link", message)
    elif link and part.media:
        message = "Facebook shows either a link's preview or files: take the link or the files out."
        yield _problem("link", "with_media", message)
    if not isinstance(options.get("link_preview", True), bool):
        yield _problem("link_preview", "not_boolean", "Facebook takes true or false for link_preview.")
    if options.get("format") not in (None, "", *FORMATS):
        message = f"Facebook knows {' and '.join(FORMATS)} as format of a video: choose one, or leave it out."
        yield _problem("format", "unknown", message)
    title = options.get("title", "")
    if not isinstance(title, str) or len(title) > _LONGEST_TITLE:
        message = (
            f"Facebook takes a text of at most {_LONGEST_TITLE} characters as title of a video: shorten it."
        )
        yield _problem("title", "too_long", message)


def _check_media(media: Sequence[MediaItem], limits: Mapping[str, Any]) -> Iterator[Problem]:
    most = int(limits["max_photos"])
    if len(media) > 1 and any(is_video(item) for item in media):
        message = "Facebook takes one video alone, or several photos: remove one or the other."
        yield _problem("media", "mixed", message)
    elif len(media) > most:
        message = f"Facebook takes {most} photos here and this post has {len(media)}: remove some."
        yield _problem("media", "too_many", message)
    for number, item in enumerate(media, start=1):
        yield from _check_file(number, item, limits)


def _check_file(number: int, item: MediaItem, limits: Mapping[str, Any]) -> Iterator[Problem]:
    kind = "video" if is_video(item) else "photo"
    most = int(limits[f"{kind}_size_limit_bytes"])
    if item.mime_type not in limits[f"{kind}_types"]:
        message = f"Facebook takes no {item.mime_type} (file {number}): convert it to JPEG, PNG or MP4."
        yield _problem("media", "type", message)
    elif item.byte_size > most:
        message = (
            f"File {number} has {item.byte_size / MEBIBYTE:.1f} MiB and Facebook allows {most / MEBIBYTE:.1f} MiB "
            f"for a {kind}: make it smaller."
        )
        yield _problem("media", "too_large", message)
    if item.byte_size == 0:
        yield _problem("media", "empty_file", f"File {number} is empty: replace it.")
    most, length = int(limits["max_alt_characters"]), len(item.alt_text)
    if length > most:
        message = (
            f"The description of file {number} has {length} characters and Facebook allows {most}: shorten it by "
            f"{length - most}."
        )
        yield _problem("alt_text", "too_long", message)


def _check_reel(item: MediaItem, limits: Mapping[str, Any]) -> Iterator[Problem]:
    """Check a reel for what is known of its file."""
    if item.width and item.height:
        if not is_upright(item):
            message = (
                f"A Facebook reel is upright, 9:16, and this video has {item.width} x {item.height}: crop it."
            )
            yield _problem("media", "reel_ratio", message)
        width, height = int(limits["reel_min_width"]), int(limits["reel_min_height"])
        if item.width < width or item.height < height:
            message = f"A Facebook reel has at least {width} x {height} pixels: use a larger video."
            yield _problem("media", "reel_size", message)
    least, most = float(limits["reel_min_seconds"]), float(limits["reel_max_seconds"])
    if item.duration_seconds is not None and not least <= item.duration_seconds <= most:
        message = (
            f"A Facebook reel lasts {least:.0f} to {most:.0f} seconds and this video {item.duration_seconds:.0f}: "
            "cut it, or choose the format video."
        )
        yield _problem("media", "reel_duration", message)
    yield from _check_reel_coding(item, limits)


def _check_reel_coding(item: MediaItem, limits: Mapping[str, Any]) -> Iterator[Problem]:
    if not has_reel_speed(item, limits):
        message = (
            f"A Facebook reel has {limits['reel_min_fps']} to {limits['reel_max_fps']} pictures a second and this "
            f"video {item.fps:g}: export it again, or choose the format video."
        )
        yield _problem("media", "reel_frame_rate", message)
    if not has_reel_coding(item, limits):
        coded = " and ".join(codec for codec in (item.video_codec, item.audio_codec) if codec)
        message = (
            f"A Facebook reel is coded as H.264, H.265, VP9 or AV1 with AAC and this video as {coded}: export it "
            "again, or choose the format video."
        )
        yield _problem("media", "reel_codec", message)


def _is_web_link(link: object) -> bool:
    if not isinstance(link, str) or any(character.isspace() for character in link):
        return False
    try:
        split = urlsplit(link)
    except ValueError:
        return False
    return split.scheme in {"http", "https"} and bool(split.hostname)


def _problem(field: str, code: str, message: str) -> Problem:
    return Problem(field=field, code=code, message=message)
