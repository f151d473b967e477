"""Reading the time a person wrote."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.domain.errors import BadTime
from socialq.domain.local_time import Resolved, check_not_past, resolve
from socialq.domain.zones import known_zone

NOW = datetime(2026, 12, 1, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def read(text: str, zone: str | None = None, *, client: str = BERLIN) -> Resolved:
    return resolve(text, zone=zone, default_zone=client, now=NOW)


def refusal(text: str, zone: str | None = None) -> str:
    with pytest.raises(BadTime) as caught:
        read(text, zone)
    return str(caught.value)


def utc(*numbers: int) -> datetime:
    return datetime(*numbers, tzinfo=UTC)


@pytest.fixture(params=["Pacific/Kiritimati", "America/St_Johns", "UTC0"])
def process_zone(request: pytest.FixtureRequest):
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield request.param
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2027-03-22T09:00:00", BERLIN, utc(2027, 3, 22, 8)),
        ("2027-03-22 10:30", BERLIN, utc(2027, 3, 22, 9, 30)),
        ("2027-03-22 9:05", BERLIN, utc(2027, 3, 22, 8, 5)),
        (" 2027-03-22t09:00 ", BERLIN, utc(2027, 3, 22, 8)),
        ("2027-03-22\u00a009:00", BERLIN, utc(2027, 3, 22, 8)),
        ("2027-03-22T12:00:00Z", None, utc(2027, 3, 22, 12)),
        ("2027-03-22T12:00z", None, utc(2027, 3, 22, 12)),
        ("2027-03-22T14:00:00+05:30", None, utc(2027, 3, 22, 8, 30)),
        ("2027-03-22T14:00+0530", None, utc(2027, 3, 22, 8, 30)),
        ("2027-03-22T14:00-03", None, utc(2027, 3, 22, 17)),
        ("2027-03-22T14:00\u221203:30", None, utc(2027, 3, 22, 17, 30)),
        ("2027-03-22T15:00:00+01:00", BERLIN, utc(2027, 3, 22, 14)),
        ("2027-03-22T09:00:00", "America/New_York", utc(2027, 3, 22, 13)),
        ("2027-03-22T09:00:00", "Pacific/Chatham", utc(2027, 3, 21, 19, 15)),
        ("2027-03-22T09:00:00.250", BERLIN, utc(2027, 3, 22, 8, 0, 0, 250_000)),
        ("2027-03-22T09:00:00,1234567", BERLIN, utc(2027, 3, 22, 8, 0, 0, 123_456)),
        ("2028-02-29T23:59:59Z", None, utc(2028, 2, 29, 23, 59, 59)),
    ],
)
def test_iso_8601_is_read_in_its_usual_spellings(text: str, zone: str | None, expected: datetime) -> None:
    """T or a blank, seconds and fraction or none, an offset in three spellings or none."""
    found = read(text, zone)
    assert found.instant_utc == expected
    assert found.instant_utc.utcoffset() == timedelta(0)
    assert found.local == expected.astimezone(ZoneInfo(found.zone)).replace(tzinfo=None)


def test_the_machines_zone_plays_no_part(process_zone: str) -> None:
    """The same row means the same instant on a server in Kiritimati, in Newfoundland and in UTC."""
    del process_zone
    assert read("2027-03-22T09:00").instant_utc == utc(2027, 3, 22, 8)
    assert read("2027-03-22T09:00", "Asia/Kolkata").instant_utc == utc(2027, 3, 22, 3, 30)
    assert read("2027-03-22T09:00-03:30").instant_utc == utc(2027, 3, 22, 12, 30)
    assert read("2026-10-25T02:30").instant_utc == utc(2026, 10, 25, 0, 30)
    assert "does not exist" in refusal("2027-03-28T02:30")
    assert read("now").instant_utc == NOW


def test_a_time_without_a_zone_is_read_in_the_clients_and_says_so() -> None:
    """A naive time is never read in silence."""
    found = read("2027-03-22T09:00", client="Asia/Tokyo")
    assert (found.instant_utc, found.zone, found.zone_source) == (utc(2027, 3, 22), "Asia/Tokyo", "client")
    assert found.note == "no zone was given: read in the client's, Asia/Tokyo (2027-03-22 00:00 UTC)"


def test_a_row_with_a_zone_needs_no_note() -> None:
    """What was written leaves one way to read it."""
    found = read("2027-03-22T09:00", "asia/tokyo", client=BERLIN)
    assert (found.instant_utc, found.zone, found.zone_source) == (utc(2027, 3, 22), "Asia/Tokyo", "row")
    assert found.note is None
    assert found.local == datetime(2027, 3, 22, 9)


def test_an_offset_decides_and_needs_no_note() -> None:
    """The zone is then only where the time is shown."""
    found = read("2027-03-22T14:00+05:30")
    assert (found.zone, found.zone_source, found.note) == (BERLIN, "offset", None)
    assert found.local == datetime(2027, 3, 22, 9, 30)


def test_now_is_now() -> None:
    """In any case, in any zone."""
    found = read(" NOW ", "Asia/Tokyo")
    assert (found.instant_utc, found.zone, found.note) == (NOW, "Asia/Tokyo", None)
    assert found.local == datetime(2026, 12, 1, 9)


def test_now_is_an_instant_in_utc_whatever_zone_the_caller_counts_in() -> None:
    """What is stored is UTC."""
    tokyo = NOW.astimezone(ZoneInfo("Asia/Tokyo"))
    found = resolve("now", zone=None, default_zone=BERLIN, now=tokyo)
    assert found.instant_utc == NOW
    assert found.instant_utc.utcoffset() == timedelta(0)


def test_an_offset_that_contradicts_its_zone_counts_and_is_told() -> None:
    """Berlin is at +02:00 that day, the text says +05:00: the instant is the text's, and both are shown."""
    found = read("2027-04-02T13:00:00+05:00", BERLIN)
    assert found.instant_utc == utc(2027, 4, 2, 8)
    assert found.offset_conflicts
    assert found.note == (
        "the offset counts, not the zone: 2027-04-02 08:00 UTC is 2027-04-02 10:00 in Europe/Berlin"
    )


def test_z_beside_a_zone_is_told_and_no_contradiction() -> None:
    """Programs write Z for the instant and a zone for the place."""
    found = read("2027-03-22T12:00:00Z", BERLIN)
    assert found.instant_utc == utc(2027, 3, 22, 12)
    assert not found.offset_conflicts
    assert found.note is not None
    assert "2027-03-22 13:00 in Europe/Berlin" in found.note
    assert read("2027-03-22T12:00:00+00:00", BERLIN).offset_conflicts
    assert read("2027-03-22T12:00:00Z", "UTC").note is None


@pytest.mark.parametrize(
    ("text", "zone", "before", "after"),
    [
        ("2027-03-28T02:30:00", BERLIN, "2027-03-28T01:30:00", "2027-03-28T03:30:00"),
        ("2027-03-28 02:00", BERLIN, "2027-03-28T01:00:00", "2027-03-28T03:00:00"),
        ("2027-03-14T02:15", "America/New_York", "2027-03-14T01:15:00", "2027-03-14T03:15:00"),
        ("2027-10-03T02:10", "Australia/Lord_Howe", "2027-10-03T01:40:00", "2027-10-03T02:40:00"),
        ("2011-12-30T12:00", "Pacific/Apia", "2011-12-29T12:00:00", "2011-12-31T12:00:00"),
    ],
)
def test_a_time_that_clocks_jump_over_is_refused_with_both_neighbours(
    text: str, zone: str, before: str, after: str
) -> None:
    """The gap may be an hour, half an hour, or the whole day that Samoa never had."""
    said = refusal(text, zone)
    assert f"does not exist in {zone}" in said
    assert f"take {before} or {after}" in said


@pytest.mark.parametrize("text", ["2027-03-28T01:59:59", "2027-03-28T03:00:00"])
def test_the_edges_of_the_gap_exist(text: str) -> None:
    """The last second before and the first after are ordinary times."""
    assert read(text, BERLIN).note is None


def test_a_time_that_comes_twice_is_the_earlier_one_and_says_so() -> None:
    """The note gives the spelling of the later one."""
    found = read("2026-10-25T02:30", BERLIN)
    assert found.instant_utc == utc(2026, 10, 25, 0, 30)
    assert found.note is not None
    assert "comes twice" in found.note
    assert "for the later write 2026-10-25T02:30:00+01:00" in found.note


@pytest.mark.parametrize(("offset", "hour"), [("+02:00", 0), ("+01:00", 1)])
def test_an_offset_chooses_between_the_two(offset: str, hour: int) -> None:
    """Either half past two can be meant, and neither contradicts Berlin."""
    found = read(f"2026-10-25T02:30:00{offset}", BERLIN)
    assert found.instant_utc == utc(2026, 10, 25, hour, 30)
    assert found.note is None
    assert found.local == datetime(2026, 10, 25, 2, 30)


def test_twice_and_without_a_zone_says_both() -> None:
    """Two things to know, both told."""
    note = read("2026-10-25T02:30").note
    assert note is not None
    assert "no zone was given" in note
    assert "comes twice" in note


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no time"),
        ("   ", "there is no time"),
        ("sometime on Tuesday", "is not a date and time"),
        ("22 March 09:00", "no year of four digits"),
        ("27-03-22 09:00", "no year of four digits"),
        ("2027-02-30 09:00", "names day 30, and 2027-02 has 28 days"),
        ("2027-02-29 09:00", "names day 29, and 2027-02 has 28 days"),
        ("2027-13-01 09:00", "names month 13"),
        ("2027-00-01 09:00", "names month 0"),
        ("2027-04-02 25:15", "names hour 25"),
        ("2027-04-02 24:00", "names hour 24"),
        ("2027-04-02 09:60", "names minute 60"),
        ("2027-04-02 23:59:60", "names second 60"),
        ("03/04/2027 09:00", "which number is the day and which the month"),
        ("3.4.2027 09:00", "which number is the day and which the month"),
        ("2027-04-02 15:30 AM", "contradicts itself"),
        ("2027-04-02 00:30 pm", "contradicts itself"),
        ("2027-04-02 3:30 PM", "12-hour clock"),
        ("46468.375", "spreadsheet's day number"),
        ("46468", "spreadsheet's day number"),
        ("1806307200", "count of seconds"),
        ("2027-03-22", "has no time of day"),
        ("2027-03-22+01:00", "has no time of day"),
        ("2027-03-22T09:00+15:00", "no place on earth"),
        ("2027/03/22 09:00", "can be read for sure"),
        ("٢٠٢٧-٠٣-٢٢T٠٩:٠٠", "is not a date and time"),
        ("1999-12-31T23:59", "in the year 1999"),
        ("20270-03-22T09:00", "in the year 20270"),
        ("2032-01-01T00:00", "in the year 2032, more than 5 years ahead"),
    ],
)
def test_what_can_not_be_read_for_sure_is_refused_with_its_reason(text: str, reason: str) -> None:
    """Nothing rolls over, nothing is guessed, and the message says how to write it."""
    said = refusal(text)
    assert said.startswith("publish_at")
    assert reason in said
    assert ("write it as" in said) or ("check the year" in said)


def test_five_years_ahead_is_the_limit() -> None:
    """A year that was typed wrong doesn't plan a post for the next decade."""
    assert read("2031-11-30T09:00Z").instant_utc.year == 2031
    assert "more than 5 years" in refusal("2031-12-09T09:00Z")


def test_the_limit_stands_on_a_leap_day_too() -> None:
    """29 February has no namesake five years on."""
    leap = utc(2028, 2, 29, 12)
    found = resolve("2033-02-28T09:00Z", zone=None, default_zone=BERLIN, now=leap)
    assert found.instant_utc.year == 2033


@pytest.mark.parametrize(
    ("zone", "way_out"),
    [
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("Berlin", "did you mean Europe/Berlin?"),
        ("New York", "did you mean America/New_York?"),
        ("Europ/Pariss", "did you mean Europe/Paris?"),
        ("CST", "America/Chicago, Asia/Shanghai or America/Havana"),
        ("ist", "Asia/Kolkata, Europe/Dublin or Asia/Jerusalem"),
        ("Mars/Olympus", "write a name such as Europe/Berlin"),
        ("../etc/passwd", "write a name such as Europe/Berlin"),
        ("localtime", "write a name such as Europe/Berlin"),
        ("+02:00", "write a name such as Europe/Berlin"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest_name(zone: str, way_out: str) -> None:
    """Abbreviations stand for several zones, and the machine's own zone for none."""
    said = refusal("2027-03-22T09:00", zone)
    assert said.startswith("timezone")
    assert way_out in said


def test_blank_zones_are_no_zones() -> None:
    """An empty cell means the client's zone."""
    assert read("2027-03-22T09:00", "  ").zone_source == "client"


def test_a_zone_keeps_its_own_spelling() -> None:
    """However it was typed, it is stored one way."""
    assert known_zone(" europe/BERLIN ", field="--tz") == "Europe/Berlin"
    assert known_zone("utc", field="--tz") == "UTC"


def test_the_fields_are_named_as_the_caller_names_them() -> None:
    """The command line says --at and --tz."""
    with pytest.raises(BadTime, match=r"^--at "):
        resolve("soon", zone=None, default_zone=BERLIN, now=NOW, field="--at", zone_field="--tz")
    with pytest.raises(BadTime, match=r"^--tz "):
        resolve("now", zone="Nowhere", default_zone=BERLIN, now=NOW, field="--at", zone_field="--tz")


def test_nothing_a_person_typed_reaches_a_terminal_raw() -> None:
    """Escape sequences are shown, not obeyed."""
    assert "\x1b" not in refusal("\x1b[2Jnow")
    assert "\x1b" not in refusal("now", "\x1b[2J")


@given(
    at=st.datetimes(min_value=datetime(2026, 1, 2), max_value=datetime(2031, 1, 1), timezones=st.just(UTC)),
    zone=st.sampled_from(
        ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kolkata"]
    ),
)
def test_every_instant_comes_back_from_its_own_spelling(at: datetime, zone: str) -> None:
    """Written with its offset it is the same instant; written without, the same or the earlier of two."""
    there = at.astimezone(ZoneInfo(zone))
    assert read(there.isoformat(), zone).instant_utc == at
    bare = read(there.replace(tzinfo=None).isoformat(), zone)
    assert bare.local == there.replace(tzinfo=None, fold=0)
    assert bare.instant_utc == at or (bare.instant_utc < at and bare.note is not None)


@given(text=st.text(max_size=40), zone=st.none() | st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str, zone: str | None) -> None:
    """No input raises anything but `BadTime`."""
    try:
        found = read(text, zone)
    except BadTime:
        return
    assert found.instant_utc.utcoffset() == timedelta(0)


def test_a_time_to_come_is_left_as_it_is() -> None:
    """Also when it is this very moment."""
    later = NOW + timedelta(seconds=1)
    assert check_not_past(later, NOW, 15) == later
    assert check_not_past(NOW, NOW, 0) == NOW


def test_up_to_fifteen_minutes_past_means_now() -> None:
    """A form that was filled in slowly still goes out, at once."""
    assert check_not_past(NOW - timedelta(minutes=15), NOW, 15) == NOW


def test_older_times_are_refused_with_their_age() -> None:
    """A post that should have gone out an hour ago isn't sent by itself."""
    with pytest.raises(BadTime, match=r"is 15 minutes past, more than the 15 minutes allowed"):
        check_not_past(NOW - timedelta(minutes=15, seconds=1), NOW, 15)
    with pytest.raises(BadTime, match=r"is 7 years past"):
        check_not_past(utc(2019, 5, 1, 10), NOW, 15, value="2019-05-01T10:00", field="--at")


def test_an_import_gives_no_grace() -> None:
    """With 0 minutes a second past is past."""
    with pytest.raises(BadTime, match=r"is less than a minute past \(it is 2026-12-01 00:00 UTC now\)"):
        check_not_past(NOW - timedelta(seconds=1), NOW, 0)
