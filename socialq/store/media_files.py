"""The bytes of media, kept through fsspec: a folder by default, an object store by URL.

Arrives: a URL (`file:///…`, `s3://…`, `memory://…`) once, then keys and bytes. Leaves: open files. What must
stay true: a key's bytes never change and are whole once the key can be seen; no key leaves the root.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from fsspec.core import url_to_fs

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEY: Final = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*(?:\.[A-Za-z0-9]{1,8})?")


class MediaFiles:
    """One place for media. Shared between threads."""

    def __init__(self, url: str) -> None:
        """Open the place at `url`; it is made when first written to."""
        self._files, root = url_to_fs(url)
        self._root = str(root).rstrip("/")

    def write(self, key: str, chunks: Iterable[bytes], *, byte_size: int) -> None:
        """Keep `chunks` under `key`. A key that is there in this size already is left alone."""
        path = self._path(key)
        if self.size(key) == byte_size:
            return
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        # Written aside and moved, so that a crash leaves no half file under a key.
        file: Any = self._files.open(path, "wb", autocommit=False)
        try:
            with file:
                for chunk in chunks:
                    file.write(chunk)
        except BaseException:
            file.discard()
            raise
        file.commit()

    def open(self, key: str) -> BinaryIO:
        """Open the file for reading, from its first byte. Raises `FileNotFoundError`."""
        return cast("BinaryIO", self._files.open(self._path(key), "rb"))

    def size(self, key: str) -> int | None:
        """Return how many bytes are kept under `key`; None for nothing."""
        try:
            return cast("int", self._files.size(self._path(key)))
        except FileNotFoundError:
            return None

    def _path(self, key: str) -> str:
        if not _KEY.fullmatch(key):
            raise ValueError("not a key of a media file")
        return f"{self._root}/{key}"
