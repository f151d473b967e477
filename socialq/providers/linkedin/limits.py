"""What LinkedIn allows in a post: the limits stored with an account, and the rules of files.

Source: learn.microsoft.com/linkedin/marketing/community-management/shares/{posts,images,videos,documents,comments}-api.
The text's limit is documented for the older API only, and the bytes of an image nowhere: 10 MB is known to pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from socialq.domain.media_rules import DocumentRules, GifRules, ImageRules, MediaRules, VideoRules

if TYPE_CHECKING:
    from collections.abc import Mapping

MEGABYTE: Final = 1_000_000
MOST_PIXELS: Final = 36_152_319
DOCUMENT: Final = "application/pdf"

DEFAULT_LIMITS: Final[Mapping[str, Any]] = {
    "author": "person",
    "max_characters": 3_000,
    "max_comment_characters": 1_250,
    "max_images": 20,
    "image_size_limit_bytes": 10 * MEGABYTE,
    "video_size_limit_bytes": 500 * MEGABYTE,
    "video_least_bytes": 75_000,
    "document_size_limit_bytes": 100 * MEGABYTE,
    "description_limit": 4_086,
    "title_limit": 400,
    "image_types": ["image/jpeg", "image/png", "image/gif"],
    "video_types": ["video/mp4"],
    "document_types": [DOCUMENT],
}
"""JSON values only. `author` is `person` or `organization`."""

MEDIA_RULES: Final = MediaRules(
    image=ImageRules(types=("image/jpeg", "image/png"), max_bytes=10 * MEGABYTE, max_pixels=MOST_PIXELS),
    gif=GifRules(max_bytes=10 * MEGABYTE, max_frames=250),
    video=VideoRules(types=("video/mp4",), max_bytes=500 * MEGABYTE, min_seconds=3.0, max_seconds=30 * 60.0),
    document=DocumentRules(max_bytes=100 * MEGABYTE, max_pages=300),
)
