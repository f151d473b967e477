"""What Facebook allows in a Page's post: the limits stored with an account, and its rules for files.

Sources: developers.facebook.com/docs/video-api/guides/reels-publishing for reels. The length of a text and the size
of a photo stand in no document of Meta's: they are what many programs keep to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from socialq.providers.base import ImageRules, MediaRules, VideoRules

if TYPE_CHECKING:
    from collections.abc import Mapping

MEBIBYTE: Final = 1024 * 1024

DEFAULT_LIMITS: Final[Mapping[str, Any]] = {
    "max_characters": 63_206,
    "max_comment_characters": 8_000,
    "max_photos": 10,
    "max_alt_characters": 1_000,
    "photo_size_limit_bytes": 4 * MEBIBYTE,
    "photo_types": ["image/jpeg", "image/png", "image/gif", "image/bmp", "image/tiff"],
    "video_size_limit_bytes": 4 * 1024 * MEBIBYTE,
    "video_types": ["video/mp4", "video/quicktime"],
    "reel_min_seconds": 3,
    "reel_max_seconds": 90,
    "reel_min_width": 540,
    "reel_min_height": 960,
    "reel_min_fps": 24,
    "reel_max_fps": 60,
    "reel_video_codecs": ["h264", "hevc", "vp9", "av1"],
    "reel_audio_codecs": ["aac"],
}
"""JSON values only."""

MEDIA_RULES: Final = MediaRules(
    image=ImageRules(
        types=("image/jpeg", "image/png"), max_bytes=4 * MEBIBYTE, max_width=4096, max_height=4096
    ),
    # A moving GIF sent as a photo stands still.
    gif=None,
    video=VideoRules(
        types=("video/mp4", "video/quicktime"),
        max_bytes=4 * 1024 * MEBIBYTE,
        min_seconds=1.0,
        max_seconds=4 * 3600.0,
    ),
)
