"""Tests of record keys: the same part has the same key for ever, and no other part has it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from socialq.providers.bluesky.record_keys import created_at, key_of, permalink, record_key, record_uri
from tests.unit.providers.bluesky.bluesky_script import DID, INSTANT, part


def test_a_key_is_a_tid_and_never_changes() -> None:
    """13 letters of a TID. These two are written down: to change them is to send posts under way twice."""
    one = part(key="5b6d7c52-0d0c-5b1f-9a53-8c3f0d1be7a4")
    assert record_key(one) == "3n3jelck45dxr"
    assert record_key(part()) == "3n3jelchlmfvz"
    assert re.fullmatch(r"[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}", record_key(one))


def test_a_key_depends_on_nothing_but_the_part_key_and_its_instant() -> None:
    """Neither text, files, options nor the zone that the instant is written in count."""
    one = part()
    elsewhere = INSTANT.astimezone(timezone(timedelta(hours=5)))
    other = replace(one, text="edited", options={"language": "de"}, number=2, key_instant=elsewhere)
    assert record_key(other) == record_key(one)
    assert record_key(replace(one, key="other")) != record_key(one)
    assert record_key(replace(one, key_instant=INSTANT + timedelta(days=1))) != record_key(one)


def test_ten_thousand_parts_of_one_instant_have_keys_of_their_own() -> None:
    """A brand's whole year could be due in one second."""
    assert len({record_key(part(key=f"key-{number}")) for number in range(10_000)}) == 10_000


def test_keys_sort_by_their_instant() -> None:
    """As a server lists them."""
    keys = [record_key(part(key_instant=INSTANT + timedelta(seconds=second))) for second in range(50)]
    assert keys == sorted(keys)


def test_the_parts_of_a_thread_are_a_millisecond_apart() -> None:
    """A feed that sorts by time shows them in order."""
    assert [created_at(part(number=number)) for number in (1, 2, 3)] == [
        "2026-11-30T09:00:00.000Z",
        "2026-11-30T09:00:00.001Z",
        "2026-11-30T09:00:00.002Z",
    ]


def test_a_part_without_an_instant_has_no_key() -> None:
    """A bug, which must not become a random key."""
    with pytest.raises(ValueError, match="no instant"):
        record_key(part(key_instant=None))


@pytest.mark.parametrize(
    "uri",
    [
        "",
        None,
        "999999",
        f"at://{DID}/app.bsky.feed.like/3n3iflhdamco4",
        "at://handle.example/app.bsky.feed.post/3n3iflhdamco4",
        f"at://{DID}/app.bsky.feed.post/3n3/../x",
        f"https://bsky.app/profile/{DID}/post/3n3iflhdamco4",
    ],
)
def test_what_is_no_posts_address_has_no_key(uri: object) -> None:
    """Nothing else may get into a request's path or a link."""
    assert key_of(uri) is None


def test_an_address_leads_to_the_post() -> None:
    """What people see is at bsky.app, whichever server the account is on."""
    uri = record_uri(DID, "3n3iflhdamco4")
    assert key_of(uri) == "3n3iflhdamco4"
    assert permalink(uri) == f"https://bsky.app/profile/{DID}/post/3n3iflhdamco4"
