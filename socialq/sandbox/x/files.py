"""Media files as X judges them: by content, with a size limit for each kind.

Arrives: a file on disk and the category it was announced with. Leaves: what it is, or a refusal.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from socialq.sandbox.x import errors

IMAGE_LIMIT_BYTES = 5 * 1024 * 1024
GIF_LIMIT_BYTES = 15 * 1024 * 1024
VIDEO_LIMIT_BYTES = 512 * 1024 * 1024
PIECE_BYTES = 1024 * 1024

# Only headers are read here, never pixels, so a bomb can't go off.
Image.MAX_IMAGE_PIXELS = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of media: what the wall and X call it, how large it may be, how its media key begins."""

    type: str
    name_on_x: str
    limit_bytes: int
    key_prefix: str
    categories: tuple[str, ...]


IMAGE = Kind("image", "photo", IMAGE_LIMIT_BYTES, "3", ("tweet_image", "dm_image"))
GIF = Kind("gifv", "animated_gif", GIF_LIMIT_BYTES, "16", ("tweet_gif", "tweet_image", "dm_gif"))
VIDEO = Kind("video", "video", VIDEO_LIMIT_BYTES, "7", ("tweet_video", "amplify_video", "dm_video"))
KINDS = {kind.type: kind for kind in (IMAGE, GIF, VIDEO)}
LARGEST_BYTES = VIDEO_LIMIT_BYTES

_FORMATS = {
    b"\xff\xd8\xff": ("image/jpeg", "jpg"),
    b"\x89PNG\r\n\x1a\n": ("image/png", "png"),
    b"GIF8": ("image/gif", "gif"),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """What a file is. Width and height are 0 for video, which is not looked into."""

    kind: Kind
    mime: str
    suffix: str
    width: int
    height: int


def judge(path: Path, *, category: str) -> Judged:
    """Raises the platform's refusal for what is no media, too large, or not of its category."""
    with path.open("rb") as stream:
        found = _format_of(stream.read(32))
    if found is None:
        raise errors.Refused(errors.invalid_request("media type unrecognized.", detail="Invalid media."))
    mime, suffix = found
    width, height, is_animated = (0, 0, False) if mime.startswith("video/") else _look_into(path)
    kind = VIDEO if mime.startswith("video/") else GIF if is_animated else IMAGE
    if category not in kind.categories and not (kind is IMAGE and mime == "image/gif"):
        message = f"The media is not of the category [{category}]."
        raise errors.Refused(errors.invalid_request(message, parameters={"media_category": [category]}))
    if path.stat().st_size > kind.limit_bytes:
        message = f"File size exceeds {kind.limit_bytes} bytes."
        raise errors.Refused(errors.invalid_request(message, detail=message))
    return Judged(kind, mime, suffix, width, height)


def keep(parts: Iterable[Path], destination: Path) -> None:
    """Join the parts under their final name: durable and whole, or not there at all."""
    whole = destination.with_suffix(".whole")
    with whole.open("wb") as stream:
        for part in parts:
            with part.open("rb") as source:
                while piece := source.read(PIECE_BYTES):
                    stream.write(piece)
        stream.flush()
        os.fsync(stream.fileno())
    whole.replace(destination)
    directory = os.open(destination.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _format_of(start: bytes) -> tuple[str, str] | None:
    if start[4:8] == b"ftyp":
        return ("video/quicktime", "mov") if start[8:12] == b"qt  " else ("video/mp4", "mp4")
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp", "webp"
    return next((found for magic, found in _FORMATS.items() if start.startswith(magic)), None)


def _look_into(path: Path) -> tuple[int, int, bool]:
    try:
        with Image.open(path) as image:
            is_animated = image.format == "GIF" and bool(getattr(image, "is_animated", False))
            return image.size[0], image.size[1], is_animated
    except (OSError, SyntaxError, ValueError):
        raise errors.Refused(
            errors.invalid_request("The image can't be read.", detail="Invalid media.")
        ) from None
