"""Reading a calendar file."""

from __future__ import annotations

import codecs
import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from socialq.domain import calendar_csv
from socialq.domain.calendar_csv import Parsed, parse
from socialq.domain.errors import BadTime, InputProblem
from socialq.domain.local_time import check_not_past, resolve

DATA = Path(__file__).parent / "data"
EXAMPLES = Path(__file__).parents[3] / "examples"
HEADER = ["text", "publish_at", "timezone", "accounts", "media", "first_comment", "labels"]
GOOD = ["Hello", "2027-03-22T09:00", "", "mastodon:moss", "", "", ""]


def table(*rows: list[str], header: list[str] = HEADER, delimiter: str = ",", end: str = "\r\n") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator=end).writerows([header, *rows])
    return out.getvalue()


def good(**cells: str) -> list[str]:
    return [cells.get(name, cell) for name, cell in zip(HEADER, GOOD, strict=True)]


def read(text: str) -> Parsed:
    return parse(text.encode())


def only_problem(parsed: Parsed) -> str:
    assert parsed.rows == []
    assert len(parsed.problems) == 1, parsed.problems
    return str(parsed.problems[0])


def test_a_plain_file_is_read_to_the_letter() -> None:
    """Every row of the sample: text, cells, row and line, and the instant its time comes to."""
    parsed = parse((DATA / "generic.csv").read_bytes())
    expected = json.loads((DATA / "generic-expected.json").read_text("utf-8"))["rows"]
    timed = [row for row in expected if row["publish_at"]]
    assert (parsed.encoding, parsed.delimiter) == ("utf-8", ",")
    assert len(parsed.rows) == len(timed) == 15
    for row, wanted in zip(parsed.rows, timed, strict=True):
        assert (row.row, row.line, row.text) == (wanted["row"], wanted["line"], wanted["text"])
        assert list(row.accounts) == wanted["accounts"]
        assert list(row.media) == wanted["media"]
        assert list(row.labels) == wanted["labels"]
        assert (row.first_comment or None) == wanted["first_comment"]
        found = resolve(
            row.publish_at, zone=row.timezone, default_zone="UTC", now=datetime(2026, 12, 1, tzinfo=UTC)
        )
        utc = datetime.fromisoformat(wanted["utc"])
        assert found.instant_utc == utc, row
    assert [str(problem) for problem in parsed.problems] == [
        "line 24 (row 17), column publish_at: there is no time; write it as 2027-03-22T09:00"
    ]


# What only somebody who knows the accounts, the platforms or the rows before can find.
FOUND_LATER = {
    "unknown_account",
    "text_too_long",
    "media_required",
    "duplicate_row",
    "same_slot",
    "too_many_media",
    "media_private_address",
    "first_comment_unsupported",
}


@pytest.mark.parametrize("name", ["nasty", "nasty-extra"])
def test_every_wrong_row_is_reported_at_its_row_line_and_column(name: str) -> None:
    """What is wrong in a cell or a time is found where a person would look, and no good row is."""
    wanted = json.loads((DATA / f"{name}-expected-errors.json").read_text("utf-8"))
    as_of = datetime.fromisoformat(wanted["as_of"])
    parsed = parse((DATA / f"{name}.csv").read_bytes())
    refused = {(problem.row, problem.line, problem.column) for problem in parsed.problems}
    told = {(warning.row, warning.line, warning.column) for warning in parsed.warnings}
    for row in parsed.rows:
        try:
            found = resolve(row.publish_at, zone=row.timezone, default_zone="Europe/Berlin", now=as_of)
            check_not_past(found.instant_utc, as_of, 0)
        except BadTime as error:
            problem = row.problem(error.problems[0])
            refused.add((problem.row, problem.line, problem.column))
            continue
        if found.offset_conflicts:
            refused.add((row.row, row.line, "publish_at"))
    mine = [error for error in wanted["errors"] if error["code"] not in FOUND_LATER]
    for error in mine:
        columns = [error["column"], *error.get("also_ok", [])]
        places = {(error["row"], error["line"], column) for column in columns}
        assert places & (refused if error["accept"] == ["error"] else refused | told), error
    assert {row for row, _, _ in refused | told} == {error["row"] for error in mine}
    assert {row["row"] for row in wanted["valid_rows"]} <= {row.row for row in parsed.rows}


def test_headers_may_stand_in_any_order_and_spelling() -> None:
    """Case, blanks, underscores and hyphens don't count; optional columns may be missing."""
    parsed = read("ACCOUNTS, Publish At ,Text\r\nmastodon:moss,now,Hi\r\nmastodon:fen,now,Ho\r\n")
    assert parsed.problems == []
    assert [(row.text, row.publish_at, row.accounts) for row in parsed.rows] == [
        ("Hi", "now", ("mastodon:moss",)),
        ("Ho", "now", ("mastodon:fen",)),
    ]
    assert parsed.rows[0].timezone is None
    assert parsed.rows[0].media == parsed.rows[0].labels == ()
    spelt = read("text,Publish-At,first comment,accounts\r\nHi,now,Me first,mastodon:moss\r\n")
    assert spelt.rows[0].first_comment == "Me first"


def test_an_unknown_header_is_named_with_the_known_ones() -> None:
    """Nothing is imported: what the column means can't be guessed."""
    said = only_problem(read(table([*GOOD, "x"], header=[*HEADER, "Colour"])))
    assert said == (
        "line 1, column Colour: the header is unknown; "
        "the known ones are text, publish_at, timezone, accounts, media, first_comment, labels"
    )


@pytest.mark.parametrize("missing", ["text", "publish_at", "accounts"])
def test_a_missing_header_is_named(missing: str) -> None:
    """Without these three no row means anything."""
    header = [name for name in HEADER if name != missing]
    said = only_problem(read(table(GOOD[1:], header=header)))
    assert said.startswith(f"line 1, column {missing}: the header is missing")


def test_a_header_that_is_there_twice_is_refused() -> None:
    """Which of the two counts can't be guessed."""
    said = only_problem(read(table([*GOOD, "x"], header=[*HEADER, "Labels"])))
    assert "column labels: the header is there twice" in said


def test_a_file_without_headers_says_what_it_needs() -> None:
    """The first row of content is not mistaken for headers in silence."""
    parsed = read("Hello,2027-03-22T09:00,mastodon:moss\r\n")
    assert parsed.rows == []
    assert [problem.column for problem in parsed.problems] == [
        "Hello",
        "2027-03-22T09:00",
        "mastodon:moss",
        "text",
        "publish_at",
        "accounts",
    ]


def test_a_column_without_a_header_must_be_empty() -> None:
    """Spreadsheets add blank columns; one with something in it belongs to nobody."""
    fine = read(table([*GOOD, " "], header=[*HEADER, ""]))
    assert len(fine.rows) == 1
    said = only_problem(read(table([*GOOD, "note"], header=[*HEADER, ""])))
    assert "a column that has no header" in said


@pytest.mark.parametrize("data", [b"", b"\r\n\r\n", b",,,\r\n , \r\n", codecs.BOM_UTF8])
def test_an_empty_file_is_refused(data: bytes) -> None:
    """Nothing to import is not a success."""
    assert "the file is empty" in only_problem(parse(data))


UMLAUTS = table(good(text="Grüße aus der Mühle – 12 €"))
EMOJI = table(good(text="Grüße 👩‍🔬🏴󠁧󠁢󠁳󠁣󠁴󠁿"))


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (EMOJI.encode(), "utf-8", "Grüße 👩‍🔬🏴󠁧󠁢󠁳󠁣󠁴󠁿"),
        (codecs.BOM_UTF8 + EMOJI.encode(), "utf-8", "Grüße 👩‍🔬🏴󠁧󠁢󠁳󠁣󠁴󠁿"),
        (codecs.BOM_UTF16_LE + EMOJI.encode("utf-16-le"), "utf-16-le", "Grüße 👩‍🔬🏴󠁧󠁢󠁳󠁣󠁴󠁿"),
        (codecs.BOM_UTF16_BE + EMOJI.encode("utf-16-be"), "utf-16-be", "Grüße 👩‍🔬🏴󠁧󠁢󠁳󠁣󠁴󠁿"),
        (UMLAUTS.encode("cp1252"), "cp1252", "Grüße aus der Mühle – 12 €"),
    ],
)
def test_five_ways_to_save_a_table_are_read_and_the_encoding_is_told(
    data: bytes, encoding: str, text: str
) -> None:
    """Mark, strict UTF-8, then Windows-1252; no letter and no emoji is lost."""
    parsed = parse(data)
    assert parsed.problems == []
    assert parsed.encoding == encoding
    assert parsed.rows[0].text == text


def test_bytes_that_fit_no_encoding_are_refused_with_their_line() -> None:
    """0x81 is neither UTF-8 nor Windows-1252."""
    said = only_problem(parse(table(GOOD, good(text="x")).encode() + b"\x81\r\n"))
    assert said == "line 4: byte 0x81 is not cp1252; save it as CSV in UTF-8"


def test_a_mark_that_lies_is_refused_not_guessed_around() -> None:
    """After a UTF-8 mark there is UTF-8, or the file is damaged."""
    assert "line 2: byte 0xfc is not utf-8" in only_problem(parse(codecs.BOM_UTF8 + b"text\r\n\xfc\r\n"))
    assert "is not utf-16-le" in only_problem(parse(codecs.BOM_UTF16_LE + b"t\x00e"))


def test_nul_is_refused_with_its_line() -> None:
    """A database can't keep it, and no text has it."""
    said = only_problem(read(table(GOOD, good(text="a\0b"))))
    assert said.startswith("line 3: there is a NUL character")
    assert "NUL" in only_problem(parse(EMOJI.encode("utf-16-le")))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_the_delimiter_is_the_one_that_makes_rows_even(delimiter: str, end: str) -> None:
    """Commas, semicolons and tabs in the texts mislead nobody, quoted or not."""
    rows = [
        good(text="One, two, three; four\tfive, six, seven, eight"),
        good(text="a;b;c;d;e;f;g;h", labels="x,y,z"),
        good(text='He said "no; never, ever"'),
    ]
    parsed = read(table(*rows, delimiter=delimiter, end=end))
    assert parsed.problems == []
    assert parsed.delimiter == delimiter
    assert [row.text for row in parsed.rows] == [row[0] for row in rows]
    assert parsed.rows[1].labels == ("x", "y", "z")


@pytest.mark.parametrize(("cells", "count"), [(["Sale", " come by", *GOOD[1:]], 8), (GOOD[:3], 3)])
def test_an_uneven_row_is_refused_with_both_counts(cells: list[str], count: int) -> None:
    """A stray comma must not shift names into comments; the rows beside it are read."""
    parsed = read(HEADER_LINE + "\r\n".join(map(",".join, [GOOD, cells, GOOD])))
    assert [row.row for row in parsed.rows] == [2, 4]
    assert str(parsed.problems[0]).startswith(f"line 3: it has {count} cells, and the header has 7")


HEADER_LINE = ",".join(HEADER) + "\r\n"


def test_rows_are_counted_as_a_spreadsheet_does_and_lines_as_an_editor_does() -> None:
    """A cell with line breaks, and blank rows, make the two run apart; both are told."""
    parsed = read(table(good(text="a\nb\r\nc"), [""] * 7, good(text=""), end="\n") + "\n , \n")
    assert [(row.row, row.line) for row in parsed.rows] == [(2, 2)]
    assert str(parsed.problems[0]).startswith("line 6 (row 4), column text: ")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_breaks_in_a_cell_are_kept_as_lf(end: str) -> None:
    """Paragraphs stay, whichever system wrote them; what only looks like a line break is left alone."""
    parsed = read(table(good(text=f"One{end}{end}Two\u2028still\x85two")))
    assert parsed.problems[0].column == "text"  # U+0085 is a control character
    parsed = read(table(good(text=f"One{end}{end}Two\u2028still two")))
    assert parsed.rows[0].text == "One\n\nTwo\u2028still two"
    assert parsed.rows[0].line == 2


def test_a_thousand_blank_rows_are_no_rows() -> None:
    """Spreadsheets leave them at the end."""
    parsed = read(table(GOOD, *[["", " ", "\t", "", "", "", ""]] * 1000) + "\r\n" * 20)
    assert (len(parsed.rows), parsed.problems) == (1, [])


@pytest.mark.parametrize(
    "text", ["=) a smile", "-15% until Friday", "+1 from us", "@jonas wrote", "'=1", "“quoted”"]
)
def test_a_text_is_taken_literally(text: str) -> None:
    """A formula in a spreadsheet is a sentence here, and typographic quotes are no quotation marks."""
    assert read(table(good(text=text))).rows[0].text == text


def test_a_quotation_mark_that_never_closes_is_told_where_it_opens() -> None:
    """Not at the end of the file, where a reader would notice."""
    parsed = read(HEADER_LINE + ",".join(GOOD) + '\r\n"Hello,now,,mastodon:moss,,,\r\nHo,now,,a,,,\r\n')
    assert [row.row for row in parsed.rows] == [2]
    assert str(parsed.problems[0]).startswith("line 3: a quotation mark is opened here and never closed")


def test_a_broken_quotation_costs_its_own_row_only() -> None:
    """The rows after it are read."""
    parsed = read(HEADER_LINE + '"He said "no"",now,,mastodon:moss,,,\r\n' + ",".join(GOOD) + "\r\n")
    assert [row.row for row in parsed.rows] == [3]
    assert "line 2: a quotation mark within a quoted cell is not doubled" in str(parsed.problems[0])


def test_a_cell_without_end_is_refused() -> None:
    """The csv module's own bound is told in words."""
    parsed = read(HEADER_LINE + '"' + "x" * 200_000 + '",now,,mastodon:moss,,,\r\n')
    assert "a cell is longer than 131,072 characters" in str(parsed.problems[0])


def test_broken_quotation_in_the_header_is_told_once() -> None:
    """Without headers the rest means nothing."""
    assert "never closed" in only_problem(read('"text,publish_at,accounts\r\nx,y,z\r\n'))


def test_lists_in_cells_are_parted_by_commas() -> None:
    """Blanks around an item are no part of it, and nothing between two commas is no item."""
    cells = good(accounts=" mastodon:a , mastodon:b,", media="a.png,b.jpg", labels="x, y,,x")
    row = read(table(cells)).rows[0]
    assert row.accounts == ("mastodon:a", "mastodon:b")
    assert row.media == ("a.png", "b.jpg")
    assert row.labels == ("x", "y")


def test_an_account_listed_twice_is_one_and_told() -> None:
    """One target only; the row is kept with a warning."""
    parsed = read(table(good(accounts="mastodon:a,mastodon:b,Mastodon:A")))
    assert parsed.rows[0].accounts == ("mastodon:a", "mastodon:b")
    assert str(parsed.warnings[0]) == "line 2, column accounts: an account is listed twice; it is taken once"


def test_several_problems_of_a_row_are_all_told() -> None:
    """A person corrects a row once."""
    parsed = read(table(good(text="", publish_at="", accounts="", labels="x")))
    assert [problem.column for problem in parsed.problems] == ["text", "publish_at", "accounts"]


def test_media_without_text_is_a_post() -> None:
    """Neither of the two is no post."""
    assert len(read(table(good(text="", media="a.png"))).rows) == 1
    assert "neither text nor media" in only_problem(read(table(good(text="\u200b\u2060"))))


def test_a_threads_segments_are_parted_by_a_line_of_three_hyphens() -> None:
    """Other hyphens are text."""
    row = read(table(good(text="One --- still one\n---\nTwo\n\nstill two\n---\nThree"))).rows[0]
    assert list(row.segments) == ["One --- still one", "Two\n\nstill two", "Three"]


@pytest.mark.parametrize("text", ["One\n---\n\n---\nThree", "One\n---\n\u200b\n---\nThree"])
def test_a_thread_with_nothing_in_a_segment_is_refused(text: str) -> None:
    """The segment is counted from one, as people count."""
    said = only_problem(read(table(good(text=text))))
    assert "column text: segment 2 of 3" in said


@pytest.mark.parametrize("bad", ["Ding\x07dong", "a\x1bb", "a\x7fb", "a\x9fb"])
def test_control_characters_are_refused_by_name(bad: str) -> None:
    """Nobody sees them, and platforms refuse them; tabs and line breaks are fine."""
    said = only_problem(read(table(good(text=bad))))
    assert f"U+{ord(next(c for c in bad if not c.isascii() or not c.isprintable())):04X}" in said
    assert read(table(good(text="a\tb\nc"))).problems == []


def test_damaged_letters_are_noticed() -> None:
    """A replacement character is refused; what looks like a wrong decoding is kept and told."""
    assert "letters were lost" in only_problem(read(table(good(text="Gr\ufffd\ufffde"))))
    misread = read(table(good(text="GrÃ¼ÃŸe aus der MÃ¼hle")))
    assert misread.rows[0].text == "GrÃ¼ÃŸe aus der MÃ¼hle"
    assert "UTF-8 that was read as Windows-1252" in str(misread.warnings[0])
    assert read(table(good(text="Grüße, Ångström, ¿qué?"))).warnings == []


@pytest.mark.parametrize(
    "media",
    [
        "C:\\Users\\mara\\hero.png",
        "C:/hero.png",
        "/etc/passwd",
        "~/x.png",
        "../x.png",
        "a/../../x.png",
        "\\\\h\\x",
    ],
)
def test_a_path_outside_the_calendars_folder_is_refused(media: str) -> None:
    """A calendar names files beside itself, or addresses."""
    assert "column media" in only_problem(read(table(good(media=media))))


@pytest.mark.parametrize("media", ["file:///etc/passwd", "ftp://example.com/x.png"])
def test_an_address_is_a_web_address(media: str) -> None:
    """Nothing else is fetched."""
    assert "is no web address" in only_problem(read(table(good(media=media))))


@pytest.mark.parametrize("media", ["https://mara:hunter2@example.com/p.jpg", "https://[mara:hunter2@x/p.jpg"])
def test_a_password_in_an_address_is_refused_and_not_repeated(media: str) -> None:
    """The message goes to terminals and logs."""
    said = only_problem(read(table(good(media=media))))
    assert "carries a user name or password" in said
    assert "hunter2" not in said


def test_ordinary_media_are_fine() -> None:
    """An @ in a path is no password, dots in a name no way up."""
    fine = "https://example.com/@moss/p.jpg,media/hero..png,p.jpg"
    assert read(table(good(media=fine))).problems == []


def test_a_file_that_is_too_large_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten MiB and ten thousand rows are the most; at the bound itself all is read."""
    assert calendar_csv.LARGEST_FILE_BYTES == 10 * 1024 * 1024
    assert "10,485,760 are the most" in only_problem(parse(b"x" * (calendar_csv.LARGEST_FILE_BYTES + 1)))
    assert calendar_csv.MOST_ROWS == 10_000
    monkeypatch.setattr(calendar_csv, "MOST_ROWS", 5)
    assert len(read(table(*[GOOD] * 5)).rows) == 5
    assert "more than 5 rows" in only_problem(read(table(*[GOOD] * 6)))


def test_a_later_finding_is_placed_at_its_row() -> None:
    """What is wrong with a time reads like what is wrong with a cell."""
    row = read(table(good(text="a\nb"), GOOD)).rows[1]
    problem = row.problem(InputProblem("publish_at", "noon", "is not a date and time", "write 12:00"))
    assert str(problem) == 'line 4 (row 3), column publish_at: "noon" is not a date and time; write 12:00'


@given(data=st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Nothing a file may hold raises, and a file without a row has a reason."""
    parsed = parse(data)
    assert parsed.rows or parsed.problems or parsed.encoding


letters = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)


@given(
    texts=st.lists(letters.map(lambda text: "x" + text + "x"), min_size=1, max_size=8),
    delimiter=st.sampled_from([",", ";", "\t"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_every_written_text_is_read_again(texts: list[str], delimiter: str, encoding: str) -> None:
    """Whatever the letters, the delimiter and the encoding."""
    file = table(*[good(text=text) for text in texts], delimiter=delimiter)
    parsed = parse(file.encode(encoding))
    damaged = ["\ufffd" in text for text in texts]
    assert [row.text for row in parsed.rows] == [
        text for text, bad in zip(texts, damaged, strict=True) if not bad
    ]
    assert len(parsed.problems) == sum(damaged)


def _mastodon_length(text: str) -> int:
    """Count as Mastodon does, written apart from the adapter: links 23, mentions without their domain."""
    without_domains = regex.sub(r"(@[a-z0-9_]+)@[a-z0-9.-]+", r"\1", text)
    return len(regex.findall(r"\X", regex.sub(r"https?://\S+", "x" * 23, without_domains)))


def test_the_example_calendar_is_sound() -> None:
    """Forty rows and more, in order of time, on a dozen accounts, none too long, every image there."""
    parsed = parse((EXAMPLES / "launch_week.csv").read_bytes())
    assert (parsed.problems, parsed.warnings, parsed.encoding) == ([], [], "utf-8")
    assert len(parsed.rows) >= 40
    now = datetime(2027, 2, 1, tzinfo=UTC)
    resolved = [
        resolve(row.publish_at, zone=row.timezone, default_zone="UTC", now=now) for row in parsed.rows
    ]
    instants = [found.instant_utc for found in resolved]
    assert instants == sorted(instants)
    assert len(set(instants)) < len(instants)
    assert {(instant.year, instant.month) for instant in instants} == {(2027, 3)}
    assert not any(found.offset_conflicts for found in resolved)
    slots = [(at, account) for at, row in zip(instants, parsed.rows, strict=True) for account in row.accounts]
    assert len(slots) == len(set(slots))
    accounts = {account for _, account in slots}
    assert len(accounts) == 12
    assert all(regex.fullmatch(r"mastodon:[a-z0-9_]+", account) for account in accounts)
    assert len({(row.text, account) for row in parsed.rows for account in row.accounts}) == len(slots)
    assert all(row.labels and not row.first_comment for row in parsed.rows)
    assert all(_mastodon_length(segment) <= 500 for row in parsed.rows for segment in row.segments)
    assert sum(len(row.segments) > 1 for row in parsed.rows) >= 3
    named = {EXAMPLES / name for row in parsed.rows for name in row.media}
    film = EXAMPLES / "media" / "seven-papers.mp4"  # of the calendar of seven platforms
    assert named == set((EXAMPLES / "media").iterdir()) - {film}
    for path in named:
        assert path.stat().st_size < 60_000
        with Image.open(path) as image:
            image.verify()
