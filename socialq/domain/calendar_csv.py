"""Read a calendar file: the bytes of a CSV become rows, or problems that say line, column, reason, way out.

Arrives: a file with the headers text, publish_at, timezone, accounts, media, first_comment and labels, in any
order. Leaves: rows whose cells are taken apart but not yet looked up; what accounts exist, what instant is
meant and how long a text may be is the importer's business. What must stay true: a row is either returned or
reported, never dropped, cut or repaired in silence, and a cell's text is taken as it stands (a leading =, +,
- or @ is a smile, a discount, a mention, not a formula).
"""

from __future__ import annotations

import re
import unicodedata
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from socialq.domain.csv_bytes import NotATable, Record, choose_delimiter, decode, read_records
from socialq.domain.errors import InputProblem, shown
from socialq.domain.text import THREAD_SEPARATOR, BadText, clean_text, split_thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

KNOWN_COLUMNS: Final = ("text", "publish_at", "timezone", "accounts", "media", "first_comment", "labels")
REQUIRED_COLUMNS: Final = ("text", "publish_at", "accounts")

LARGEST_FILE_BYTES: Final = 10 * 1024 * 1024
MOST_ROWS: Final = 10_000

_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowProblem:
    """What is wrong with a row, or with the file."""

    line: int
    """The physical line the row begins on."""
    row: int | None = None
    """The row as a spreadsheet counts, header 1; None where the file as a whole is meant."""
    column: str | None = None
    """The header's name; None where the row as a whole is meant."""
    reason: str
    way_out: str

    def __str__(self) -> str:
        where = f"line {self.line}"
        if self.row is not None and self.row != self.line:
            where += f" (row {self.row})"
        if self.column is not None:
            where += f", column {self.column}"
        return f"{where}: {self.reason}; {self.way_out}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarRow:
    """One post to be, as the file says it."""

    row: int
    line: int
    text: str
    """Line breaks are LF, outer blanks are gone, all else is as it stood."""
    publish_at: str
    timezone: str | None
    accounts: tuple[str, ...]
    """As written, each once."""
    media: tuple[str, ...]
    """Addresses, or paths relative to the file."""
    first_comment: str
    labels: tuple[str, ...]

    @property
    def segments(self) -> list[str]:
        """The text's segments; one, unless it is a thread."""
        return split_thread(self.text)

    def problem(self, found: InputProblem) -> RowProblem:
        """Place what a later step found (a time, an account) at this row."""
        value = f'"{found.value}" ' if found.value else ""
        return RowProblem(
            line=self.line,
            row=self.row,
            column=found.field,
            reason=f"{value}{found.problem}",
            way_out=found.way_out,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A whole file, read."""

    rows: list[CalendarRow] = field(default_factory=list)
    problems: list[RowProblem] = field(default_factory=list)
    """Each keeps its row out of `rows`; one about the file keeps all out."""
    warnings: list[RowProblem] = field(default_factory=list)
    """The row is in `rows`, and a person should look at it."""
    encoding: str = ""
    delimiter: str = ""


def parse(data: bytes) -> Parsed:
    """Read the bytes of a calendar file. Never raises for what a file may hold: see `Parsed.problems`."""
    if len(data) > LARGEST_FILE_BYTES:
        size = f"the file has {len(data):,} bytes, and {LARGEST_FILE_BYTES:,} are the most"
        return Parsed(problems=[RowProblem(line=1, reason=size, way_out="split it")])
    try:
        text, encoding = decode(data)
    except NotATable as error:
        problem = RowProblem(line=error.line, reason=error.reason, way_out=error.way_out)
        return Parsed(problems=[problem])
    delimiter = choose_delimiter(text)
    parsed = Parsed(encoding=encoding, delimiter=delimiter)
    # One more than the most tells that there are too many, without reading them all.
    _read_table(list(islice(read_records(text, delimiter), MOST_ROWS + 2)), parsed)
    return parsed


def _read_table(records: Sequence[Record], parsed: Parsed) -> None:
    if not records:
        parsed.problems.append(
            RowProblem(
                line=1, reason="the file is empty", way_out=f"give it the headers {_names(KNOWN_COLUMNS)}"
            )
        )
        return
    header, *body = records
    columns, problems = _read_header(header)
    if len(body) > MOST_ROWS:
        reason = f"the file has more than {MOST_ROWS:,} rows"
        problems.append(RowProblem(line=header.line, reason=reason, way_out="split it"))
    parsed.problems.extend(problems)
    if not problems:
        for record in body:
            _read_row(record, columns, parsed)


def _read_header(header: Record) -> tuple[list[str], list[RowProblem]]:
    """Return the column each cell belongs to ("" where the header is blank), and what is wrong with it."""
    by_spelling = {_spelling(name): name for name in KNOWN_COLUMNS}
    columns = [by_spelling.get(_spelling(cell), cell.strip()) for cell in header.cells]
    found: list[tuple[str | None, str, str]] = []
    if header.broken:
        found.append((None, header.broken, "check the quotation marks of the first row"))
    else:
        found += _header_problems(columns)
    return columns, [
        RowProblem(line=header.line, row=header.row, column=column, reason=reason, way_out=way_out)
        for column, reason, way_out in found
    ]


def _header_problems(columns: Sequence[str]) -> Iterable[tuple[str | None, str, str]]:
    named = [column for column in columns if column]
    for column in dict.fromkeys(named):
        if column not in KNOWN_COLUMNS:
            yield shown(column), "the header is unknown", f"the known ones are {_names(KNOWN_COLUMNS)}"
        elif named.count(column) > 1:
            yield column, "the header is there twice", "leave one"
    for column in REQUIRED_COLUMNS:
        if column not in named:
            yield column, "the header is missing", f"the file needs {_names(REQUIRED_COLUMNS)}"


def _read_row(record: Record, columns: Sequence[str], parsed: Parsed) -> None:
    found = _Findings(record)
    if record.broken:
        found.problem(None, record.broken, "double the quotation marks within a cell, and close it")
    elif len(record.cells) != len(columns):
        reason = f"it has {len(record.cells)} cells, and the header has {len(columns)}"
        found.problem(None, reason, "put cells that hold the delimiter into quotation marks")
    else:
        row = _row(record, columns, found)
        _check_text(row, found)
        _check_media(row, found)
        if not row.publish_at:
            found.problem("publish_at", "there is no time", "write it as 2027-03-22T09:00")
        if not row.accounts:
            found.problem("accounts", "there is no account", "name one as platform:name")
        if not found.problems:
            parsed.rows.append(row)
    parsed.problems.extend(found.problems)
    parsed.warnings.extend(found.warnings)


def _row(record: Record, columns: Sequence[str], found: _Findings) -> CalendarRow:
    cells = {name: cell.strip() for name, cell in zip(columns, record.cells, strict=True) if name}
    if any(cell.strip() for name, cell in zip(columns, record.cells, strict=True) if not name):
        found.problem(None, "a cell stands in a column that has no header", "name the column or empty it")
    accounts = _listed(cells["accounts"])
    unique: dict[str, str] = {}
    for account in accounts:
        unique.setdefault(account.casefold(), account)
    if len(unique) < len(accounts):
        found.warning("accounts", "an account is listed twice", "it is taken once")
    return CalendarRow(
        row=record.row,
        line=record.line,
        text=cells["text"],
        publish_at=cells["publish_at"],
        timezone=cells.get("timezone") or None,
        accounts=tuple(unique.values()),
        media=_listed(cells.get("media", "")),
        first_comment=cells.get("first_comment", ""),
        labels=tuple(dict.fromkeys(_listed(cells.get("labels", "")))),
    )


def _check_text(row: CalendarRow, found: _Findings) -> None:
    for column, text in (("text", row.text), ("first_comment", row.first_comment)):
        if "\ufffd" in text:
            reason = "letters were lost before this file was saved (there is a replacement character)"
            found.problem(column, reason, "write them again")
        if _was_misread(text):
            found.warning(column, "it looks like UTF-8 that was read as Windows-1252", "check the letters")
        with found.catching(column):
            clean_text(text)
    with found.catching("text"):
        seen = [_is_visible(segment) for segment in row.segments]
        if len(seen) > 1 and not all(seen):
            reason = f"segment {seen.index(False) + 1} of {len(seen)} of the thread has nothing to see"
            found.problem("text", reason, f"fill it or remove a {THREAD_SEPARATOR} line")
        elif not any(seen) and not row.media:
            found.problem("text", "there is neither text nor media", "write one, or remove the row")


def _check_media(row: CalendarRow, found: _Findings) -> None:
    """Refuse what names a file outside the calendar's folder, or carries a password. Opens nothing."""
    for item in row.media:
        if "://" in item:
            if "@" in _authority(item):
                found.problem("media", "an address carries a user name or password", "give it without")
            elif not item.lower().startswith(("http://", "https://")):
                found.problem("media", f'"{shown(item)}" is no web address', "use http or https")
        elif _DRIVE.match(item) or item.startswith(("/", "\\", "~")) or ".." in re.split(r"[\\/]", item):
            reason = f'"{shown(item)}" is a path on somebody\'s computer'
            found.problem("media", reason, "put the file beside the calendar file and give its name")


def _authority(address: str) -> str:
    """Return the part of an address that names user and host; all of it where that can't be told."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        return address


class _Findings:
    """What is found out about one row while it is read."""

    def __init__(self, record: Record) -> None:
        self.problems: list[RowProblem] = []
        self.warnings: list[RowProblem] = []
        self._record = record

    def problem(self, column: str | None, reason: str, way_out: str) -> None:
        self.problems.append(self._at(column, reason, way_out))

    def warning(self, column: str | None, reason: str, way_out: str) -> None:
        self.warnings.append(self._at(column, reason, way_out))

    @contextmanager
    def catching(self, column: str) -> Iterator[None]:
        """Turn a refused text into a problem of `column`."""
        try:
            yield
        except BadText as refusal:
            reason, _, way_out = str(refusal).partition(": ")
            self.problem(column, reason[:1].lower() + reason[1:], way_out.rstrip("."))

    def _at(self, column: str | None, reason: str, way_out: str) -> RowProblem:
        record = self._record
        return RowProblem(line=record.line, row=record.row, column=column, reason=reason, way_out=way_out)


def _spelling(header: str) -> str:
    return re.sub(r"[\s_-]", "", header).casefold()


def _listed(cell: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in cell.split(",") if item.strip())


def _is_visible(text: str) -> bool:
    """Say whether a reader sees anything: blanks, joiners and direction marks alone are nothing."""
    return any(unicodedata.category(char)[0] not in "ZC" for char in text)


def _was_misread(text: str) -> bool:
    """Say whether undoing one wrong decoding gives sound UTF-8: chance hardly ever does that."""
    try:
        return text.encode("cp1252").decode("utf-8") != text
    except (UnicodeEncodeError, UnicodeDecodeError):
        return False


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)
