"""Tests of `socialq.domain.fingerprint`."""

from __future__ import annotations

import html
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.domain.fingerprint import comparable, fingerprint, same_text

TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from("ab \n\r\t.&;<>#x2é\u0301ü\u200b\u200d\ufeff👩👧🇩()/:"),
        st.characters(exclude_categories=["Cs"]),
    )
) | st.lists(
    st.sampled_from(
        ["https://a.example/x?u=1", "http://B.example", "word", " ", "\n", "\r\n\r\n\r\n", "&amp;", "\u200d"]
    )
).map("".join)


@given(TEXTS)
def test_line_ends_make_no_difference(text: str) -> None:
    """A platform that turns LF into CRLF, or adds space at a line's end, returns the same text."""
    lines = re.sub(r"\r\n|\r", "\n", text)
    assert same_text(lines, lines.replace("\n", "\r\n"))
    assert same_text(lines, lines.replace("\n", " \t\n"))
    assert same_text(text, f"\n  {text}  \n\n")


@given(TEXTS)
def test_composed_and_decomposed_letters_are_the_same(text: str) -> None:
    """NFC and NFD of one text have one fingerprint."""
    assert fingerprint(unicodedata.normalize("NFD", text)) == fingerprint(unicodedata.normalize("NFC", text))


@given(TEXTS)
def test_an_escaped_text_is_the_same(text: str) -> None:
    """A platform that returns `&amp;` for `&` returns the same text."""
    assert fingerprint(html.escape(text)) == fingerprint(text)


@given(TEXTS, st.integers(min_value=0), st.sampled_from("\u200b\u200c\u200d\u2060\ufeff"))
def test_zero_width_characters_make_no_difference(text: str, position: int, joiner: str) -> None:
    """Wherever a joiner or zero width space is added or dropped, the text stays the same."""
    at = position % (len(text) + 1)
    assert fingerprint(text[:at] + joiner + text[at:]) == fingerprint(text)


@given(TEXTS)
def test_normalising_twice_changes_nothing(text: str) -> None:
    """The normal form is its own normal form, so it may be stored and compared again."""
    assert comparable(comparable(text)) == comparable(text)


@given(TEXTS, TEXTS)
def test_fingerprints_agree_with_comparison(one: str, other: str) -> None:
    """Two texts have one fingerprint exactly if they are the same; it is 64 hexadecimal digits."""
    assert (fingerprint(one) == fingerprint(other)) == same_text(one, other)
    assert re.fullmatch("[0-9a-f]{64}", fingerprint(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/x?utm=1#top", "http://A.example/x/"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("&amp;amp; R&D", "& R&D"),
        ("👩‍👧", "👩👧"),
    ],
)
def test_what_platforms_change_is_undone(one: str, other: str) -> None:
    """Query and scheme of links, runs of blank lines, double escapes, joiners."""
    assert same_text(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", "a"),
        ("Hello", "hello"),
        ("a b", "ab"),
        ("a\nb", "a b"),
        ("a\n\nb", "a\nb"),
        ("https://a.example/x", "https://a.example/y"),
        ("https://a.example/x", "https://b.example/x"),
        ("1 of 2", "2 of 2"),
    ],
)
def test_what_people_change_makes_another_text(one: str, other: str) -> None:
    """Words, case, line ends within a text, and where a link leads are the author's."""
    assert not same_text(one, other)
    assert fingerprint(one) != fingerprint(other)
