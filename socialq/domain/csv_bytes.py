"""Take the bytes of a table apart: which encoding, which delimiter, which cells, on which line.

Spreadsheets save one table in a dozen ways. Bytes arrive; records leave, each with the number a spreadsheet
shows for it and the line an editor shows. Nothing is dropped and no letter is guessed: what can't be read is
refused with its line, and what was found out (encoding, delimiter) is told.
"""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

DELIMITERS: Final = (",", ";", "\t")

_SAMPLE_ROWS: Final = 1_000
"""As many rows as the choice of a delimiter looks at."""

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks, which say the encoding for certain. Looked at first: without this, UTF-16 would pass for
Latin letters, and the mark itself would become part of the first header."""


class NotATable(Exception):  # noqa: N818 - named for what was found
    """The bytes as a whole can't be read."""

    def __init__(self, *, line: int, reason: str, way_out: str) -> None:
        """`line` is the physical line, 1 for the first."""
        super().__init__(f"line {line}: {reason}; {way_out}")
        self.line = line
        self.reason = reason
        self.way_out = way_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of a table, as it stands in the file."""

    row: int
    """As a spreadsheet counts: the header is 1, and blank rows count."""
    line: int
    """The physical line it begins on; quoted line breaks make this run ahead of `row`."""
    cells: tuple[str, ...]
    """Line breaks within are LF."""
    broken: str = ""
    """Why the record could not be taken apart, if it could not; then `cells` is empty."""


def decode(data: bytes) -> tuple[str, str]:
    """Return the text and the name of its encoding: by byte order mark, else strict UTF-8, else Windows-1252.

    Raises `NotATable` where none of them fits, and for NUL, which no text has.
    """
    text, encoding = _decode(data)
    nul = text.find("\0")
    if nul >= 0:
        raise NotATable(
            line=text.count("\n", 0, nul) + 1,
            reason="there is a NUL character, so this is no text (or UTF-16 without its mark)",
            way_out="save it as CSV in UTF-8",
        )
    return text, encoding


def choose_delimiter(text: str) -> str:
    """Choose the delimiter that makes most rows as wide as the first, quotes respected; else the widest.

    Counting delimiters would be misled by commas in sentences. Falls back to the comma.
    """
    return max(DELIMITERS, key=lambda delimiter: _evenness(text, delimiter))


def read_records(text: str, delimiter: str) -> Iterator[Record]:
    """Take `text` apart, record by record. Never raises: see `Record.broken`.

    Blank rows, which spreadsheets leave by the thousand, are counted and not returned.
    """
    # newline="" keeps line ends as they are, and splits at CR, LF and CRLF only: other separators that
    # str.splitlines knows (U+2028, form feed) are part of a cell.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    row = 0
    while True:
        row, line = row + 1, reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Record(row=row, line=line, cells=(), broken=_why_broken(str(error)))
            continue
        if any(cell.strip() for cell in cells):
            yield Record(row=row, line=line, cells=tuple(_lf(cell) for cell in cells))


def _decode(data: bytes) -> tuple[str, str]:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], encoding), encoding
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return _strictly(data, "cp1252"), "cp1252"


def _strictly(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line_ends = data[: error.start].decode(encoding, errors="replace").count("\n")
        raise NotATable(
            line=line_ends + 1,
            reason=f"byte {data[error.start] if error.start < len(data) else 0:#04x} is not {encoding}",
            way_out="save it as CSV in UTF-8",
        ) from None


def _evenness(text: str, delimiter: str) -> tuple[float, int]:
    records = list(islice(read_records(text, delimiter), _SAMPLE_ROWS))
    width = len(records[0].cells) if records else 0
    if width < 2:
        return 0.0, 0
    return sum(len(record.cells) == width for record in records) / len(records), width


def _why_broken(error: str) -> str:
    """Put the csv module's words for a spreadsheet's user."""
    if "unexpected end" in error:
        return "a quotation mark is opened here and never closed"
    if "expected after" in error:
        return "a quotation mark within a quoted cell is not doubled"
    if "field larger" in error:
        return "a cell is longer than 131,072 characters: probably a quotation mark is never closed"
    return f"it can't be taken apart ({error})"


def _lf(cell: str) -> str:
    return cell.replace("\r\n", "\n").replace("\r", "\n")
