"""Tests of `socialq.domain.text`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.domain.text import BadText, clean_text, find_urls, grapheme_count, is_keepable, split_thread


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("plain", 5),
        ("e\u0301", 1),
        ("👩‍👩‍👧‍👦", 1),
        ("🇩🇪🇫🇷", 2),
        ("👍🏽", 1),
        ("नमस्ते", 3),
        ("각", 1),
        ("a\nb", 3),
        ("a\r\nb", 3),
    ],
)
def test_a_grapheme_is_what_a_reader_calls_a_character(text: str, count: int) -> None:
    """Combined letters, flags, families and skin tones count once; so does a line end of two bytes."""
    assert grapheme_count(text) == count


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("see https://example.com.", ["https://example.com"]),
        ("(https://example.com/a)", ["https://example.com/a"]),
        ("https://de.wikipedia.org/wiki/Rom_(Stadt)", ["https://de.wikipedia.org/wiki/Rom_(Stadt)"]),
        ("https://a.example/?q=1&r=2#top, and", ["https://a.example/?q=1&r=2#top"]),
        ("„https://a.example/x“", ["https://a.example/x“"]),
        ("“https://a.example/x”", ["https://a.example/x"]),
        ("https://a.example/x。次", ["https://a.example/x。次"]),
        ("HTTP://A.example", ["HTTP://A.example"]),
        ("xhttps://a.example @https://b.example", []),
        ("https:// nothing, https://...", []),
        ("ftp://a.example mailto:a@b.example", []),
        ("https://a.example\nhttps://b.example", ["https://a.example", "https://b.example"]),
    ],
)
def test_links_are_found_without_the_sentence_around_them(text: str, urls: list[str]) -> None:
    """Closing punctuation is the sentence's, brackets the link opened are its own, and words are no links."""
    assert [link.url for link in find_urls(text)] == urls


@given(st.text())
def test_a_found_link_stands_where_it_says(text: str) -> None:
    """Start and end cut exactly the link from the text, in order and without overlap."""
    end = 0
    for link in find_urls(text + " https://a.example/x " + text):
        source = text + " https://a.example/x " + text
        assert source[link.start : link.end] == link.url
        assert link.start >= end
        end = link.end


@pytest.mark.parametrize("bad", ["\0", "\x07", "\x1b", "\x85", "\ud800"])
def test_an_invisible_control_character_is_refused_with_its_line(bad: str) -> None:
    """The message names the line and the code point, and does not repeat the character."""
    with pytest.raises(BadText, match=f"Line 2 .*U\\+{ord(bad):04X}") as caught:
        clean_text(f"fine\r\nnot {bad} fine")
    assert bad not in str(caught.value)
    assert caught.value.code == "control_character"


def test_line_ends_become_newlines_and_nothing_else_changes() -> None:
    """CRLF and CR become LF, a leading byte order mark goes; tabs, joiners and spaces stay."""
    assert clean_text("\ufeffa\r\nb\rc\n\td  👩‍👧 ") == "a\nb\nc\n\td  👩‍👧 "


def test_a_thread_is_split_at_lines_of_exactly_three_dashes() -> None:
    """Longer lines, and dashes within a line, are text."""
    assert split_thread("one\r\n---\r\ntwo\n----\nstill two --- too\n---\n\nthree\n") == [
        "one",
        "two\n----\nstill two --- too",
        "three",
    ]


@pytest.mark.parametrize("text", ["", "   \n", "one text"])
def test_a_text_without_separator_is_one_segment(text: str) -> None:
    """Also an empty one: a post may be of media only, which is for the platform's rules to say."""
    assert split_thread(text) == [text.strip()]


@pytest.mark.parametrize(
    ("text", "number"), [("---\na", 1), ("a\n---\n \n---\nb", 2), ("a\n---", 2), ("---", 1)]
)
def test_an_empty_segment_is_refused_by_its_number(text: str, number: int) -> None:
    """A thread with a hole is an error of whoever wrote it, told with the segment's number."""
    with pytest.raises(BadText, match=f"Segment {number} of") as caught:
        split_thread(text)
    assert caught.value.code == "empty_segment"


@pytest.mark.parametrize("bad", ["a\0", "\ud800", {"a": {"b": ["\0"]}}, {"\udfff": 1}, [[("x", "\0")]]])
def test_what_a_database_refuses_is_known_before(bad: object) -> None:
    """However deep it stands."""
    assert not is_keepable(bad)


@pytest.mark.parametrize("good", ["", "\\u0000 \x01 😀", {"a": [1, None, True, 2.5, "é"]}, []])
def test_what_a_database_takes_is_keepable(good: object) -> None:
    """Control characters other than NUL among it."""
    assert is_keepable(good)
