"""Tests of what may be posted on X, told at compose."""

from __future__ import annotations

import io
from typing import Any

import pytest

from socialq.providers.base import MediaItem, Part
from socialq.providers.x import X

MEBIBYTE = 1024 * 1024


def item(mime_type: str = "image/png", *, byte_size: int = 10, alt_text: str = "") -> MediaItem:
    return MediaItem(
        media_id="m",
        mime_type=mime_type,
        byte_size=byte_size,
        alt_text=alt_text,
        open=lambda: io.BytesIO(b""),
    )


def part(text: str = "hello", *, media: tuple[MediaItem, ...] = (), number: int = 1, **options: Any) -> Part:
    return Part(number=number, text=text, key="k", media=media, options=options)


def found(*parts: Part, **limits: Any) -> list[tuple[str, str]]:
    return [(problem.field, problem.code) for problem in X().check(parts, limits)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (part("a" * 280), []),
        (part("a" * 281), [("text", "too_long")]),
        (part("あ" * 140), []),
        (part("あ" * 141), [("text", "too_long")]),
        (part("a" * 256 + " https://example.com/" + "b" * 500), []),
        (part(""), [("text", "empty")]),
        (part("  \n "), [("text", "empty")]),
        (part("", media=(item(),)), []),
        (part("a\ufeffb"), [("text", "invalid_character")]),
        (part("$TSLA is up"), []),
        (part("$TSLA and $AAPL"), [("text", "too_many_cashtags")]),
        (part("$TSLA costs $100 and US$20 a$b"), []),
        (part("$brk.b, $ko!"), [("text", "too_many_cashtags")]),
        (part(reply_settings="following"), []),
        (part(reply_settings="mentionedUsers"), []),
        (part(reply_settings=""), []),
        (part(reply_settings=None), []),
        (part(reply_settings="everyone"), [("reply_settings", "unknown")]),
        (part(reply_settings=["following"]), [("reply_settings", "unknown")]),
        (part(visibility="unlisted"), []),
        (part(media=(item(),) * 4), []),
        (part(media=(item(),) * 5), [("media", "too_many")]),
        (part(media=(item("image/gif"),)), []),
        (part(media=(item("image/gif"), item())), [("media", "mixed")]),
        (part(media=(item("video/mp4"), item("video/mp4"))), [("media", "mixed")]),
        (part(media=(item("video/quicktime"),)), []),
        (part(media=(item("image/heic"),)), [("media", "type")]),
        (part(media=(item("audio/mpeg"),)), [("media", "type")]),
        (part(media=(item(byte_size=5 * MEBIBYTE),)), []),
        (part(media=(item(byte_size=5 * MEBIBYTE + 1),)), [("media", "too_large")]),
        (part(media=(item("image/gif", byte_size=15 * MEBIBYTE),)), []),
        (part(media=(item("image/gif", byte_size=15 * MEBIBYTE + 1),)), [("media", "too_large")]),
        (part(media=(item("video/mp4", byte_size=512 * MEBIBYTE),)), []),
        (part(media=(item("video/mp4", byte_size=512 * MEBIBYTE + 1),)), [("media", "too_large")]),
        (part(media=(item(byte_size=0),)), [("media", "empty_file")]),
        (part(media=(item(alt_text="a" * 1000),)), []),
        (part(media=(item(alt_text="a" * 1001),)), [("alt_text", "too_long")]),
    ],
)
def test_what_x_would_refuse_is_found_before(given: Part, expected: list[tuple[str, str]]) -> None:
    """Text, files, descriptions and options, each at its limit and one beyond."""
    assert found(given) == expected


def test_an_account_with_a_longer_limit_is_measured_by_it() -> None:
    """The limits stored with the account count before X's usual ones."""
    assert found(part("a" * 1000), max_weighted_length=25_000) == []


def test_a_problem_of_a_thread_names_its_part_and_the_way_out() -> None:
    """The message tells the count, the limit and what to do."""
    (problem,) = X().check([part(), part("b" * 300, number=2)], {})
    assert problem.message.startswith("Part 2 of 2: X counts 300 characters")
    assert "allows 280" in problem.message
    assert "shorten it by 20" in problem.message
