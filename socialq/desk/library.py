"""The media library: a file becomes a stored, checked image of a client.

Arrives: a path or bytes, a name, a description. Leaves: a `Media`, ready to be posted. What must stay true:
what a file is, its bytes decide, not its name; size and pixels are checked before anything is decoded; the
bytes are stored before the row that names them; the same file of the same client is stored once.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from PIL import Image, UnidentifiedImageError

from socialq.desk.refusals import refusal, unknown
from socialq.desk.tenants import cell_of
from socialq.domain.ids import new_id
from socialq.domain.text import BadText, clean_text
from socialq.store.cell import clients, media

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from uuid import UUID

    from socialq.store.media_files import MediaFiles
    from socialq.store.sessions import Row, Session
    from socialq.store.stores import Stores

MOST_BYTES: Final = 50 * 1024 * 1024
MOST_PIXELS: Final = 50_000_000
"""About 200 MB when decoded: more is a picture made to fill the memory."""
LONGEST_ALT_TEXT: Final = 10_000

_FORMATS: Final = {
    "JPEG": ("image/jpeg", "jpg"),
    "PNG": ("image/png", "png"),
    "GIF": ("image/gif", "gif"),
    "WEBP": ("image/webp", "webp"),
}
_CHUNK_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """A file of a client's library."""

    tenant_id: UUID
    id: UUID
    client_id: UUID
    file_name: str
    storage_key: str
    mime_type: str
    byte_size: int
    sha256: str
    width: int | None
    height: int | None
    alt_text: str
    status: str
    problem: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """A file that was found to be an image; its bytes are still where they were."""

    source: Path | bytes
    file_name: str
    mime_type: str
    extension: str
    byte_size: int
    sha256: str
    width: int
    height: int

    def storage_key(self, *, tenant: UUID, client: UUID) -> str:
        """Where the bytes are kept: the same for the same bytes of the same client."""
        return f"{tenant}/{client}/{self.sha256}.{self.extension}"


def add_media(
    stores: Stores,
    storage: MediaFiles,
    *,
    tenant: UUID,
    client: UUID,
    source: Path | bytes,
    file_name: str | None = None,
    alt_text: str = "",
    actor: str,
) -> Media:
    """Check, store and record an image. `file_name` defaults to the path's; it is only shown to people."""
    cell = cell_of(stores, tenant)
    description = checked_alt_text(alt_text)
    with cell.app.transaction(tenant=tenant, actor=actor) as session:
        if clients.by_id(session, client) is None:
            raise unknown("client", client, what="client")
    inspected = inspect(source, file_name=file_name)
    store_bytes(storage, inspected, tenant=tenant, client=client)
    with cell.app.transaction(tenant=tenant, actor=actor) as session:
        return Media(**record(session, inspected, tenant=tenant, client=client, alt_text=description))


def inspect(source: Path | bytes, *, file_name: str | None = None, field: str = "media") -> Inspected:
    """Find out what a file is, reading all of it. Raises `InputRefused`, which names `field`."""
    name = PurePath(file_name or (source.name if isinstance(source, Path) else "image")).name[:200]
    if isinstance(source, Path) and source.exists() and not source.is_file():
        raise refusal(field, name, "is not a file", "give an image file")
    try:
        with _opened(source) as file:
            size = file.seek(0, io.SEEK_END)
            if size == 0:
                raise refusal(field, name, "is empty", "give the image itself")
            if size > MOST_BYTES:
                problem = f"has {size / 1024 / 1024:.1f} MiB, and {MOST_BYTES // 1024 // 1024} are the most"
                raise refusal(field, name, problem, "make it smaller")
            image_format, width, height = _decode(file, name=name, field=field)
            digest = _sha256(file)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise refusal(
            field, name, f"can't be read ({reason})", "check the path and its permissions"
        ) from None
    mime_type, extension = _FORMATS[image_format]
    return Inspected(
        source=source,
        file_name=name,
        mime_type=mime_type,
        extension=extension,
        byte_size=size,
        sha256=digest,
        width=width,
        height=height,
    )


def store_bytes(storage: MediaFiles, inspected: Inspected, *, tenant: UUID, client: UUID) -> None:
    """Copy the file's bytes to the storage, a piece at a time. Waits for network or disk: no transaction."""
    key = inspected.storage_key(tenant=tenant, client=client)
    with _opened(inspected.source) as file:
        storage.write(key, _unchanged(file, inspected), byte_size=inspected.byte_size)


def record(session: Session, inspected: Inspected, *, tenant: UUID, client: UUID, alt_text: str = "") -> Row:
    """Insert the file's row, or return the row of the same file and description."""
    values: dict[str, Any] = {
        "tenant_id": tenant,
        "id": new_id(),
        "client_id": client,
        "file_name": inspected.file_name,
        "storage_key": inspected.storage_key(tenant=tenant, client=client),
        "mime_type": inspected.mime_type,
        "byte_size": inspected.byte_size,
        "sha256": inspected.sha256,
        "width": inspected.width,
        "height": inspected.height,
        "alt_text": alt_text,
    }
    return media.keep(session, values)


def checked_alt_text(text: str) -> str:
    """Clean a description. Platforms have limits of their own, checked with the post."""
    try:
        plain = clean_text(text).strip()
    except BadText as error:
        raise refusal("alt_text", "", str(error), "write it again") from None
    if len(plain) > LONGEST_ALT_TEXT:
        problem = f"has {len(plain):,} characters, and {LONGEST_ALT_TEXT:,} are the most"
        raise refusal("alt_text", "", problem, "shorten it")
    return plain


def _opened(source: Path | bytes) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _decode(file: BinaryIO, *, name: str, field: str) -> tuple[str, int, int]:
    """Return format, width and height of an image that decodes to its end."""
    file.seek(0)
    head = file.read(16)
    if head[4:8] == b"ftyp" or head[:4] == b"\x1aE\xdf\xa3":
        raise refusal(field, name, "is a video or another container", "give a JPEG, PNG, GIF or WebP image")
    file.seek(0)
    try:
        with Image.open(file, formats=tuple(_FORMATS)) as image:
            width, height = image.size
            image_format = str(image.format)
            if width * height > MOST_PIXELS:
                problem = f"has {width} x {height} pixels, and {MOST_PIXELS:,} are the most"
                raise refusal(field, name, problem, "make it smaller")
            # Both are needed: checksums and the end of the file, then whether the pixels decode.
            image.verify()
        file.seek(0)
        with Image.open(file, formats=(image_format,)) as image:
            image.load()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        # Pillow's own limits, met by the header alone; a warning where warnings are made errors.
        problem = f"has more than {MOST_PIXELS:,} pixels"
        raise refusal(field, name, problem, "make it smaller") from None
    except UnidentifiedImageError:
        problem = "is not an image that can be posted, whatever its name says"
        raise refusal(field, name, problem, "give a JPEG, PNG, GIF or WebP image") from None
    except (OSError, SyntaxError, ValueError, EOFError):
        # What Pillow raises for a file that begins like an image and then is none.
        raise refusal(field, name, "is damaged or cut off", "export it again") from None
    return image_format, width, height


def _sha256(file: BinaryIO) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def _unchanged(file: BinaryIO, inspected: Inspected) -> Iterator[bytes]:
    """Yield the bytes that were inspected, or refuse a file that has changed since."""
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != inspected.sha256:
        raise refusal("media", inspected.file_name, "changed while it was read", "try again")
