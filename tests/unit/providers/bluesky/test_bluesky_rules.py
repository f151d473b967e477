"""Tests of Bluesky's rules at compose."""

from __future__ import annotations

import io
from typing import Any

import pytest

from socialq.providers.base import MediaItem
from socialq.providers.bluesky import Bluesky
from tests.unit.providers.bluesky.bluesky_script import part


def file(mime_type: str = "image/png", byte_size: int = 10, **more: Any) -> MediaItem:
    given = {"media_id": "m", "mime_type": mime_type, "byte_size": byte_size, "alt_text": "", **more}
    return MediaItem(**given, open=lambda: io.BytesIO(b""))


def codes(*parts: Any) -> list[tuple[str, str]]:
    return [(problem.field, problem.code) for problem in Bluesky().check(parts, {})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x" * 300, []),
        ("x" * 301, [("text", "too_long")]),
        # A link counts in full: what is shown short is not.
        ("https://example.com/" + "x" * 280, []),
        ("https://example.com/" + "x" * 281, [("text", "too_long")]),
        ("👩‍👩‍👧‍👦" * 120, []),
        ("👩‍👩‍👧‍👦" * 121, [("text", "too_long")]),
        ("🇩🇪" * 300, []),
        ("🇩🇪" * 301, [("text", "too_long")]),
        ("👩‍👩‍👧‍👦" * 301, [("text", "too_long")]),
        ("e\u0301" * 300, []),
        ("", [("text", "empty")]),
        (" \n", [("text", "empty")]),
    ],
)
def test_length_is_counted_in_characters_and_in_bytes(text: str, expected: list[tuple[str, str]]) -> None:
    """300 of what a reader calls characters, and 3,000 bytes of UTF-8; each is said once."""
    assert codes(part(text)) == expected


def test_a_person_reads_the_count_the_limit_and_the_way_out() -> None:
    """In one sentence, with the part that it is about."""
    (problem,) = Bluesky().check([part("x" * 317)], {})
    assert "317" in problem.message
    assert "300" in problem.message
    assert "by 17" in problem.message
    (second,) = Bluesky().check([part("ok"), part("x" * 301, number=2, role="comment")], {})
    assert second.message.startswith("First comment: ")


@pytest.mark.parametrize(
    ("media", "expected"),
    [
        ((file(),) * 4, []),
        ((file(),) * 5, [("media", "too_many")]),
        ((file(byte_size=1_000_000),), []),
        ((file(byte_size=1_000_001),), [("media", "too_large")]),
        ((file(byte_size=0),), [("media", "empty_file")]),
        ((file("image/gif"),), [("media", "type")]),
        ((file("application/pdf"),), [("media", "type")]),
        ((file("video/mp4", byte_size=50_000_000, duration_seconds=180.0),), []),
        ((file("video/mp4", byte_size=50_000_001),), [("media", "too_large")]),
        ((file("video/mp4", duration_seconds=181.0),), [("media", "too_long")]),
        ((file("video/quicktime"),), [("media", "type")]),
        ((file(), file("video/mp4")), [("media", "mixed")]),
        ((file(alt_text="x" * 2_000),), []),
        ((file(alt_text="x" * 2_001),), [("alt_text", "too_long")]),
    ],
)
def test_files_are_checked(media: tuple[MediaItem, ...], expected: list[tuple[str, str]]) -> None:
    """Number, kind, size, duration and description."""
    assert codes(part(media=media)) == expected


CARD = {"uri": "https://example.com/a", "title": "A page"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, []),
        ({"language": "de", "reply_settings": "nobody", "labels": "nudity", "link_card": CARD}, []),
        ({"language": ["de", "pt-BR"], "reply_settings": ["followers", "following"]}, []),
        ({"language": ["de", "en", "fr", "it"]}, [("language", "unknown")]),
        ({"language": "German"}, [("language", "unknown")]),
        ({"language": 7}, [("language", "unknown")]),
        ({"reply_settings": "friends"}, [("reply_settings", "unknown")]),
        ({"reply_settings": ["nobody", "following"]}, [("reply_settings", "unknown")]),
        ({"reply_settings": [1]}, [("reply_settings", "unknown")]),
        ({"labels": ["spicy"]}, [("labels", "unknown")]),
        ({"labels": {}}, [("labels", "unknown")]),
        ({"link_card": {"uri": "example", "title": "x"}}, [("link_card", "incomplete")]),
        ({"link_card": {"uri": "https://example.com", "title": " "}}, [("link_card", "incomplete")]),
        ({"link_card": "https://example.com"}, [("link_card", "incomplete")]),
    ],
)
def test_options_are_checked(options: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    """What a server would refuse, or silently leave out, is told at compose."""
    assert codes(part(options=options)) == expected


def test_a_card_and_a_picture_do_not_go_together() -> None:
    """A post holds one or the other."""
    assert codes(part(options={"link_card": CARD}, media=(file(),))) == [("link_card", "mixed")]
