"""What Instagram allows in a post: the limits stored with an account, and the rules for files.

Source: developers.facebook.com/docs/instagram-platform/content-publishing and the reference of IG User Media. In
what unit a caption is counted is not documented: code points are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from socialq.providers.base import ImageRules, MediaRules, VideoRules

if TYPE_CHECKING:
    from collections.abc import Mapping

MEBIBYTE: Final = 1024 * 1024

IMAGE_TYPES: Final = ("image/jpeg",)
VIDEO_TYPES: Final = ("video/mp4", "video/quicktime")

DEFAULT_LIMITS: Final[Mapping[str, Any]] = {
    "max_length": 2200,
    "max_hashtags": 30,
    "max_mentions": 20,
    "max_files": 10,
    "max_collaborators": 3,
    "description_limit": 1000,
    "image_size_limit_bytes": 8 * MEBIBYTE,
    "video_size_limit_bytes": 300 * MEBIBYTE,
    "min_ratio": 0.8,
    "max_ratio": 1.91,
}
"""JSON values only."""

MEDIA_RULES: Final = MediaRules(
    image=ImageRules(
        types=IMAGE_TYPES,
        max_bytes=8 * MEBIBYTE,
        # A narrower picture is scaled up there, a wider one down; what is wider only costs bytes.
        max_width=1440,
        min_ratio=4 / 5,
        max_ratio=1.91,
    ),
    video=VideoRules(
        types=VIDEO_TYPES,
        max_bytes=300 * MEBIBYTE,
        min_seconds=3.0,
        max_seconds=900.0,
        max_width=1920,
        min_ratio=0.01,
        max_ratio=10.0,
        min_fps=23.0,
        max_fps=60.0,
        max_bits_per_second=25_000_000.0,
        video_codecs=("h264", "hevc"),
        audio_codecs=("aac",),
        index_first=True,
    ),
    fetched_by_link=True,
)
