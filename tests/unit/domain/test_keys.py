"""Natural keys: the same work, the same key."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.domain.keys import attempt_key, content_hash, import_fingerprint, part_key, publication_key

TENANT = UUID("0197f0a2-0000-7000-8000-00000000000a")
TARGET = UUID("0197f0a2-5c1e-7a3b-9d4e-2f6a8b0c1d2e")
VERSION = UUID("0197f0a2-5c1e-7a3b-9d4e-2f6a8b0c1d2f")
ACCOUNT = UUID("0197f0a2-5c1e-7a3b-9d4e-2f6a8b0c1d30")
AT = datetime(2027, 3, 22, 8, tzinfo=UTC)

instants = st.datetimes(
    min_value=datetime(2000, 1, 2), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
contents = st.dictionaries(st.text(), json_values, max_size=5)


def test_a_publication_is_named_by_target_instant_and_version() -> None:
    """The key can be read, and its spelling is fixed: keys of posts under way must never change."""
    assert publication_key(TARGET, AT, VERSION) == (
        "0197f0a2-5c1e-7a3b-9d4e-2f6a8b0c1d2e:2027-03-22T08:00:00.000000Z:0197f0a2-5c1e-7a3b-9d4e-2f6a8b0c1d2f"
    )


@given(at=instants, hours=st.integers(-12, 14))
def test_the_same_instant_in_another_zone_is_the_same_publication(at: datetime, hours: int) -> None:
    """09:00 in Berlin and 08:00 UTC are one moment."""
    elsewhere = at.astimezone(timezone(timedelta(hours=hours)))
    assert publication_key(TARGET, elsewhere, VERSION) == publication_key(TARGET, at, VERSION)
    in_berlin = at.astimezone(ZoneInfo("Europe/Berlin"))
    assert publication_key(TARGET, in_berlin, VERSION) == publication_key(TARGET, at, VERSION)


@given(one=instants, two=instants)
def test_different_instants_are_different_publications(one: datetime, two: datetime) -> None:
    """Down to the microsecond, which is what the database keeps."""
    same = publication_key(TARGET, one, VERSION) == publication_key(TARGET, two, VERSION)
    assert same is (one == two)


def test_both_hours_of_the_night_that_clocks_go_back_have_their_own_key() -> None:
    """02:30 twice on one wall clock is two instants."""
    berlin = ZoneInfo("Europe/Berlin")
    first, second = (datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=fold) for fold in (0, 1))
    assert publication_key(TARGET, first, VERSION) != publication_key(TARGET, second, VERSION)


def test_ids_may_come_as_text_in_any_spelling() -> None:
    """The command line and the database agree on a key."""
    spelt = publication_key(str(TARGET).upper(), AT, "{" + str(VERSION) + "}")
    assert spelt == publication_key(TARGET, AT, VERSION)
    with pytest.raises(ValueError, match="hexadecimal"):
        publication_key("target", AT, VERSION)


def test_a_naive_instant_names_no_moment() -> None:
    """It is refused, not read in whatever zone the process has."""
    with pytest.raises(ValueError, match="naive"):
        publication_key(TARGET, datetime(2027, 3, 22, 8), VERSION)
    with pytest.raises(ValueError, match="naive"):
        import_fingerprint("x", datetime(2027, 3, 22, 8), ACCOUNT)


def test_a_parts_key_is_fixed_for_ever() -> None:
    """The value itself is pinned: another algorithm would publish posts under way a second time."""
    assert part_key(publication_key(TARGET, AT, VERSION), 1) == "2befcace-e983-5af1-9759-5bc072c61e1a"


@given(part_no=st.integers(1, 10_000), other=st.integers(1, 10_000))
def test_a_parts_key_fits_an_http_header_and_is_its_own(part_no: int, other: int) -> None:
    """At most 64 visible characters; each part has another, and the same part the same."""
    key = publication_key(TARGET, AT, VERSION)
    assert re.fullmatch(r"[0-9a-f-]{1,64}", part_key(key, part_no))
    assert (part_key(key, part_no) == part_key(key, other)) is (part_no == other)
    assert part_key(publication_key(TARGET, AT, TARGET), part_no) != part_key(key, part_no)


def test_parts_are_counted_from_one() -> None:
    """Part 0 is a mistake of the caller."""
    with pytest.raises(ValueError, match="from 1"):
        part_key("key", 0)


def test_an_attempts_key_is_the_relay_designs() -> None:
    """sha256 of tenant:target:version:n, computed here by hand."""
    expected = hashlib.sha256(f"{TENANT}:{TARGET}:{VERSION}:3".encode()).hexdigest()
    made = attempt_key(tenant_id=TENANT, target_id=str(TARGET), version_id=VERSION, attempt_no=3)
    assert made == expected
    assert made != attempt_key(tenant_id=TENANT, target_id=TARGET, version_id=VERSION, attempt_no=4)


@given(content=contents)
def test_a_content_hash_survives_being_stored_and_read(content: dict[str, object]) -> None:
    """The order of keys and the trip through JSON change nothing."""
    turned = dict(reversed(list(content.items())))
    read_back = json.loads(json.dumps(turned))
    assert content_hash(content) == content_hash(turned) == content_hash(read_back)
    assert re.fullmatch(r"[0-9a-f]{64}", content_hash(content))


@given(one=contents, two=contents)
def test_different_contents_have_different_hashes(one: dict[str, object], two: dict[str, object]) -> None:
    """What JSON tells apart, the hash tells apart."""
    same = json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)
    assert (content_hash(one) == content_hash(two)) is same


def test_nested_order_of_keys_does_not_count_and_order_of_lists_does() -> None:
    """A thread's segments are in order; a mapping's keys are not."""
    assert content_hash({"a": {"x": 1, "y": 2}}) == content_hash({"a": {"y": 2, "x": 1}})
    assert content_hash({"a": [1, 2]}) != content_hash({"a": [2, 1]})


def test_two_spellings_of_one_letter_are_two_contents() -> None:
    """Platforms get bytes, so approval is of bytes."""
    assert content_hash({"text": "é"}) != content_hash({"text": unicodedata.normalize("NFD", "é")})


@pytest.mark.parametrize("content", [{1: "x"}, {"a": [{2: "x"}]}, {"a": AT}, {"a": {1, 2}}])
def test_what_json_has_no_word_for_is_refused(content: dict[str, object]) -> None:
    """A key 1 would share its hash with "1"."""
    with pytest.raises(TypeError):
        content_hash(content)


@pytest.mark.parametrize("content", [{"a": float("nan")}, {"a": "\ud800"}])
def test_what_json_can_not_carry_is_refused(content: dict[str, object]) -> None:
    """Not-a-number and half a surrogate pair reach no platform."""
    with pytest.raises(ValueError, match=r"JSON|surrogates"):
        content_hash(content)


@pytest.mark.parametrize(
    "same",
    ["Grüße\naus der Mühle", "Grüße\r\naus der Mühle", "  Grüße  \raus der Mühle\n\n"],
)
def test_saving_a_file_again_makes_no_new_post(same: str) -> None:
    """Line ends, outer blanks and the spelling of accents don't count for an import."""
    wanted = import_fingerprint("Grüße\naus der Mühle", AT, ACCOUNT)
    assert import_fingerprint(same, AT, ACCOUNT) == wanted
    assert import_fingerprint(unicodedata.normalize("NFD", same), AT, ACCOUNT) == wanted


def test_a_fingerprint_tells_text_instant_and_account_apart() -> None:
    """Another word, another minute, another account: another post. No time at all is a time of its own."""
    prints = {
        import_fingerprint("Text", AT, ACCOUNT),
        import_fingerprint("text", AT, ACCOUNT),
        import_fingerprint("Te\nxt", AT, ACCOUNT),
        import_fingerprint("Text", AT + timedelta(minutes=1), ACCOUNT),
        import_fingerprint("Text", None, ACCOUNT),
        import_fingerprint("Text", AT, TARGET),
    }
    assert len(prints) == 6
