"""Small pictures as media items, for platforms' tests."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image

from socialq.providers.base import MediaItem


def png(*, alt_text: str = "", media_id: str = "m1") -> MediaItem:
    """Make a small picture."""
    pixels = zlib.compress(b"\0\xff\0\0" * 4)
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (
            (b"IHDR", struct.pack(">IIBBBBB", 1, 4, 8, 2, 0, 0, 0)),
            (b"IDAT", pixels),
            (b"IEND", b""),
        )
    )
    return MediaItem(
        media_id=media_id,
        mime_type="image/png",
        byte_size=len(content),
        alt_text=alt_text,
        open=lambda: io.BytesIO(content),
    )


def jpeg(*, alt_text: str = "", media_id: str = "m1", size: tuple[int, int] = (40, 40)) -> MediaItem:
    """Make a small photograph."""
    stream = io.BytesIO()
    Image.new("RGB", size, (200, 30, 60)).save(stream, "JPEG")
    content = stream.getvalue()
    return MediaItem(
        media_id=media_id,
        mime_type="image/jpeg",
        byte_size=len(content),
        alt_text=alt_text,
        open=lambda: io.BytesIO(content),
        width=size[0],
        height=size[1],
    )
