"""What X allows in a post: the limits stored with an account.

Source: docs.x.com/x-api/posts/create-post and /x-api/media; a longer text is for paying accounts and is not
assumed, and so are videos above 512 MiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from socialq.domain.media_rules import GifRules, ImageRules, MediaRules, VideoRules

if TYPE_CHECKING:
    from collections.abc import Mapping

MEBIBYTE: Final = 1024 * 1024

DEFAULT_LIMITS: Final[Mapping[str, Any]] = {
    "max_weighted_length": 280,
    "max_images": 4,
    "max_cashtags": 1,
    "image_size_limit_bytes": 5 * MEBIBYTE,
    "gif_size_limit_bytes": 15 * MEBIBYTE,
    "video_size_limit_bytes": 512 * MEBIBYTE,
    "description_limit": 1000,
    "image_types": ["image/jpeg", "image/png", "image/webp"],
    "video_types": ["video/mp4", "video/quicktime"],
}
"""JSON values only."""

MEDIA_RULES: Final = MediaRules(
    image=ImageRules(
        types=tuple(DEFAULT_LIMITS["image_types"]),
        max_bytes=DEFAULT_LIMITS["image_size_limit_bytes"],
        min_width=4,
        min_height=4,
        max_width=8192,
        max_height=8192,
    ),
    gif=GifRules(
        max_bytes=DEFAULT_LIMITS["gif_size_limit_bytes"], max_width=1280, max_height=1080, max_frames=350
    ),
    video=VideoRules(
        types=tuple(DEFAULT_LIMITS["video_types"]),
        max_bytes=DEFAULT_LIMITS["video_size_limit_bytes"],
        min_seconds=0.5,
        max_seconds=140.0,
        min_width=32,
        min_height=32,
        # The page says 1280 x 1024, and X takes and shows full HD, upright too.
        max_width=1920,
        max_height=1920,
        min_ratio=1 / 3,
        max_ratio=3.0,
        max_fps=60.0,
        video_codecs=("h264",),
        audio_codecs=("aac",),
    ),
)
"""Source: docs.x.com/x-api/media/quickstart/best-practices."""
