"""What Threads allows in a post: the limits stored with an account, and the rules for files.

Source: developers.facebook.com/docs/threads/posts and /docs/threads/overview.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from socialq.providers.base import ImageRules, MediaRules, VideoRules

if TYPE_CHECKING:
    from collections.abc import Mapping

MEBIBYTE: Final = 1024 * 1024

IMAGE_TYPES: Final = ("image/jpeg", "image/png")
VIDEO_TYPES: Final = ("video/mp4", "video/quicktime")

DEFAULT_LIMITS: Final[Mapping[str, Any]] = {
    "max_length": 500,
    "max_links": 5,
    "max_files": 20,
    "max_tag_length": 50,
    "description_limit": 1000,
    "image_size_limit_bytes": 8 * MEBIBYTE,
    "video_size_limit_bytes": 1024 * MEBIBYTE,
}
"""JSON values only."""

MEDIA_RULES: Final = MediaRules(
    image=ImageRules(
        types=IMAGE_TYPES,
        max_bytes=8 * MEBIBYTE,
        # A narrower or wider picture is scaled there; what is wider only costs bytes.
        max_width=1440,
        min_ratio=0.1,
        max_ratio=10.0,
    ),
    video=VideoRules(
        types=VIDEO_TYPES,
        max_bytes=1024 * MEBIBYTE,
        max_seconds=300.0,
        max_width=1920,
        min_ratio=0.01,
        max_ratio=10.0,
        min_fps=23.0,
        max_fps=60.0,
        video_codecs=("h264", "hevc"),
        audio_codecs=("aac",),
        index_first=True,
    ),
    fetched_by_link=True,
)
