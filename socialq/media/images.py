"""Probing a picture: what it is, and that it decodes to its end.

Arrives: a file that begins like a picture. Leaves: its facts, or a refusal. What must stay true: size and pixels are
read from the header and limited before anything is decoded.
"""

from __future__ import annotations

import io
from typing import BinaryIO, Final

from PIL import ExifTags, Image, UnidentifiedImageError

from socialq.media.cleaning import cleaned
from socialq.media.facts import FileFacts, FileRefused
from socialq.media.gifs import read_gif

MOST_BYTES: Final = 50 * 1024 * 1024
MOST_PIXELS: Final = 50_000_000
"""About 200 MB when decoded: more is a picture made to fill the memory."""
MIME_TYPES: Final = {
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # a JPEG with more pictures behind it, as some cameras write
    "PNG": "image/png",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}
_FORMATS: Final = ("JPEG", "PNG", "GIF", "WEBP")
_TURNED: Final = frozenset(range(2, 9))
_SWAPS_SIDES: Final = frozenset({5, 6, 7, 8})
_PLAIN_MODES: Final = frozenset({"L", "LA", "RGB", "RGBA", "P", "1"})


def probe_image(file: BinaryIO) -> FileFacts:
    """Return what a picture is. Reads it whole: the caller has limited its size. Raises `FileRefused`."""
    file.seek(0)
    data = file.read(MOST_BYTES + 1)
    try:
        image_format = _verified(data)
        with Image.open(io.BytesIO(data), formats=(image_format,)) as image:
            image.load()
            return _facts(image, data)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        # Pillow's own limits, met by the header alone; a warning where warnings are made errors.
        raise FileRefused(f"has more than {MOST_PIXELS:,} pixels", "make it smaller") from None
    except UnidentifiedImageError:
        problem = "is not an image that can be posted, whatever its name says"
        raise FileRefused(problem, "give a JPEG, PNG, GIF or WebP image, or an MP4 video") from None
    except (OSError, SyntaxError, ValueError, EOFError):
        # What Pillow raises for a file that begins like an image and then is none.
        raise FileRefused("is damaged or cut off", "export it again") from None


def orientation_of(image: Image.Image) -> int:
    """How the metadata wants the picture turned: 1 (as it is) to 8."""
    value = image.getexif().get(ExifTags.Base.Orientation)
    return value if isinstance(value, int) and value in _TURNED else 1


def _verified(data: bytes) -> str:
    """Check limits and checksums; return Pillow's name of the format to decode it with."""
    with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
        width, height = image.size
        if width * height > MOST_PIXELS:
            problem = f"has {width} x {height} pixels, and {MOST_PIXELS:,} are the most"
            raise FileRefused(problem, "make it smaller")
        image_format = "JPEG" if image.format == "MPO" else str(image.format)
        # Both are needed: checksums and the end of the file here, then whether the pixels decode.
        image.verify()
    return image_format


def _facts(image: Image.Image, data: bytes) -> FileFacts:
    mime_type = MIME_TYPES[str(image.format)]
    gif = read_gif(data) if mime_type == "image/gif" else None
    if mime_type in {"image/png", "image/webp"} and getattr(image, "n_frames", 1) > 1:
        raise FileRefused("is a picture that moves", "save it as GIF or MP4 video")
    turn = orientation_of(image)
    width, height = image.size
    if turn in _SWAPS_SIDES:
        width, height = height, width
    private = gif.private if gif is not None else len(cleaned(data, mime_type)) != len(data)
    return FileFacts(
        kind="gif" if gif is not None and gif.frames > 1 else "image",
        mime_type=mime_type,
        byte_size=len(data),
        width=width,
        height=height,
        duration_seconds=gif.duration_seconds if gif is not None and gif.frames > 1 else None,
        frames=gif.frames if gif is not None else None,
        alpha=image.has_transparency_data,
        plain_colours=image.mode in _PLAIN_MODES,
        turned=turn != 1,
        private=private,
    )
