"""Small videos as media items, for platforms' tests."""

from __future__ import annotations

import io

from socialq.providers.base import MediaItem
from tests.films import film


def mp4(
    *, width: int = 1280, height: int = 720, seconds: int = 10, fill_bytes: int = 1000, media_id: str = "v1"
) -> MediaItem:
    """Make a video whose facts are known, as they are of a file in the library."""
    content = film(width=width, height=height, seconds=float(seconds), pictures=bytes(fill_bytes))
    return MediaItem(
        media_id=media_id,
        mime_type="video/mp4",
        byte_size=len(content),
        alt_text="",
        open=lambda: io.BytesIO(content),
        width=width,
        height=height,
        duration_seconds=float(seconds),
    )
