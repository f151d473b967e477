"""From a file to its facts: size first, then kind, then what that kind's probe finds.

What must stay true: a file that is too large is refused before it is read; a video is never read into memory.
"""

from __future__ import annotations

import hashlib
import io
from typing import BinaryIO, Final, NamedTuple

from socialq.media import documents, images
from socialq.media.facts import FileFacts, FileRefused
from socialq.media.kinds import HEAD_BYTES, kind_of
from socialq.media.videos import probe_video

MOST_VIDEO_BYTES: Final = 1024 * 1024 * 1024
CHUNK_BYTES: Final = 1024 * 1024
_MEBIBYTE: Final = 1024 * 1024


class Looked(NamedTuple):
    """A file, as far as looking at it tells."""

    facts: FileFacts
    sha256: str


def look_at(file: BinaryIO) -> Looked:
    """Find out what an open, seekable file is. Raises `FileRefused`, `OSError`."""
    size = file.seek(0, io.SEEK_END)
    if size == 0:
        raise FileRefused("is empty", "give the file itself")
    file.seek(0)
    head = file.read(HEAD_BYTES)
    kind = _kind(head, size)
    if kind == "image":
        _refuse_above(images.MOST_BYTES, size)
        return Looked(images.probe_image(file), sha256_of(file))
    if kind == "document":
        _refuse_above(documents.MOST_BYTES, size)
        return Looked(documents.probe_document(file, byte_size=size), sha256_of(file))
    _refuse_above(MOST_VIDEO_BYTES, size)
    return Looked(probe_video(file, byte_size=size).facts, sha256_of(file))


def sha256_of(file: BinaryIO) -> str:
    """Hash a file from its first byte, in pieces."""
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def _kind(head: bytes, size: int) -> str:
    try:
        return kind_of(head)
    except FileRefused:
        # Whatever it is, it is too large: the shorter way out is told.
        _refuse_above(images.MOST_BYTES, size)
        raise


def _refuse_above(most: int, size: int) -> None:
    if size > most:
        problem = f"has {size / _MEBIBYTE:.1f} MiB, and {most // _MEBIBYTE} are the most"
        raise FileRefused(problem, "make it smaller")
