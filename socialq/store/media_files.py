"""The bytes of media, kept through fsspec: a folder by default, an object store by URL.

Arrives: a URL (`file:///…`, `s3://…`, `memory://…`) once, then keys and bytes. Leaves: open files. What must
stay true: a key's bytes never change and are whole once the key can be seen; no key leaves the root.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from fsspec.core import url_to_fs

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEY: Final = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*(?:\.[A-Za-z0-9]{1,8})?")


_DRIVERS: Final = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}
"""The package that brings each object store, by the beginning of its URL."""


class MediaStorageUnusable(Exception):  # noqa: N818 - named for what is wrong
    """The place for media can't be used; the message says why and what to do, and shows no password."""


class MediaFiles:
    """One place for media. Shared between threads."""

    def __init__(self, url: str) -> None:
        """Open the place at `url`; it is made when first written to. Raises `MediaStorageUnusable`."""
        scheme = url.partition("://")[0] if "://" in url else "file"
        try:
            self._files, root = url_to_fs(url)
        except ImportError:
            package = _DRIVERS.get(scheme)
            way_out = f"install it: pip install {package}" if package else "install fsspec's driver for it"
            raise MediaStorageUnusable(
                f"SOCIALQ_MEDIA_STORAGE: the driver for {scheme}:// is not installed; {way_out}"
            ) from None
        except (ValueError, OSError, TypeError):
            raise MediaStorageUnusable(
                f"SOCIALQ_MEDIA_STORAGE: {scheme}:// can't be used; give file:///PATH, s3://BUCKET/PATH or"
                " gcs://BUCKET/PATH"
            ) from None
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

    def remove(self, key: str) -> None:
        """Remove what is kept under `key`; harmless where nothing is."""
        with contextlib.suppress(FileNotFoundError):
            self._files.rm_file(self._path(key))

    def _path(self, key: str) -> str:
        if not _KEY.fullmatch(key):
            raise ValueError("not a key of a media file")
        return f"{self._root}/{key}"
