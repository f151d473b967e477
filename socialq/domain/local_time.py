"""Read the time a person wrote, as the instant that is meant: never guessed, never quietly changed.

A text, perhaps a zone, and the client's zone arrive; an instant leaves, with the zone it was read in and a
note where the person should know how it was read. Anything that leaves two answers is refused with a way out;
only an hour that comes twice when clocks go back is read as the earlier one, and the note says so. The zone
of the machine or of the process plays no part.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Final, Literal
from zoneinfo import ZoneInfo

from socialq.domain.errors import BadTime
from socialq.domain.zones import known_zone

ZoneSource = Literal["offset", "row", "client"]

EARLIEST_YEAR: Final = 2000
YEARS_AHEAD: Final = 5
"""A post planned further ahead is a slip of the finger."""

_WRITE_IT: Final = "write it as 2027-03-22T09:00 (year-month-day, 24-hour clock), or now"

_ISO: Final = re.compile(
    r"(?P<year>\d{4,6})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:(?:[Tt]|\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"\s*(?P<offset>[Zz]|[+-]\d{2}(?::?\d{2})?)?",
    re.ASCII,
)
_AM_PM: Final = r"\d\s*[ap]\.?\s?m\b"
_DIAGNOSES: Final[tuple[tuple[str, str, str], ...]] = (
    (r"^\d{4,5}([.,]\d+)?$", "is a spreadsheet's day number, not a date", _WRITE_IT),
    (r"^\d{9,}([.,]\d+)?$", "is a count of seconds, not a date", _WRITE_IT),
    (
        r"\b(1[3-9]|2\d|0?0):\d\d(:\d\d)?\s?[ap]\.?\s?m\b",
        "contradicts itself: that hour is of the 24-hour clock, AM and PM are of the 12-hour clock",
        _WRITE_IT,
    ),
    (_AM_PM, "is on the 12-hour clock", _WRITE_IT),
    (
        r"^\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}\b",
        "leaves open which number is the day and which the month",
        _WRITE_IT,
    ),
    (r"\d.*:\d\d", "is not a date and time that can be read for sure", _WRITE_IT),
)
_FOUR_DIGITS: Final = re.compile(r"\d{4}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """An instant, and how it was found."""

    instant_utc: datetime
    """Aware, UTC."""
    local: datetime
    """The same moment on the clocks of `zone`, naive."""
    zone: str
    """IANA name, in its own spelling: the row's zone if it had one, else the client's."""
    zone_source: ZoneSource
    """What decided the instant: an offset in the text, the row's zone, or the client's."""
    note: str | None = None
    """What the person should know about how it was read; None where there was only one way."""
    offset_conflicts: bool = False
    """The text's offset is not the row's zone's at that moment. An import refuses such a row."""


def resolve(
    text: str,
    *,
    zone: str | None,
    default_zone: str,
    now: datetime,
    field: str = "publish_at",
    zone_field: str = "timezone",
) -> Resolved:
    """Read `text`: "now", or ISO 8601 with T or a blank; seconds, fraction, offset and Z may be there or not.

    An offset decides the instant. Without one the text is read in `zone` (IANA), and without that in
    `default_zone`, the client's. `now` is aware. Raises `BadTime`, which names `field` or `zone_field`.
    Past times are read too; see `check_not_past`.
    """
    row_zone = known_zone(zone, field=zone_field) if zone and zone.strip() else None
    home = row_zone or known_zone(default_zone, field="the client's time zone")
    source: ZoneSource = "row" if row_zone else "client"
    plain = _plain(text)
    if plain.lower() == "now":
        return _resolved(now.astimezone(UTC), home, source=source)
    local, offset = _read_iso(plain, field=field)
    _check_year(local, now=now, value=plain, field=field)
    if offset is None:
        return _from_zone(local, home, source=source, value=plain, field=field)
    return _from_offset(local, offset, zone=home, zone_given=row_zone is not None, wrote_z=plain[-1] in "Zz")


def check_not_past(
    instant: datetime, now: datetime, grace_minutes: float, *, value: str = "", field: str = "publish_at"
) -> datetime:
    """Return `instant`, or `now` if it is past by no more than `grace_minutes`. Raises `BadTime` if older.

    An import gives no grace (0): a calendar that is a few minutes old must not go out at once.
    """
    if instant >= now:
        return instant
    if now - instant <= timedelta(minutes=grace_minutes):
        return now
    grace = f", more than the {grace_minutes:g} minutes allowed" if grace_minutes else ""
    raise BadTime(
        field=field,
        value=value or _zulu(instant),
        problem=f"is {_how_long(now - instant)} past{grace} (it is {_zulu(now)} now)",
        way_out="give a time to come, or now",
    )


def _plain(text: str) -> str:
    """Undo what spreadsheets and word processors do to blanks and to the minus sign."""
    return text.replace("\u00a0", " ").replace("\u202f", " ").replace("\u2212", "-").strip()


def _read_iso(text: str, *, field: str) -> tuple[datetime, timedelta | None]:
    """Take the text apart: a naive local time, and an offset from UTC if one was written."""
    if not text:
        raise BadTime(field=field, value="", problem="there is no time", way_out=_WRITE_IT)
    found = _ISO.fullmatch(text)
    if found is None:
        problem, way_out = _diagnose(text)
        raise BadTime(field=field, value=text, problem=problem, way_out=way_out)
    problem = _impossible({key: int(found[key] or 0) for key in ("year", "month", "day", "minute", "second")})
    if found["hour"] is None:
        problem = problem or "has no time of day, and none is guessed"
    elif int(found["hour"]) > 23:
        problem = problem or f"names hour {int(found['hour'])}, and a day's hours are 0 to 23"
    offset = _read_offset(found["offset"])
    if offset is not None and abs(offset) > timedelta(hours=14):
        problem = problem or "has an offset that no place on earth uses"
    if problem:
        raise BadTime(field=field, value=text, problem=problem, way_out=_WRITE_IT)
    microsecond = int((found["fraction"] or "")[:6].ljust(6, "0"))
    year, month, day, hour, minute = (int(found[key]) for key in ("year", "month", "day", "hour", "minute"))
    return datetime(year, month, day, hour, minute, int(found["second"] or 0), microsecond), offset  # noqa: DTZ001 - a local time, whose zone is looked up next


def _impossible(numbers: dict[str, int]) -> str:
    """Say what no calendar and no clock has. Nothing rolls over: 30 February is not 2 March."""
    year, month, day = numbers["year"], numbers["month"], numbers["day"]
    if not EARLIEST_YEAR <= year <= 9999:
        return f"is in the year {year}, which can't be meant"
    if not 1 <= month <= 12:
        return f"names month {month}, and months are 1 to 12"
    days = calendar.monthrange(year, month)[1]
    if not 1 <= day <= days:
        return f"names day {day}, and {year}-{month:02d} has {days} days"
    for unit in ("minute", "second"):
        if numbers[unit] > 59:
            return f"names {unit} {numbers[unit]}, and {unit}s are 0 to 59"
    return ""


def _read_offset(text: str | None) -> timedelta | None:
    if text is None:
        return None
    if text in "Zz":
        return timedelta(0)
    digits = text[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return timedelta(minutes=-minutes if text.startswith("-") else minutes)


def _diagnose(text: str) -> tuple[str, str]:
    """Say why a text that isn't ISO can't be read, as exactly as its look allows."""
    for pattern, problem, way_out in _DIAGNOSES:
        if re.search(pattern, text, re.ASCII | re.IGNORECASE):
            missing = not _FOUR_DIGITS.search(text)
            return ("has no year of four digits, and none is guessed" if missing else problem), way_out
    return "is not a date and time", _WRITE_IT


def _check_year(local: datetime, *, now: datetime, value: str, field: str) -> None:
    """Refuse years that nobody means, before any arithmetic could leave the calendar."""
    latest = now.astimezone(UTC).replace(tzinfo=None)
    # 29 February has no namesake in most years; a day more or less doesn't matter here.
    latest = latest.replace(year=latest.year + YEARS_AHEAD, day=min(latest.day, 28)) + timedelta(days=2)
    if local > latest:
        raise BadTime(
            field=field,
            value=value,
            problem=f"is in the year {local.year}, more than {YEARS_AHEAD} years ahead",
            way_out="check the year",
        )


def _from_zone(local: datetime, zone: str, *, source: ZoneSource, value: str, field: str) -> Resolved:
    """Read a time without an offset on the clocks of `zone`: it may exist once, twice, or not at all."""
    instants = _readings(local, ZoneInfo(zone))
    if not instants:
        raise _gap(local, zone, value=value, field=field)
    notes = []
    if source == "client":
        notes.append(f"no zone was given: read in the client's, {zone} ({_zulu(instants[0])})")
    if len(instants) > 1:
        later = instants[1].astimezone(ZoneInfo(zone)).isoformat()
        notes.append(
            f"{_clock(local)} comes twice in {zone} that day, when clocks go back: "
            f"the earlier is taken ({_zulu(instants[0])}); for the later write {later}"
        )
    return _resolved(instants[0], zone, source=source, note="; ".join(notes) or None)


def _from_offset(
    local: datetime, offset: timedelta, *, zone: str, zone_given: bool, wrote_z: bool
) -> Resolved:
    """Take the instant that the offset names. Where the row's zone says otherwise, say both."""
    instant = local.replace(tzinfo=timezone(offset)).astimezone(UTC)
    there = instant.astimezone(ZoneInfo(zone))
    if not zone_given or there.utcoffset() == offset:
        return _resolved(instant, zone, source="offset")
    note = f"the offset counts, not the zone: {_zulu(instant)} is {_clock(there)} in {zone}"
    # "Z" is written for the instant, by programs that know nothing of the place: it contradicts no zone.
    return _resolved(instant, zone, source="offset", note=note, offset_conflicts=not wrote_z)


def _resolved(
    instant: datetime,
    zone: str,
    *,
    source: ZoneSource,
    note: str | None = None,
    offset_conflicts: bool = False,
) -> Resolved:
    local = instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    return Resolved(
        instant_utc=instant,
        local=local,
        zone=zone,
        zone_source=source,
        note=note,
        offset_conflicts=offset_conflicts,
    )


def _readings(local: datetime, zone: ZoneInfo) -> list[datetime]:
    """List the instants (UTC) at which clocks in `zone` show `local`: none in a gap, two in an overlap."""
    found = []
    for fold in (0, 1):  # PEP 495: 0 is the earlier of two
        instant = local.replace(tzinfo=zone, fold=fold).astimezone(UTC)
        shows = instant.astimezone(zone).replace(tzinfo=None, fold=0)
        if shows == local and instant not in found:
            found.append(instant)
    return found


def _gap(local: datetime, zone: str, *, value: str, field: str) -> BadTime:
    """Refuse a time that clocks jump over, with the two that people mean by it."""
    place = ZoneInfo(zone)
    after, before = (
        local.replace(tzinfo=place, fold=fold).astimezone(UTC).astimezone(place).replace(tzinfo=None, fold=0)
        for fold in (0, 1)
    )
    return BadTime(
        field=field,
        value=value,
        problem=f"does not exist in {zone}: clocks go forward over it that day",
        way_out=f"take {before.isoformat()} or {after.isoformat()}",
    )


def _clock(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="minutes")


def _zulu(instant: datetime) -> str:
    return _clock(instant.astimezone(UTC)) + " UTC"


def _how_long(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    for size, unit in ((365 * 24 * 60, "year"), (24 * 60, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            count = minutes // size
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return "less than a minute"
