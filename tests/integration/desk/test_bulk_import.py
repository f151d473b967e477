"""Importing calendars: all rows or none, nothing twice, no row that is past."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from socialq.desk import bulk_import
from socialq.desk.bulk_import import import_file
from socialq.desk.resolve import cancel
from socialq.desk.schedule import reschedule
from socialq.domain.errors import InputRefused
from socialq.store.cell import posts
from tests.factories import make_account, make_client
from tests.integration.desk.conftest import NOW, Aside, at
from tests.integration.desk.test_library import png

HEADER = "text,publish_at,timezone,accounts,media,first_comment,labels"
GOOD = [
    "Hello,2027-03-02T09:00,,mastodon:ann@social.example,,,launch",
    '"Two ways, here","2027-03-02T10:00",America/New_York,"ann@social.example,@Bob@social.example",,,"a, b"',
    '"One\n---\nTwo",2027-03-02T11:00+01:00,,ann@social.example,,,',
]


def calendar(*rows, header=HEADER):
    return "\n".join([header, *rows]).encode()


@pytest.fixture
def folder(tmp_path):
    """Where the calendar lies, with a file beside it and one above it."""
    (tmp_path / "calendar" / "pictures").mkdir(parents=True)
    (tmp_path / "calendar" / "pictures" / "red.png").write_bytes(png())
    (tmp_path / "calendar" / "page.png").write_bytes(b"<html>log in</html>")
    (tmp_path / "secret.png").write_bytes(png("blue"))
    (tmp_path / "calendar" / "link.png").symlink_to(tmp_path / "secret.png")
    return tmp_path / "calendar"


@pytest.fixture
def load(stores, agency, storage, folder):
    def act(*rows, data=None, **kw):
        kw = {
            "tenant": agency.tenant,
            "client": agency.client,
            "base_folder": folder,
            "now": NOW,
            "actor": "ann",
            "data": calendar(*rows) if data is None else data,
            **kw,
        }
        return import_file(stores, storage, **kw)

    return act


def _planned(agency):
    return agency.rows(
        "SELECT a.handle, t.status, t.publish_at, v.content -> 'parts' AS parts FROM cell.post_targets t"
        " JOIN cell.accounts a ON a.id = t.account_id JOIN cell.post_versions v ON v.id = t.version_id"
        " ORDER BY t.publish_at, a.handle"
    )


def test_rows_become_posts_that_are_approved_and_scheduled(agency, load):
    """Each time is read in the row's zone, else the client's; a thread has its parts."""
    report = load(*GOOD)
    assert (report.imported, report.targets, report.already_there, report.refused) == (3, 4, 0, ())
    planned = _planned(agency)
    assert [(row["handle"], row["publish_at"]) for row in planned] == [
        ("ann@social.example", at("2027-03-02T09:00").instant_utc),
        ("ann@social.example", at("2027-03-02T11:00").instant_utc),
        ("ann@social.example", at("2027-03-02T15:00Z").instant_utc),
        ("bob@social.example", at("2027-03-02T15:00Z").instant_utc),
    ]
    assert {row["status"] for row in planned} == {"scheduled"}
    assert [part["text"] for part in planned[1]["parts"]] == ["One", "Two"]
    assert {tuple(row["labels"]) for row in agency.rows("SELECT labels FROM cell.posts")} == {
        ("launch",),
        ("a", "b"),
        (),
    }
    assert set(report.post_ids) == {row["id"] for row in agency.rows("SELECT id FROM cell.posts")}


def test_a_first_comment_becomes_a_part_and_makes_no_other_row_of_it(agency, load):
    """It goes out under the post; the same row with another comment is the same row."""
    row = '"One\n---\nTwo",2027-03-02T11:00+01:00,,ann@social.example,,{},'
    assert load(row.format("Which one?")).imported == 1
    (planned,) = _planned(agency)
    assert [(part["text"], part.get("role")) for part in planned["parts"]] == [
        ("One", None),
        ("Two", None),
        ("Which one?", "comment"),
    ]
    assert load(row.format("Tell us!")).already_there == 1
    both = row.replace("ann@social.example", '"ann@social.example,bob@social.example"')
    assert load(both.format("Tell us!")).targets == 1, "Ann has it, whatever the comment under it"


def test_a_first_comment_that_a_platform_refuses_refuses_the_row(load):
    """It is counted like any text, and the message says that it is the comment."""
    report = load(f"Hi,2027-03-02T09:00,,ann@social.example,,{'x' * 501},")
    assert report.imported == 0
    assert "First comment: " in report.refused[0].reason


def test_a_report_says_how_times_were_read(load):
    """The client's zone once for all, what is special for each row."""
    report = load("Hi,2027-10-31T02:30,,ann@social.example,,,", "Ho,2027-03-02T09:00,,ann@social.example,,,")
    assert report.notes[0] == "2 of 2 rows name no time zone: times without an offset are in Europe/Berlin"
    assert "line 2: 2027-10-31 02:30 comes twice in Europe/Berlin" in report.notes[1]
    assert len(report.notes) == 2
    assert report.encoding


@pytest.mark.parametrize(
    ("row", "column", "reason"),
    [
        ("Hi,2027-03-02T09:00,,nobody@social.example,,,", "accounts", "is not an account of this client"),
        (
            "Hi,2027-03-02T09:00,,mastodon:an@social.example,,,",
            "accounts",
            "did you mean mastodon:ann@social.example",
        ),
        ("Hi,2027-03-02T09:00,,bluesky:ann@social.example,,,", "accounts", "is not an account"),
        ("Hi,2027-03-02 9 pm,,ann@social.example,,,", "publish_at", "12-hour clock"),
        ("Hi,2027-03-28T02:30,,ann@social.example,,,", "publish_at", "does not exist in Europe/Berlin"),
        ("Hi,2027-03-02T09:00,Berlin,ann@social.example,,,", "timezone", "did you mean Europe/Berlin"),
        (
            "Hi,2027-03-02T09:00+05:00,Europe/Berlin,ann@social.example,,,",
            "publish_at",
            "contradicts the row's time zone",
        ),
        ("Hi,2027-03-01T12:59,,ann@social.example,,,", "publish_at", "1 minute past"),
        (
            "Hi,2027-03-02T09:00,,ann@social.example,https://x.example/a.png,,",
            "media",
            "addresses can't be fetched yet",
        ),
        ("Hi,2027-03-02T09:00,,ann@social.example,pictures/blue.png,,", "media", "can't be read"),
        (
            f"Hi,2027-03-02T09:00,,ann@social.example,{'y' * 300}.png,,",
            "media",
            "can't be read (file name too long)",
        ),
        ("Hi,2027-03-02T09:00,,ann@social.example,page.png,,", "media", "is not an image"),
        ("Hi,2027-03-02T09:00,,ann@social.example,../secret.png,,", "media", "path on somebody's computer"),
        ("Hi,2027-03-02T09:00,,ann@social.example,link.png,,", "media", "is outside the calendar's folder"),
        (f"{'x' * 501},2027-03-02T09:00,,ann@social.example,,,", "text", "allows 500; shorten it by 1"),
        (",2027-03-02T09:00,,ann@social.example,,,", "text", "neither text nor media"),
        ("Hi,,,ann@social.example,,,", "publish_at", "there is no time"),
    ],
)
def test_a_wrong_row_is_reported_with_line_column_and_way_out_and_nothing_is_imported(
    agency, load, tmp_path, row, column, reason
):
    """The good rows of the file are not imported either; no file is copied."""
    before = agency.everything()
    report = load(GOOD[0], row, "With,2027-03-02T09:00,,ann@social.example,pictures/red.png,,")
    assert [(problem.line, problem.column) for problem in report.refused] == [(3, column)]
    assert reason in str(report.refused[0])
    assert (report.imported, report.post_ids) == (0, ())
    assert agency.everything() == before
    assert not (tmp_path / "media").exists()


def test_bad_rows_are_left_out_when_asked(agency, load):
    """The rest is imported; the report names what was left out, every problem of it."""
    bad = "Hi,2027-03-02 9 pm,,nobody,,nice,"
    report = load(GOOD[0], bad, GOOD[1], skip_bad=True)
    assert (report.imported, report.targets, report.refused_rows) == (2, 3, 1)
    assert {problem.column for problem in report.refused} == {"publish_at", "accounts"}
    assert agency.count("posts") == 2


@pytest.mark.parametrize("data", [b"", b"text,publish_at\nHi,now", b"\x00\x01\x02" * 50, b"a,b\n1,2"])
def test_a_file_that_is_no_calendar_is_refused_even_when_bad_rows_are_skipped(agency, load, data):
    """It says what is wrong with the file."""
    report = load(data=data, skip_bad=True)
    assert report.refused
    assert report.imported == agency.count("posts") == 0


def test_the_same_file_twice_imports_nothing_twice(agency, load):
    """The second time every row is counted as being there; no error, no change."""
    load(*GOOD)
    before = agency.everything()
    report = load(*GOOD)
    assert (report.imported, report.already_there, report.refused) == (0, 3, ())
    assert not [note for note in report.notes if "planned already" in note]
    assert agency.everything() == before


def test_a_file_that_grew_imports_what_is_new(agency, load):
    """Saved anew with other line ends, order and outer blanks, rows are still the same rows."""
    load(*GOOD)
    data = calendar("  New one ,2027-03-04T09:00,,bob@social.example,,,", *reversed(GOOD)).replace(
        b"\n", b"\r\n"
    )
    report = load(data=data)
    assert (report.imported, report.already_there) == (1, 3)
    assert agency.count("posts") == 4


def test_a_row_that_came_with_fewer_accounts_is_imported_for_the_new_one_only(agency, load):
    """The account that has the post already does not get it twice."""
    load("Hello,2027-03-02T09:00,,ann@social.example,,,")
    report = load('Hello,2027-03-02T09:00,,"ann@social.example,bob@social.example",,,')
    assert (report.imported, report.targets) == (1, 1)
    assert "line 2: planned already on mastodon:ann@social.example, not again there" in report.notes
    again = load('Hello,2027-03-02T09:00,,"bob@social.example,ann@social.example",,,')
    assert (again.imported, again.already_there) == (0, 1)
    assert [row["handle"] for row in _planned(agency)] == ["ann@social.example", "bob@social.example"]


def test_a_row_that_stands_twice_in_a_file_is_imported_once(agency, load):
    """A copied line is no second post."""
    report = load(GOOD[0], GOOD[1], GOOD[0])
    assert (report.imported, report.already_there) == (2, 1)
    assert agency.count("posts") == 2


def test_the_same_text_at_another_time_is_another_post(agency, load):
    """A weekly greeting is meant."""
    report = load("Hi,2027-03-02T09:00,,ann@social.example,,,", "Hi,2027-03-09T09:00,,ann@social.example,,,")
    assert (report.imported, agency.count("posts")) == (2, 2)


def test_a_row_that_was_cancelled_does_not_come_back(stores, agency, load):
    """Importing the file again must not undo a person's decision."""
    load(GOOD[0])
    (row,) = agency.rows("SELECT id FROM cell.post_targets")
    cancel(stores, tenant=agency.tenant, target_id=row["id"], reason="no", actor="ann")
    assert load(GOOD[0]).already_there == 1
    assert agency.rows("SELECT status FROM cell.post_targets") == [{"status": "cancelled"}]


def test_a_row_that_was_moved_does_not_come_back(stores, agency, load):
    """A person gave it another time; the row of the file is still the same row."""
    load(GOOD[0])
    (row,) = agency.rows("SELECT id FROM cell.post_targets")
    moved = {"target_ids": [row["id"]], "resolved": at("2027-03-09T09:00"), "now": NOW}
    reschedule(stores, tenant=agency.tenant, actor="ann", **moved)
    assert load(GOOD[0]).already_there == 1
    assert agency.count("posts") == 1


def test_what_is_left_of_a_row_may_be_there_too(stores, agency, load):
    """Two rows were imported one by one and one was moved; a row with both accounts brings nothing new."""
    load("Hi,2027-03-02T09:00,,ann@social.example,,,")
    load("Hi,2027-03-02T09:00,,bob@social.example,,,")
    (row,) = agency.rows(
        "SELECT t.id FROM cell.post_targets t JOIN cell.accounts a ON a.id = t.account_id WHERE a.handle LIKE 'bob%%'"
    )
    moved = {"target_ids": [row["id"]], "resolved": at("2027-03-09T09:00"), "now": NOW}
    reschedule(stores, tenant=agency.tenant, actor="ann", **moved)
    assert load('Hi,2027-03-02T09:00,,"ann@social.example,bob@social.example",,,').already_there == 1
    assert agency.count("posts") == 2


def test_no_grace_is_given_to_past_rows(load):
    """A calendar that is a minute old must not go out at once; the exact present is not past."""
    assert load("Hi,2027-03-01T12:59:59,,ann@social.example,,,").refused
    assert load("Hi,2027-03-01T13:00,,ann@social.example,,,").imported == 1


def test_a_shift_moves_every_time_and_the_rows_stay_recognised(agency, load):
    """What a demonstration does: the calendar's own times, past ones too, become times to come."""
    rows = ["Hi,2027-02-01T09:00,,ann@social.example,,,", "Ho,2027-02-02T09:00,,ann@social.example,,,"]
    seen = []

    def shift(index, instant):
        seen.append((index, instant))
        return NOW + timedelta(seconds=5 * index)

    report = load(*rows, shift=shift)
    assert report.imported == 2
    assert [index for index, _ in seen] == [0, 1]
    assert [row["publish_at"] for row in _planned(agency)] == [NOW, NOW + timedelta(seconds=5)]
    assert load(*rows, shift=lambda index, instant: NOW + timedelta(hours=1)).already_there == 2


def test_files_beside_the_calendar_go_into_the_library_once(agency, load, storage):
    """Two rows with one picture have one file, and the picture goes with a thread's first part."""
    rows = [
        "One,2027-03-02T09:00,,ann@social.example,pictures/red.png,,",
        '"Two\n---\nThree",2027-03-02T10:00,,ann@social.example,pictures/red.png,,',
    ]
    assert load(*rows).imported == 2
    (file,) = agency.rows("SELECT id, storage_key, byte_size, file_name FROM cell.media")
    assert storage.size(file["storage_key"]) == file["byte_size"]
    assert file["file_name"] == "red.png"
    thread = _planned(agency)[1]["parts"]
    assert [part["media"] for part in thread] == [[str(file["id"])], []]


def test_an_account_name_that_several_have_must_be_spelled_out(stores, agency, load):
    """Same handle on two platforms: the platform decides."""
    make_account(stores, agency.tenant, agency.client, platform="other", handle="ann@social.example")
    report = load("Hi,2027-03-02T09:00,,ann@social.example,,,")
    assert "is the name of several accounts; write mastodon:ann@social.example or other:ann" in str(
        report.refused[0]
    )
    assert load("Hi,2027-03-02T09:00,,Mastodon:ANN@social.example,,,").imported == 1


def test_an_account_of_another_client_is_told_apart(stores, agency, load):
    """It exists, and is not for this calendar."""
    elsewhere = make_client(stores, agency.tenant)
    make_account(stores, agency.tenant, elsewhere, handle="eve@social.example")
    report = load("Hi,2027-03-02T09:00,,eve@social.example,,,")
    assert "belongs to another client" in str(report.refused[0])


def test_a_failure_in_the_middle_leaves_nothing(stores, agency, load, monkeypatch):
    """All chunks are one transaction: the database breaks off in the third, and only the file is kept."""
    monkeypatch.setattr(bulk_import, "_CHUNK", 2)
    rows = [f"Hi {number},2027-03-02T09:00,,ann@social.example,pictures/red.png,," for number in range(6)]
    before = agency.everything()
    done = []

    def break_off(written, total):
        done.append((written, total))
        if written == 4:
            raise ConnectionError

    with pytest.raises(ConnectionError):
        load(*rows, progress=break_off)
    assert done == [(2, 6), (4, 6)]
    assert agency.everything() == {**before, "media": 1}
    assert load(*rows).imported == 6


def test_two_imports_of_one_file_at_once_import_it_once(stores, agency, load):
    """The second is told to wait, or finds everything there."""
    held, go = threading.Event(), threading.Event()

    def pause(written, total):
        held.set()
        assert go.wait(10)

    first = Aside(lambda: load(*GOOD, progress=pause))
    assert held.wait(10)
    with pytest.raises(InputRefused, match="another import of this tenant is running"):
        load(*GOOD)
    go.set()
    assert first.finish().result.imported == 3
    assert load(*GOOD).already_there == 3
    assert agency.count("posts") == 3


def test_another_tenants_import_does_not_wait(stores, agency, other_agency, load):
    """Only a tenant's own imports exclude each other, and its keys are its own."""
    load(*GOOD)
    with stores.cell("default").app.transaction(tenant=agency.tenant) as session:
        assert posts.take_import(session, agency.tenant)
        report = load(*GOOD, tenant=other_agency.tenant, client=other_agency.client)
    assert report.imported == 3


def test_a_thousand_rows_cost_few_statements(agency, load, monkeypatch):
    """Rows are written by sets: the number of statements hardly grows with the rows."""
    from socialq.store.sessions import Session

    statements = []
    for name in ("all", "one", "run", "many"):
        original = getattr(Session, name)

        def counted(self, sql, *args, _original=original):
            statements.append(sql)
            return _original(self, sql, *args)

        monkeypatch.setattr(Session, name, counted)
    rows = [
        f'Hi {number},2027-03-02T09:00,,"ann@social.example,bob@social.example",,,' for number in range(1000)
    ]
    assert load(*rows).targets == 2000
    assert len(statements) < 40
