"""What X allows in a post: the limits stored with an account.

Source: docs.x.com/x-api/posts/create-post and /x-api/media; a longer text is for paying accounts and is not
assumed, and so are videos above 512 MiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
