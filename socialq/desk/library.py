"""The media library: a file becomes a stored, checked picture, video or document of a client.

Arrives: a path or bytes, a name, a description. Leaves: a `Media`, ready to be posted. What must stay true:
what a file is, its bytes decide, not its name; size and pixels are checked before anything is decoded; the
bytes are stored before the row that names them; the same file of the same client is stored once.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from socialq.desk.pieces import MediaFacts
from socialq.desk.processing import Processing, storage_key
from socialq.desk.refusals import refusal, unknown
from socialq.desk.tenants import cell_of
from socialq.domain.ids import new_id
from socialq.domain.text import BadText, clean_text, harmless
from socialq.media.facts import FileRefused, facts_of
from socialq.media.probing import CHUNK_BYTES, look_at
from socialq.providers.registry import adapter_for
from socialq.store.cell import clients, media

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.media.facts import FileFacts
    from socialq.media.scanning import Scanner
    from socialq.providers.base import Adapter
    from socialq.store.media_files import MediaFiles
    from socialq.store.sessions import Row, Session
    from socialq.store.stores import Stores

LONGEST_ALT_TEXT: Final = 10_000


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
    duration_seconds: float | None
    details: Mapping[str, Any]
    """What else its bytes say; see `media.facts`."""
    alt_text: str
    status: str
    problem: str | None
    created_at: datetime

    @property
    def facts(self) -> FileFacts:
        """What it is, as rules judge it."""
        return facts_of(
            mime_type=self.mime_type,
            byte_size=self.byte_size,
            width=self.width,
            height=self.height,
            duration_seconds=self.duration_seconds,
            details=self.details,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """A file that was looked at; its bytes are still where they were."""

    source: Path | bytes = field(repr=False)
    file_name: str
    facts: FileFacts
    sha256: str

    @property
    def mime_type(self) -> str:
        return self.facts.mime_type

    @property
    def byte_size(self) -> int:
        return self.facts.byte_size

    def storage_key(self, *, tenant: UUID, client: UUID) -> str:
        """Where the bytes are kept: the same for the same bytes of the same client."""
        return storage_key(self.sha256, self.mime_type, tenant=tenant, client=client)


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
    scanner: Scanner | None = None,
    adapter_of: Callable[[str], Adapter] = adapter_for,
) -> Media:
    """Check, store and process a file. `file_name` defaults to the path's; it is only shown to people.

    Raises `InputRefused`. What was added before is not stored again; what it still lacks is made.
    """
    description = checked_alt_text(alt_text)
    with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
        if clients.by_id(session, client) is None:
            raise unknown("client", client, what="client")
    inspected = inspect(source, file_name=file_name)
    processing = Processing(stores=stores, storage=storage, scanner=scanner, adapter_of=adapter_of)
    return keep_file(processing, inspected, tenant=tenant, client=client, alt_text=description, actor=actor)


def keep_file(
    processing: Processing,
    inspected: Inspected,
    *,
    tenant: UUID,
    client: UUID,
    alt_text: str = "",
    actor: str,
) -> Media:
    """Store, record and process a file that was looked at."""
    store_bytes(processing.storage, inspected, tenant=tenant, client=client)
    with cell_of(processing.stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
        row = record(session, inspected, tenant=tenant, client=client, alt_text=alt_text)
    return media_of(processing.process(row, inspected.facts, actor=actor))


def inspect(source: Path | bytes, *, file_name: str | None = None, field: str = "media") -> Inspected:
    """Find out what a file is, reading all of it. Raises `InputRefused`, which names `field`."""
    given = PurePath(file_name or (source.name if isinstance(source, Path) else "file")).name
    name = harmless(given, longest=200)
    try:
        if isinstance(source, Path) and source.exists() and not source.is_file():
            raise refusal(field, name, "is not a file", "give an image, a video or a PDF")
        with _opened(source) as file:
            looked = look_at(file)
    except FileRefused as refused:
        raise refusal(field, name, refused.problem, refused.way_out) from None
    except (OSError, ValueError) as error:
        # ValueError: a path that no file can have, with a NUL or a lone surrogate in it.
        reason = error.strerror if isinstance(error, OSError) else "no file has such a name"
        said = (reason or type(error).__name__).lower()
        raise refusal(field, name, f"can't be read ({said})", "check the path and its permissions") from None
    return Inspected(source=source, file_name=name, facts=looked.facts, sha256=looked.sha256)


def file_of(inspected: Inspected, *, client: UUID) -> MediaFacts:
    """What composing needs to know of a file that is not in the library yet."""
    facts = inspected.facts
    return MediaFacts(
        id=new_id(),
        client_id=client,
        file_name=inspected.file_name,
        mime_type=facts.mime_type,
        byte_size=facts.byte_size,
        alt_text="",
        sha256=inspected.sha256,
        width=facts.width or None,
        height=facts.height or None,
        duration_seconds=facts.duration_seconds,
        details=facts.details(),
    )


def store_bytes(storage: MediaFiles, inspected: Inspected, *, tenant: UUID, client: UUID) -> None:
    """Copy the file's bytes to the storage, a piece at a time. Waits for network or disk: no transaction."""
    key = inspected.storage_key(tenant=tenant, client=client)
    with _opened(inspected.source) as file:
        storage.write(key, _unchanged(file, inspected), byte_size=inspected.byte_size)


def record(session: Session, inspected: Inspected, *, tenant: UUID, client: UUID, alt_text: str = "") -> Row:
    """Insert the file's row as `uploaded`, or return the row of the same file and description."""
    facts = inspected.facts
    values: dict[str, Any] = {
        "tenant_id": tenant,
        "id": new_id(),
        "client_id": client,
        "file_name": inspected.file_name,
        "storage_key": inspected.storage_key(tenant=tenant, client=client),
        "mime_type": facts.mime_type,
        "byte_size": facts.byte_size,
        "sha256": inspected.sha256,
        "width": facts.width or None,
        "height": facts.height or None,
        "duration_seconds": facts.duration_seconds,
        "details": facts.details(),
        "alt_text": alt_text,
    }
    return media.keep(session, values)


def newest(stores: Stores, *, tenant: UUID, client: UUID | None = None, limit: int = 50) -> Sequence[Media]:
    """Return the newest files, of one client or of all."""
    with cell_of(stores, tenant).app.transaction(tenant=tenant) as session:
        return [media_of(row) for row in media.newest(session, client_id=client, limit=limit)]


def find(stores: Stores, *, tenant: UUID, media_id: UUID) -> Media:
    """Return one file. Raises `InputRefused`."""
    with cell_of(stores, tenant).app.transaction(tenant=tenant) as session:
        rows = media.by_ids(session, [media_id])
    if not rows:
        raise unknown("media", media_id, what="file in the library")
    return media_of(rows[0])


def media_of(row: Row) -> Media:
    """Read a row of `media`."""
    return Media(**{each.name: row[each.name] for each in fields(Media)})


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


def _unchanged(file: BinaryIO, inspected: Inspected) -> Iterator[bytes]:
    """Yield the bytes that were inspected, or refuse a file that has changed since."""
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != inspected.sha256:
        raise refusal("media", inspected.file_name, "changed while it was read", "try again")
