"""What a Mastodon server allows, and what its software promises.

The JSON of `/api/v2/instance` or `/api/v1/instance` arrives; the limits to store with an account leave.
What must stay true: a limit is the server's own where it is given and makes sense, else Mastodon's default.
"""

from __future__ import annotations

import re
from collections import ChainMap
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from socialq.domain.media_rules import GifRules, ImageRules, MediaRules, VideoRules

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_LIMITS: Final[Mapping[str, Any]] = {
    "max_characters": 500,
    "characters_reserved_per_url": 23,
    "max_media_attachments": 4,
    "image_size_limit_bytes": 16 * 1024 * 1024,
    "image_matrix_limit": 33_177_600,
    "video_size_limit_bytes": 99 * 1024 * 1024,
    "video_frame_rate_limit": 120,
    "description_limit": 1500,
    "mime_types": (
        "image/jpeg", "image/png", "image/gif", "image/webp", "image/heic", "image/heif", "image/avif",
        "video/webm", "video/mp4", "video/quicktime",
        "audio/mpeg", "audio/ogg", "audio/wav", "audio/flac", "audio/aac", "audio/mp4",
    ),
}  # fmt: skip
"""Mastodon's own defaults, used where a server says nothing."""

_SOFTWARE_THAT_DEDUPLICATES: Final = frozenset({"github.com/mastodon/mastodon"})
_PLAIN_VERSION: Final = re.compile(r"(\d+)\.\d+\.\d+(?:[-+.][0-9A-Za-z.+-]*)?")

# Where each limit stands below `configuration`, and its name there.
_PLACES: Final = (
    ("max_characters", "statuses", "max_characters"),
    ("characters_reserved_per_url", "statuses", "characters_reserved_per_url"),
    ("max_media_attachments", "statuses", "max_media_attachments"),
    ("image_size_limit_bytes", "media_attachments", "image_size_limit"),
    ("image_matrix_limit", "media_attachments", "image_matrix_limit"),
    ("video_size_limit_bytes", "media_attachments", "video_size_limit"),
    ("video_frame_rate_limit", "media_attachments", "video_frame_rate_limit"),
    ("description_limit", "media_attachments", "description_limit"),
)


def read_limits(instance: Mapping[str, Any]) -> dict[str, Any]:
    """Pick the limits from an instance document of either version; JSON values only."""
    configuration = _mapping(instance.get("configuration"))
    limits = dict(DEFAULT_LIMITS) | {"mime_types": list(DEFAULT_LIMITS["mime_types"])}
    for name, section, key in _PLACES:
        value = _mapping(configuration.get(section)).get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            limits[name] = value
    types = _mapping(configuration.get("media_attachments")).get("supported_mime_types")
    if isinstance(types, list) and types:
        limits["mime_types"] = [str(mime_type) for mime_type in types]
    # Forks older than `configuration` give the length at the top.
    top = instance.get("max_toot_chars")
    if not configuration and isinstance(top, int) and not isinstance(top, bool) and top > 0:
        limits["max_characters"] = top
    return limits | _software(instance)


def media_rules(limits: Mapping[str, Any]) -> MediaRules:
    """Return what files a server takes: its own limits, and Mastodon's where it says nothing."""
    known = ChainMap(dict(limits), dict(DEFAULT_LIMITS))
    types = [str(mime_type) for mime_type in known["mime_types"]]
    pictures = tuple(each for each in types if each.startswith("image/"))
    videos = tuple(each for each in types if each.startswith("video/"))
    image_bytes = int(known["image_size_limit_bytes"])
    return MediaRules(
        image=ImageRules(
            types=pictures, max_bytes=image_bytes, max_pixels=int(known["image_matrix_limit"]) or None
        )
        if pictures
        else None,
        gif=GifRules(max_bytes=image_bytes) if "image/gif" in pictures else None,
        video=VideoRules(
            types=videos,
            max_bytes=int(known["video_size_limit_bytes"]),
            max_fps=float(known["video_frame_rate_limit"]) or None,
        )
        if videos
        else None,
    )


def deduplicates_by_key(limits: Mapping[str, Any]) -> bool:
    """Say whether the server is Mastodon itself, the only software known to honour `Idempotency-Key`.

    GoToSocial ignores the header, and others claim a Mastodon version with "compatible" after it, so both
    the version's form and the address of the source code must speak for it.
    """
    version = _PLAIN_VERSION.fullmatch(str(limits.get("version", "")))
    if version is None or int(version.group(1)) < 3:
        return False
    return _host_and_path(str(limits.get("source_url", ""))) in _SOFTWARE_THAT_DEDUPLICATES


def _software(instance: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(instance.get(name) or "") for name in ("version", "source_url")}


def _host_and_path(url: str) -> str:
    try:
        split = urlsplit(url)
    except ValueError:
        return ""
    return f"{split.netloc}{split.path.rstrip('/')}".lower() if split.scheme == "https" else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
