"""Telling what a file is by its first bytes, and refusing what can't be posted with a word on what to do."""

from __future__ import annotations

from typing import Final, Literal

from socialq.media.facts import FileRefused

HEAD_BYTES: Final = 32

_IMAGES: Final = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a")
_BOXES: Final = frozenset({b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"})
"""What an old QuickTime file begins with, in the place of `ftyp`."""
_STILL_BRANDS: Final = frozenset(
    {b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1", b"avif", b"avis"}
)
_MATROSKA: Final = b"\x1aE\xdf\xa3"

_OTHERS: Final = (
    (b"BM", "a BMP image", "save it as PNG"),
    (b"II*\0", "a TIFF image", "save it as JPEG or PNG"),
    (b"MM\0*", "a TIFF image", "save it as JPEG or PNG"),
    (b"<svg", "an SVG drawing", "save it as PNG"),
    (b"OggS", "an Ogg file", "convert it to MP4 (H.264, AAC)"),
    (b"ID3", "a sound file", "give an image or a video"),
    (b"fLaC", "a sound file", "give an image or a video"),
)


def kind_of(head: bytes) -> Literal["image", "video", "document"]:
    """Return how a file that begins with `head` (`HEAD_BYTES`) is to be probed. Raises `FileRefused`."""
    if head.startswith(_IMAGES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP"):
        return "image"
    if head.startswith(b"%PDF-"):
        return "document"
    if head[4:8] == b"ftyp":
        if head[8:12] in _STILL_BRANDS:
            raise FileRefused("is a HEIC or AVIF image", "save it as JPEG")
        return "video"
    if head[4:8] in _BOXES:
        return "video"
    if head.startswith(_MATROSKA) or (head[:4] == b"RIFF" and head[8:12] == b"AVI "):
        raise FileRefused("is a video of a kind that platforms don't take", "convert it to MP4 (H.264, AAC)")
    for begin, name, way_out in _OTHERS:
        if head.startswith(begin):
            raise FileRefused(f"is {name}", way_out)
    problem = "is not an image, a video or a PDF that can be posted, whatever its name says"
    raise FileRefused(problem, "give a JPEG, PNG, GIF or WebP image, an MP4 or MOV video, or a PDF")
