"""Counting a GIF's frames without decoding them.

Arrives: a whole GIF. Leaves: frames, duration, whether it carries comments; or a refusal. What must stay true: the
work is bounded by the file's size, and a file made to be counted for ever is refused at `MOST_FRAMES`.

Source: the GIF89a specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from socialq.media.facts import FileRefused

MOST_FRAMES: Final = 5_000

_EXTENSION, _IMAGE, _TRAILER = 0x21, 0x2C, 0x3B
_GRAPHIC_CONTROL, _COMMENT, _APPLICATION = 0xF9, 0xFE, 0xFF
_SECONDS_OF_NO_DELAY: Final = 0.1
"""Browsers show a frame whose delay is 0 or 1 hundredth for a tenth of a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GifFacts:
    """What stands between the frames."""

    frames: int
    duration_seconds: float
    private: bool


def read_gif(data: bytes) -> GifFacts:
    """Walk over the blocks. Raises `FileRefused` for a GIF that is cut off, or that has too many frames."""
    frames, seconds, private = 0, 0.0, False
    delay = _SECONDS_OF_NO_DELAY
    try:
        at = 13 + _table_bytes(data[10])
        while (block := data[at]) != _TRAILER:
            if block == _IMAGE:
                frames, seconds = frames + 1, seconds + delay
                at = _after_blocks(data, at + 11 + _table_bytes(data[at + 9]))
            elif block == _EXTENSION:
                kind = data[at + 1]
                if kind == _GRAPHIC_CONTROL:
                    hundredths = int.from_bytes(data[at + 4 : at + 6], "little")
                    delay = hundredths / 100 if hundredths > 1 else _SECONDS_OF_NO_DELAY
                private = private or kind == _COMMENT or _is_xmp(data, at, kind)
                at = _after_blocks(data, at + 2)
            else:
                raise FileRefused("is damaged", "export it again")
            if frames > MOST_FRAMES:
                raise FileRefused(f"has more than {MOST_FRAMES:,} frames", "make it a video")
    except IndexError:
        raise FileRefused("is damaged or cut off", "export it again") from None
    if not frames:
        raise FileRefused("has no frame", "export it again")
    return GifFacts(frames=frames, duration_seconds=round(seconds, 3), private=private)


def _table_bytes(packed: int) -> int:
    """Size of a colour table, from the byte that announces it."""
    return 3 << ((packed & 0x07) + 1) if packed & 0x80 else 0


def _after_blocks(data: bytes, at: int) -> int:
    """Return where a chain of sub-blocks ends; raises `IndexError` where it does not."""
    while size := data[at]:
        at += 1 + size
    return at + 1


def _is_xmp(data: bytes, at: int, kind: int) -> bool:
    return kind == _APPLICATION and data[at + 3 : at + 11] == b"XMP Data"
