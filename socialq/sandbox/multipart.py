"""Forms with files in them, read piece by piece so that a large upload never lies in memory.

Arrives: a body in pieces. Leaves: fields as text, and the first file's bytes into a file of ours.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Event, Field, File, MultipartDecoder, NeedData

PIECE_BYTES = 64 * 1024
FIELD_LIMIT_BYTES = 64 * 1024


class Malformed(Exception):  # noqa: N818 - named for what happened
    """The body is not the multipart form it says it is."""


@dataclass(slots=True)
class Upload:
    """A form with one file. `size_bytes` counts all of the file, also what was beyond the limit."""

    fields: dict[str, str] = field(default_factory=dict)
    filename: str | None = None
    size_bytes: int = 0


def read_fields(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """The text fields of a small form, in order."""
    fields: list[tuple[str, str]] = []
    name: str | None = None
    for event in _events(content_type, iter([body])):
        if isinstance(event, Field):
            name = event.name
            fields.append((name, ""))
        elif isinstance(event, File):
            name = None
        elif isinstance(event, Data) and name is not None:
            fields[-1] = (name, fields[-1][1] + event.data.decode("utf-8", "replace"))
    return fields


def receive_upload(
    content_type: str,
    read: Callable[[int], bytes],
    destination: Path,
    *,
    limit_bytes: int,
    part: str = "file",
) -> Upload:
    """Read a form whose `part` goes to `destination`, whether it is sent as a file or as a plain field.

    What is beyond `limit_bytes` is read and dropped, so that the caller, still sending, can be answered.
    """
    upload = Upload()
    name = ""
    with destination.open("wb") as stream:
        for event in _events(content_type, _pieces(read)):
            if isinstance(event, File):
                name = event.name
                if name == part:
                    upload.filename = event.filename
            elif isinstance(event, Field):
                name = event.name
                upload.fields[name] = ""
            elif isinstance(event, Data) and name == part:
                upload.size_bytes += len(event.data)
                if upload.size_bytes <= limit_bytes:
                    stream.write(event.data)
            elif isinstance(event, Data) and name in upload.fields:
                upload.fields[name] += event.data.decode("utf-8", "replace")
                if len(upload.fields[name]) > FIELD_LIMIT_BYTES:
                    raise Malformed(f"Field {name} is too long")
    return upload


def _pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while piece := read(PIECE_BYTES):
        yield piece


def _events(content_type: str, pieces: Iterator[bytes]) -> Iterator[Event]:
    boundary = parse_options_header(content_type)[1].get("boundary")
    if not boundary:
        raise Malformed("The multipart form has no boundary")
    decoder = MultipartDecoder(boundary.encode("latin-1", "replace"))
    try:
        for piece in pieces:
            decoder.receive_data(piece)
            while not isinstance(event := decoder.next_event(), NeedData):
                yield event
                if isinstance(event, Epilogue):
                    return
        decoder.receive_data(None)
        while not isinstance(event := decoder.next_event(), NeedData | Epilogue):
            yield event
    except ValueError as error:
        raise Malformed(f"Malformed multipart form: {error}") from None
