"""Media files as LinkedIn judges them: by content, after the upload, while it processes them.

Arrives: a file on disk and what it was announced as. Leaves: what it is, or the reason why processing fails.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

MEBIBYTE = 1024 * 1024
LIMIT_BYTES = {"image": 100 * MEBIBYTE, "video": 500 * MEBIBYTE, "document": 100 * MEBIBYTE}
MOST_PIXELS = 36_152_320
PIECE_BYTES = MEBIBYTE

# Only headers are read here, never pixels, so a bomb can't go off.
Image.MAX_IMAGE_PIXELS = None

_FORMATS = {
    b"\xff\xd8\xff": ("image", "image/jpeg", "jpg"),
    b"\x89PNG\r\n\x1a\n": ("image", "image/png", "png"),
    b"GIF8": ("image", "image/gif", "gif"),
    b"%PDF-": ("document", "application/pdf", "pdf"),
    b"PK\x03\x04": ("document", "application/vnd.openxmlformats-officedocument", "docx"),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """What a file is; `failure` is why it can't be processed. Width and height are 0 where it is no image."""

    mime: str = "application/octet-stream"
    suffix: str = "bin"
    width: int = 0
    height: int = 0
    failure: str | None = None


def judge(path: Path, *, kind: str) -> Judged:
    with path.open("rb") as stream:
        start = stream.read(32)
    if start[4:8] == b"ftyp":
        found_kind, mime, suffix = "video", "video/mp4", "mp4"
    else:
        found = next((found for magic, found in _FORMATS.items() if start.startswith(magic)), None)
        if found is None:
            return Judged(failure="The file is of no supported format")
        found_kind, mime, suffix = found
    if found_kind != kind:
        return Judged(mime, suffix, failure=f"The file is no {kind}")
    if path.stat().st_size > LIMIT_BYTES[kind]:
        return Judged(mime, suffix, failure="The file is too large")
    return _looked_into(path, mime, suffix) if kind == "image" else Judged(mime, suffix)


def join(parts: Iterable[Path], destination: Path) -> None:
    """Put the parts together under their final name: durable and whole, or not there at all."""
    whole = destination.with_suffix(".whole")
    with whole.open("wb") as stream:
        for part in parts:
            with part.open("rb") as source:
                while piece := source.read(PIECE_BYTES):
                    stream.write(piece)
        stream.flush()
        os.fsync(stream.fileno())
    whole.replace(destination)


def _looked_into(path: Path, mime: str, suffix: str) -> Judged:
    try:
        with Image.open(path) as image:
            width, height = image.size
    except (OSError, SyntaxError, ValueError):
        return Judged(mime, suffix, failure="The image can't be read")
    if width * height >= MOST_PIXELS:
        return Judged(mime, suffix, width, height, failure="The image has too many pixels")
    return Judged(mime, suffix, width, height)
