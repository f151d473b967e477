"""Threads' rules at compose: what a person is told, with the count, the limit and the way out."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.providers.base import MediaItem, Part
from socialq.providers.threads import Threads
from socialq.providers.threads.length import distinct_links, threads_length
from socialq.sandbox.threads.text import counted_length

ADAPTER = Threads()


def item(mime_type: str = "image/jpeg", size: int = 10, alt_text: str = "") -> MediaItem:
    return MediaItem(
        media_id="m", mime_type=mime_type, byte_size=size, alt_text=alt_text, open=lambda: io.BytesIO(b"")
    )


def problems(text: str = "Hello", *, media: tuple[MediaItem, ...] = (), **options: Any) -> list[str]:
    part = Part(number=1, text=text, key="k", media=media, options=options)
    return [f"{problem.field}.{problem.code}" for problem in ADAPTER.check([part], {})]


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("plain", 5),
        ("é", 1),
        ("e\u0301", 2),
        ("日本", 2),
        ("👍", 4),
        ("👍🏽", 8),
        ("👩‍👩‍👧‍👦", 25),
        ("🇩🇪", 8),
        ("1️⃣", 7),
        ("❤️", 6),
        ("1 #2 *3", 7),
        ("line\nline", 9),
    ],
)
def test_an_emoji_counts_as_its_bytes(text: str, length: int) -> None:
    """Letters, digits and signs count one."""
    assert threads_length(text) == length


@given(st.text())
def test_nothing_is_counted_too_little(text: str) -> None:
    """Whatever another reading of the rule counts, ours counts at least as much."""
    assert threads_length(text) >= counted_length(text) >= len(text)


def test_equal_links_count_once() -> None:
    """With or without the sentence's punctuation; an attached one counts too."""
    text = "https://a.example/1, https://a.example/1 (https://a.example/2)"
    assert distinct_links(text) == 2
    assert distinct_links(text, "https://a.example/3") == 3
    assert distinct_links(text, "https://a.example/2") == 2


FIVE = " ".join(f"https://a.example/{number}" for number in range(5))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (problems(), []),
        (problems("", media=(item(),)), []),
        (problems("  "), ["text.empty"]),
        (problems("x" * 501), ["text.too_long"]),
        (problems(FIVE), []),
        (problems(FIVE, link_attachment="https://a.example/5"), ["text.too_many_links"]),
        (problems(media=(item(),) * 20), []),
        (problems(media=(item(),) * 21), ["media.too_many"]),
        (problems(media=(item(), item("video/mp4"))), []),
        (problems(media=(item("image/gif"),)), ["media.type"]),
        (problems(media=(item(size=8 * 1024 * 1024 + 1),)), ["media.too_large"]),
        (problems(media=(item(size=0),)), ["media.empty_file"]),
        (problems(media=(item(alt_text="x" * 1001),)), ["alt_text.too_long"]),
        (problems(reply_control="mentioned_only"), []),
        (problems(reply_control="nobody"), ["reply_control.unknown"]),
        (problems(topic_tag="Baking"), []),
        (problems(topic_tag="a.b"), ["topic_tag.invalid"]),
        (problems(topic_tag="x" * 51), ["topic_tag.invalid"]),
        (problems(link_attachment="javascript:alert(1)"), ["link_attachment.invalid"]),
        (problems(link_attachment="https://a.example", media=(item(),)), ["link_attachment.with_files"]),
    ],
)
def test_each_rule_has_a_problem_of_its_own(found: list[str], expected: list[str]) -> None:
    """And what is within them has none."""
    assert found == expected


def test_a_problem_says_count_limit_and_way_out() -> None:
    """In one sentence that a person can act on."""
    (problem,) = ADAPTER.check([Part(number=1, text="👍" * 126, key="k")], {})
    assert "counts 504 characters" in problem.message
    assert "allows 500" in problem.message
    assert "shorten it by 4, or split it" in problem.message
