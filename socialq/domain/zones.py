"""The time zones there are, by their IANA names, and what may have been meant by another.

The names come from the zone database of the machine and of the `tzdata` package. `localtime` is left out: it
is whatever the machine is set to, and the same row must mean the same everywhere.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import Final
from zoneinfo import available_timezones

from socialq.domain.errors import BadTime

_NOT_A_PLACE: Final = frozenset({"localtime", "posixrules", "Factory"})

_ABBREVIATIONS: Final = {
    "AEST": "Australia/Brisbane or Australia/Sydney",
    "AST": "America/Halifax, America/Puerto_Rico or Asia/Riyadh",
    "BST": "Europe/London or Asia/Dhaka",
    "CDT": "America/Chicago or America/Havana",
    "CEST": "Europe/Berlin or Europe/Paris",
    "CST": "America/Chicago, Asia/Shanghai or America/Havana",
    "EDT": "America/New_York",
    "IST": "Asia/Kolkata, Europe/Dublin or Asia/Jerusalem",
    "JST": "Asia/Tokyo",
    "MDT": "America/Denver",
    "PDT": "America/Los_Angeles",
    "PST": "America/Los_Angeles or Asia/Manila",
}
"""Letters that people write for a zone, and the zones they may mean."""


def known_zone(name: str, *, field: str) -> str:
    """Return the IANA name that `name` spells, in its own spelling; case does not count. Raises `BadTime`."""
    wanted = name.strip()
    found = _zones().get(wanted.casefold())
    if found is not None:
        return found
    meant = _ABBREVIATIONS.get(wanted.upper())
    if meant is not None:
        problem, way_out = "is an abbreviation and may stand for several zones", f"write {meant}"
    else:
        problem, way_out = "is not a time zone of the IANA database", _suggestion(wanted)
    raise BadTime(field=field, value=name, problem=problem, way_out=way_out)


@cache
def _zones() -> dict[str, str]:
    return {name.casefold(): name for name in sorted(available_timezones() - _NOT_A_PLACE)}


def _suggestion(wanted: str) -> str:
    """Find the nearest name by its last part, the city: people write Berlin, New York, or Europe/Berln."""
    by_city = {key.rpartition("/")[2]: name for key, name in _zones().items()}
    city = wanted.casefold().replace(" ", "_").rpartition("/")[2][:40]
    near = difflib.get_close_matches(city, by_city, n=1, cutoff=0.75)
    return f"did you mean {by_city[near[0]]}?" if near else "write a name such as Europe/Berlin"
