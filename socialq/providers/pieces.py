"""A piece of a file, read as if it were a file of its own.

A file and a place in it arrive; a stream leaves.
What must stay true: no piece is held in memory; one that reaches the end has no end of its own, so that a file that
has grown is noticed when it is sent.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable

_SKIPPED_AT_ONCE_BYTES: Final = 64 * 1024


def open_piece(open_file: Callable[[], BinaryIO], *, start: int, length: int | None) -> BinaryIO:
    """Open `length` bytes of a file from byte `start` on; None: all that follows."""
    stream = open_file()
    try:
        _skip(stream, start)
    except BaseException:
        stream.close()
        raise
    return cast("BinaryIO", _Piece(stream, length))


def _skip(stream: BinaryIO, count: int) -> None:
    if stream.seekable():
        stream.seek(count)
        return
    while count > 0 and (piece := stream.read(min(_SKIPPED_AT_ONCE_BYTES, count))):
        count -= len(piece)


class _Piece(io.RawIOBase):
    """The next bytes of a stream, `left` of them at most; closes the stream with itself."""

    def __init__(self, stream: BinaryIO, left: int | None) -> None:
        super().__init__()
        self._stream = stream
        self._left = left

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = -1 if size is None else size
        if self._left is None:
            return self._stream.read(wanted)
        piece = self._stream.read(self._left if wanted < 0 else min(wanted, self._left))
        self._left -= len(piece)
        return piece

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
