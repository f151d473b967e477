"""Taking metadata out of a picture without touching its pixels.

Arrives: a whole JPEG, PNG or WebP. Leaves: the same picture without place, camera, comments, embedded previews and
whatever was hung on behind its end. What must stay true: colours (ICC profile) and pixels stay as they are, byte for
byte; bytes that are no such picture come back as they are, since deciding that is the probe's business.

Sources: ITU T.81 (JPEG markers), the PNG specification (3rd edition), Google's WebP container specification.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PNG_HEAD: Final = b"\x89PNG\r\n\x1a\n"
_PRIVATE_PNG: Final = frozenset({b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"tIME"})
_PRIVATE_WEBP: Final = frozenset({b"EXIF", b"XMP "})
_WEBP_HAS_EXIF_OR_XMP: Final = 0x0C

_SCAN, _END, _COMMENT = 0xDA, 0xD9, 0xFE
_APP0, _APP2, _APP14, _APP15 = 0xE0, 0xE2, 0xEE, 0xEF
_JFIF_BYTES: Final = 18
_STANDALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})


def cleaned(data: bytes, mime_type: str) -> bytes:
    """Return the picture without its metadata; the same bytes where there is none."""
    match mime_type:
        case "image/jpeg":
            return b"".join(_jpeg(data))
        case "image/png":
            return b"".join(_png(data))
        case "image/webp":
            return _webp(data)
        case _:
            return data


def _jpeg(data: bytes) -> Iterator[bytes]:
    """Yield the segments that make the picture; metadata stands in APPn and comment segments.

    Bytes between segments are left out, as decoders skip them: a segment behind them is one as well.
    """
    at = 2
    yield data[:2]
    while (at := data.find(b"\xff", at)) != -1 and at + 4 <= len(data):
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        if marker == 0x00:
            at += 2
            continue
        if marker == _END:
            yield data[at : at + 2]
            # Anything behind the end is no part of this picture: a second picture, a video of a phone.
            return
        if marker in _STANDALONE:
            yield data[at : at + 2]
            at += 2
            continue
        end = at + 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
        if marker == _SCAN:
            end = _end_of_scan(data, end)
        yield _shown(marker, data[at:end])
        at = end
    if at != -1:
        yield data[at:]


def _shown(marker: int, segment: bytes) -> bytes:
    """Return what of a segment decides how the picture looks."""
    if marker != _COMMENT and not _APP0 <= marker <= _APP15:
        return segment
    if marker == _APP0 and segment[4:9] == b"JFIF\0" and len(segment) >= _JFIF_BYTES:
        # Its density; a small picture may follow.
        return segment[:2] + b"\0\x10" + segment[4:16] + b"\0\0"
    if marker == _APP2 and segment[4:16] == b"ICC_PROFILE\0":
        return segment
    # Adobe's word on the colour transform.
    return segment if marker == _APP14 and segment[4:9] == b"Adobe" else b""


def _end_of_scan(data: bytes, at: int) -> int:
    """Return where the marker after compressed pixels stands: 0xFF that is neither stuffed nor a restart."""
    while (at := data.find(b"\xff", at)) != -1 and at + 1 < len(data):
        following = data[at + 1]
        if following != 0 and not 0xD0 <= following <= 0xD7 and following != 0xFF:
            return at
        at += 1 if following == 0xFF else 2
    return len(data)


def _png(data: bytes) -> Iterator[bytes]:
    yield data[:8]
    at = len(_PNG_HEAD)
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        kind, end = data[at + 4 : at + 8], at + 12 + size
        if kind not in _PRIVATE_PNG:
            yield data[at:end]
        at = end
        if kind == b"IEND":
            return
    yield data[at:]


def _webp(data: bytes) -> bytes:
    """Drop the metadata chunks, and the flags and the length that speak of them."""
    pieces, dropped, at = [], False, 12
    end_of_file = min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    while at + 8 <= end_of_file:
        kind = data[at : at + 4]
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        end = at + 8 + size + size % 2
        chunk = data[at:end]
        at = end
        if kind in _PRIVATE_WEBP:
            dropped = True
            continue
        if kind == b"VP8X" and len(chunk) > 8:
            chunk = chunk[:8] + bytes([chunk[8] & ~_WEBP_HAS_EXIF_OR_XMP]) + chunk[9:]
        pieces.append(chunk)
    if not dropped and len(data) <= end_of_file + end_of_file % 2:
        return data
    body = b"WEBP" + b"".join(pieces)
    return b"RIFF" + len(body).to_bytes(4, "little") + body
