"""How a file is cut for X: into pieces of one size, each sent for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from socialq.providers.pieces import open_piece

if TYPE_CHECKING:
    from collections.abc import Callable

SEGMENT_BYTES: Final = 4 * 1024 * 1024
"""X takes at most 5 MB at once, and 1,000 pieces."""


def segment_count(byte_size: int) -> int:
    """Return in how many pieces a file is sent."""
    return max(1, -(-byte_size // SEGMENT_BYTES))


def segment_size(byte_size: int, index: int) -> int:
    """Return how long piece `index` (from 0) is."""
    return min(SEGMENT_BYTES, byte_size - index * SEGMENT_BYTES)


def open_segment(open_file: Callable[[], BinaryIO], index: int, *, last: bool) -> BinaryIO:
    """Open piece `index` of a file; the last one without an end of its own."""
    return open_piece(open_file, start=index * SEGMENT_BYTES, length=None if last else SEGMENT_BYTES)
