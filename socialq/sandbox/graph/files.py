"""What a media file is, by its content: kind, size in pixels, and how long a video lasts.

Arrives: a file on disk. Leaves: a `Judged`, or None for what is no picture or video. Only headers are read, never
pixels, so a bomb can't go off.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from PIL import Image

Image.MAX_IMAGE_PIXELS = None

_IMAGES = {"JPEG": ("image/jpeg", "jpg"), "PNG": ("image/png", "png"), "GIF": ("image/gif", "gif")}
_IMAGES |= {"BMP": ("image/bmp", "bmp"), "TIFF": ("image/tiff", "tif"), "WEBP": ("image/webp", "webp")}
_CONTAINERS = frozenset({b"moov", b"trak", b"mdia"})
_MOST_BOXES = 1_000


@dataclass(frozen=True, slots=True)
class Judged:
    """What a file is. A video whose head says nothing has zeros, and `seconds` is 0 for pictures."""

    type: str
    mime: str
    suffix: str
    width: int
    height: int
    seconds: float
    size_bytes: int


def judge(path: Path) -> Judged | None:
    size = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(12)
        if start[4:8] == b"ftyp":
            width, height, seconds = _video_head(stream, size)
            mime, suffix = ("video/quicktime", "mov") if start[8:12] == b"qt  " else ("video/mp4", "mp4")
            return Judged("video", mime, suffix, width, height, seconds, size)
    try:
        with Image.open(path) as image:
            mime, suffix = _IMAGES[image.format or ""]
            return Judged("image", mime, suffix, *image.size, 0.0, size)
    except (OSError, SyntaxError, ValueError, KeyError):
        return None


def keep(part: Path, destination: Path) -> None:
    """Durable under its final name, or not there at all."""
    with part.open("rb") as stream:
        os.fsync(stream.fileno())
    part.replace(destination)
    directory = os.open(destination.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _video_head(stream: BinaryIO, size: int) -> tuple[int, int, float]:
    """Width, height and seconds from `mvhd` and the largest `tkhd`."""
    width = height = 0
    seconds = 0.0
    for kind, content in _boxes(stream, 0, size):
        if kind == b"mvhd":
            seconds = _seconds(content)
        elif kind == b"tkhd" and len(content) >= 8:
            across, down = struct.unpack(">II", content[-8:])
            width, height = max((width, height), (across >> 16, down >> 16))
    return width, height, seconds


def _boxes(stream: BinaryIO, start: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    """The boxes of interest, depth first; a broken file has fewer."""
    waiting = [(start, end)]
    for _ in range(_MOST_BOXES):
        if not waiting:
            return
        at, stop = waiting.pop()
        if at + 8 > stop:
            continue
        stream.seek(at)
        head = stream.read(8)
        if len(head) < 8:
            continue
        length, kind = struct.unpack(">I4s", head)
        if length < 8:
            continue
        waiting.append((at + length, stop))
        if kind in _CONTAINERS:
            waiting.append((at + 8, min(at + length, stop)))
        elif kind in {b"mvhd", b"tkhd"}:
            yield kind, stream.read(min(length - 8, 200))


def _seconds(mvhd: bytes) -> float:
    is_long = mvhd[:1] == b"\x01"
    try:
        scale, duration = struct.unpack_from(">IQ" if is_long else ">II", mvhd, 20 if is_long else 12)
    except struct.error:
        return 0.0
    return duration / scale if scale else 0.0
