"""What form a part takes on Facebook: text, photos, a video, a reel, or a comment.

A part arrives; its form, and the link it shows, leave. Pure.

An upright video goes out as a reel: sent as a video it becomes a draft that waits for a person to share it, as is
reported from programs in use. Sources: developers.facebook.com/docs/video-api/guides/reels-publishing, and
github.com/gitroomhq/postiz-app/pull/1740.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from socialq.domain.text import find_urls
from socialq.providers.facebook.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from socialq.providers.base import MediaItem, Part

Form = Literal["text", "photos", "video", "reel", "comment"]
FORMATS: Final = ("video", "reel")

_UPRIGHT: Final = 9 / 16
_UPRIGHT_TOLERANCE: Final = 0.03
_FPS_SLACK: Final = 0.002


def form_of(part: Part) -> Form:
    """Say what a part is made as. What stands under another part is a comment: a Page has no threads."""
    if part.role == "comment" or part.parent_id is not None:
        return "comment"
    if not part.media:
        return "text"
    if not is_video(part.media[0]):
        return "photos"
    wanted = part.options.get("format")
    if wanted in FORMATS:
        return "reel" if wanted == "reel" else "video"
    return "reel" if is_upright(part.media[0]) and fits_reel(part.media[0]) else "video"


def is_video(item: MediaItem) -> bool:
    """Say whether a file is a video; anything else is a photo."""
    return item.mime_type.startswith("video/")


def is_upright(item: MediaItem) -> bool:
    """Say whether a video is known to have a reel's form, 9:16."""
    if not item.width or not item.height:
        return False
    return abs(item.width / item.height - _UPRIGHT) <= _UPRIGHT_TOLERANCE


def fits_reel(item: MediaItem) -> bool:
    """Say whether a video is known to have a reel's length and size, and not known to be coded otherwise."""
    limits = DEFAULT_LIMITS
    if item.duration_seconds is None or not item.width or not item.height:
        return False
    lasts = limits["reel_min_seconds"] <= item.duration_seconds <= limits["reel_max_seconds"]
    large = item.width >= limits["reel_min_width"] and item.height >= limits["reel_min_height"]
    return bool(lasts and large and has_reel_speed(item, limits) and has_reel_coding(item, limits))


def has_reel_speed(item: MediaItem, limits: Mapping[str, Any]) -> bool:
    """Say whether a video may have as many pictures a second as a reel; 23.976 are 24 to everybody."""
    return item.fps is None or bool(
        limits["reel_min_fps"] * (1 - _FPS_SLACK) <= item.fps <= limits["reel_max_fps"] * (1 + _FPS_SLACK)
    )


def has_reel_coding(item: MediaItem, limits: Mapping[str, Any]) -> bool:
    """Say whether a video may be coded as a reel is."""
    return item.video_codec in {None, *limits["reel_video_codecs"]} and item.audio_codec in {
        None,
        *limits["reel_audio_codecs"],
    }


def link_of(part: Part) -> str | None:
    """Return the link whose preview stands under a text: the one chosen, else the first in the text.

    Facebook makes no preview of a link that only stands in the text. Links to itself it refuses as `link`.
    """
    chosen = part.options.get("link")
    if isinstance(chosen, str) and chosen:
        return chosen
    if part.options.get("link_preview") is False:
        return None
    found = (link.url for link in find_urls(part.text))
    return next((url for url in found if not is_own_link(url)), None)


def is_own_link(url: str) -> bool:
    """Say whether a link leads to Facebook itself."""
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:
        return True
    return host == "facebook.com" or host.endswith(".facebook.com")


def title_of(options: Mapping[str, Any]) -> str:
    """Return the title of a video; empty where none is given."""
    title = options.get("title")
    return title if isinstance(title, str) else ""
