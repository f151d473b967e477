"""Making a variant: the same picture, turned, cropped, smaller, of another type, without its metadata.

Arrives: a file that was looked at, and a recipe. Leaves: the variant, whole, with what it is. What must stay true: it
obeys the recipe, its bytes included, or there is none; it carries no metadata; colours are sRGB.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

from PIL import Image, ImageCms, ImageOps

from socialq.media.cleaning import cleaned
from socialq.media.facts import FileFacts, FileRefused
from socialq.media.fitting import scaled
from socialq.media.probing import CHUNK_BYTES
from socialq.media.videos import PrivateBox, probe_video

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from socialq.media.fitting import Recipe

_QUALITIES: Final = (90, 84, 76, 66, 56)
"""Of JPEG, tried in turn; below that a smaller picture looks better than a coarser one."""
_SHRINK: Final = 0.9
_TOWARDS: Final = 1.1
"""Bytes fall faster than the area: a step to where they would fit by area is cut short."""
_LEAST_SIDE: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A file made of another. `chunks` gives its bytes, anew each time."""

    mime_type: str
    byte_size: int
    sha256: str
    width: int
    height: int
    chunks: Callable[[], Iterator[bytes]]


def make_variant(file: BinaryIO, facts: FileFacts, recipe: Recipe) -> Variant:
    """Make it. `file` stays open until the chunks were read. Raises `FileRefused` where it can't be had."""
    if facts.kind == "video":
        return _cleaned_video(file, facts)
    file.seek(0)
    data = file.read()
    if recipe.only_cleaned:
        return _of_bytes(cleaned(data, facts.mime_type), facts.mime_type, (facts.width, facts.height))
    with Image.open(io.BytesIO(data)) as opened:
        picture = _prepared(opened, recipe)
    return _encoded(picture, recipe)


def _prepared(opened: Image.Image, recipe: Recipe) -> Image.Image:
    """Turn, crop and scale, in sRGB."""
    if opened.format in {"JPEG", "MPO"} and recipe.crop is None:
        # Decoded at a half, a quarter or an eighth where that is still larger than what is wanted.
        opened.draft(None, (recipe.width, recipe.height))
    ImageOps.exif_transpose(opened, in_place=True)
    picture = _in_srgb(opened, recipe.mime_type)
    if recipe.crop is not None:
        picture = picture.crop(recipe.crop)
    if picture.size != (recipe.width, recipe.height):
        picture = picture.resize((recipe.width, recipe.height), Image.Resampling.LANCZOS)
    picture.info.clear()
    return picture


def _in_srgb(opened: Image.Image, mime_type: str) -> Image.Image:
    """Convert colours; what is transparent stands on white where the type knows no transparency."""
    profile = opened.info.get("icc_profile")
    picture = opened
    if profile and opened.mode in {"RGB", "RGBA", "CMYK", "L"}:
        mode = "RGBA" if opened.mode == "RGBA" else "RGB"
        # A profile that can't be read is none: the colours are then taken as they stand.
        with contextlib.suppress(ImageCms.PyCMSError, OSError, ValueError):
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            converted = ImageCms.profileToProfile(
                opened, source, ImageCms.createProfile("sRGB"), outputMode=mode
            )
            picture = converted or opened
    if picture.mode.startswith("I;16") or picture.mode in {"I", "F"}:
        picture = picture.point(lambda value: value / 256).convert("L")
    see_through = picture.has_transparency_data
    if mime_type == "image/png":
        picture = picture.convert("RGBA" if see_through else "RGB")
    elif see_through:
        above = picture.convert("RGBA")
        picture = Image.new("RGB", above.size, "white")
        picture.paste(above, mask=above.getchannel("A"))
    else:
        picture = picture.convert("RGB")
    return picture


def _encoded(picture: Image.Image, recipe: Recipe) -> Variant:
    """Encode within the limit: coarser first, then smaller."""
    write = _jpeg if recipe.mime_type == "image/jpeg" else _png
    factor = 1.0
    while True:
        data = write(picture, recipe.max_bytes)
        if recipe.max_bytes is None or len(data) <= recipe.max_bytes:
            return _of_bytes(data, recipe.mime_type, picture.size)
        factor *= min(_SHRINK, math.sqrt(recipe.max_bytes / len(data)) * _TOWARDS)
        size = scaled(recipe.width, recipe.height, factor)
        if size[0] < recipe.least[0] or size[1] < recipe.least[1] or max(size) < _LEAST_SIDE:
            raise FileRefused("can't be made small enough", "give a simpler picture")
        picture = picture.resize(size, Image.Resampling.LANCZOS)


def _jpeg(picture: Image.Image, most: int | None) -> bytes:
    data = b""
    for quality in _QUALITIES:
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=quality, optimize=True, progressive=True)
        data = out.getvalue()
        if most is None or len(data) <= most:
            break
    return data


def _png(picture: Image.Image, _most: int | None) -> bytes:
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def _of_bytes(data: bytes, mime_type: str, size: tuple[int, int]) -> Variant:
    return Variant(
        mime_type=mime_type,
        byte_size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        width=size[0],
        height=size[1],
        chunks=lambda: iter((data,)),
    )


def _cleaned_video(file: BinaryIO, facts: FileFacts) -> Variant:
    """Blank a video's metadata where it stands, so that nothing in the file has to move."""
    places = probe_video(file, byte_size=facts.byte_size).private
    digest = hashlib.sha256()
    for chunk in _blanked(file, places):
        digest.update(chunk)
    return Variant(
        mime_type=facts.mime_type,
        byte_size=facts.byte_size,
        sha256=digest.hexdigest(),
        width=facts.width,
        height=facts.height,
        chunks=lambda: _blanked(file, places),
    )


def _blanked(file: BinaryIO, places: tuple[PrivateBox, ...]) -> Iterator[bytes]:
    """Yield the file with each box's kind as `free` and its content as zeros."""
    file.seek(0)
    begin = 0
    while chunk := file.read(CHUNK_BYTES):
        piece = bytearray(chunk)
        for box in places:
            _overwrite(piece, begin, box.begin + 4, b"free")
            low, high = max(box.content - begin, 0), min(box.end - begin, len(piece))
            if low < high:
                piece[low:high] = bytes(high - low)
        yield bytes(piece)
        begin += len(chunk)


def _overwrite(piece: bytearray, begin: int, at: int, data: bytes) -> None:
    """Write `data` at `at` of the file into the piece that begins at `begin`, as far as it reaches into it."""
    for offset, byte in enumerate(data, start=at - begin):
        if 0 <= offset < len(piece):
            piece[offset] = byte
