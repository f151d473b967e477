"""Reading of a PDF what a platform asks: whether it is whole, unlocked, and how many pages it has.

Arrives: an open file that begins as a PDF does. Leaves: its facts. What must stay true: it is mapped, never held in
memory; what is looked at and what is unpacked is bounded, whatever the file claims; nothing in it is run or drawn.

Pages hang in a tree whose nodes say how many are below them, so the root's count is the largest. Since PDF 1.5 the
nodes may stand in packed streams of objects. Source: ISO 32000-1, 7.5.7 and 7.7.3.
"""

from __future__ import annotations

import bisect
import contextlib
import io
import itertools
import mmap
import re
import zlib
from typing import TYPE_CHECKING, BinaryIO, Final

from socialq.media.facts import FileFacts, FileRefused

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES: Final = 100 * 1024 * 1024
MIME_TYPE: Final = "application/pdf"

_TAIL_BYTES: Final = 64 * 1024
"""Where the way to the objects is told; some programs write a little behind it."""
_MOST_NODES: Final = 2_000
_NODE_BYTES: Final = 256 * 1024
"""How far the words of one node may lie apart."""
_HEAD_BYTES: Final = 4 * 1024
_PACKED_BYTES: Final = 64 * 1024 * 1024
"""Of all streams together, as they are and unpacked."""

_NODE: Final = re.compile(rb"/Type\s*/Pages\b")
_COUNT: Final = re.compile(rb"/Count\s+(\d{1,9})\b")
_PACKED: Final = re.compile(rb"/Type\s*/ObjStm\b")
_FIRST: Final = re.compile(rb"/First\s+(\d{1,9})\b")
_BEGINS: Final = re.compile(rb"stream\r?\n")
_LOCKED: Final = re.compile(rb"/Encrypt\s*(?:<<|\d+\s+\d+\s+R\b)")


def probe_document(file: BinaryIO, *, byte_size: int) -> FileFacts:
    """Read a PDF's facts. Raises `FileRefused` for one that is locked, cut off, or without pages."""
    with _mapped(file) as data:
        if data.find(b"startxref", max(0, byte_size - _TAIL_BYTES)) == -1:
            raise FileRefused("is a damaged or cut off PDF", "export it again")
        if _LOCKED.search(data):
            raise FileRefused("is a PDF with a password or restrictions", "save it without them")
        pages = max([*_counts(data), *_packed_counts(data)], default=0)
    if pages == 0:
        raise FileRefused("is a PDF in which no pages can be found", "export it again")
    return FileFacts(
        kind="document", mime_type=MIME_TYPE, byte_size=byte_size, width=0, height=0, pages=pages
    )


@contextlib.contextmanager
def _mapped(file: BinaryIO) -> Iterator[mmap.mmap | bytes]:
    """Give the bytes of a file without reading it; of one that is in memory, these."""
    try:
        number = file.fileno()
    except io.UnsupportedOperation:
        file.seek(0)
        yield file.read()
        return
    with mmap.mmap(number, 0, access=mmap.ACCESS_READ) as mapped:
        yield mapped


def _counts(data: mmap.mmap | bytes) -> Iterator[int]:
    """Yield what the nodes that stand in the open say."""
    for node in itertools.islice(_NODE.finditer(data), _MOST_NODES):
        begin = max(0, data.rfind(b"obj", max(0, node.start() - _NODE_BYTES), node.start()))
        end = data.find(b"endobj", node.end(), node.end() + _NODE_BYTES)
        yield from _count(data[begin : node.end() + _NODE_BYTES if end == -1 else end])


def _packed_counts(data: mmap.mmap | bytes) -> Iterator[int]:
    """Yield what the nodes in packed streams say."""
    left = _PACKED_BYTES
    for stream in _PACKED.finditer(data):
        if left <= 0:
            return
        begins = _BEGINS.search(data, stream.end(), stream.end() + _HEAD_BYTES)
        if begins is None:
            continue
        end = data.find(b"endstream", begins.end(), begins.end() + left)
        packed = data[begins.end() : begins.end() + left if end == -1 else end]
        content = _unpacked(packed, most=left)
        # What was looked at for nothing costs as well, so that no file keeps its reader busy.
        left -= len(packed) + len(content) + _HEAD_BYTES
        begin = max(0, data.rfind(b"obj", max(0, stream.start() - _HEAD_BYTES), stream.start()))
        for node in _nodes(content, _FIRST.search(data[begin : begins.start()])):
            yield from _count(node)


def _unpacked(packed: bytes, *, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, most)
    except zlib.error:
        return b""


def _nodes(content: bytes, first: re.Match[bytes] | None) -> Iterator[bytes]:
    """Yield the nodes among a stream's objects: before `first` stand a number and a place for each object."""
    start = 0 if first is None else int(first[1])
    words = content[: min(start, _NODE_BYTES)].split()[1::2]
    places = sorted(start + int(word) for word in words if word.isdigit() and len(word) < 10)
    for node in itertools.islice(_NODE.finditer(content), _MOST_NODES):
        after = bisect.bisect_right(places, node.start())
        begin = max(places[after - 1] if after else 0, node.start() - _NODE_BYTES)
        yield content[begin : min([*places[after : after + 1], node.end() + _NODE_BYTES])]


def _count(node: bytes) -> Iterator[int]:
    if found := _COUNT.search(node):
        yield int(found[1])
