"""LinkedIn's little text: what is escaped, what is an element, and that it reads back as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.providers.linkedin.little_text import (
    Mention,
    listed_text,
    little_text,
    mentions_in,
    plain_mentions_in,
    verdict,
    visible_text,
)
from socialq.sandbox.linkedin import little_text as simulated

ORGANIZATION = "@[Acme (EU) GmbH](urn:li:organization:2414183)"

WRITTEN = {
    "plain words, 3.5 % & more!": "plain words, 3.5 % & more!",
    "a|b{c}d@e[f]g(h)i<j>k\\l*m_n~o": r"a\|b\{c\}d\@e\[f\]g\(h\)i\<j\>k\\l\*m\_n\~o",
    "We grow #fast": r"We grow {hashtag|\#|fast}",
    "#1 is no tag, #q1results is": r"\#1 is no tag, {hashtag|\#|q1results} is",
    "C# and F#": r"C\# and F\#",
    "#snake_case": r"{hashtag|\#|snake}\_case",
    "#größe #東京": r"{hashtag|\#|größe} {hashtag|\#|東京}",
    "https://example.com/a_b#top and (#tag)": r"https://example.com/a\_b\#top and \({hashtag|\#|tag}\)",
    "https://example.com/?q=#top": r"https://example.com/?q=\#top",
    f"Thanks {ORGANIZATION}!": r"Thanks @[Acme \(EU\) GmbH](urn:li:organization:2414183)!",
    "@[No](urn:li:company:1)": r"\@\[No\]\(urn:li:company:1\)",
}


@pytest.mark.parametrize("text", WRITTEN)
def test_reserved_characters_are_escaped_unless_they_are_an_element(text: str) -> None:
    """Mentions with a URN and hashtags with a letter are elements; everything else is escaped."""
    assert little_text(text) == WRITTEN[text]


@given(st.text(alphabet=st.sampled_from("ab1ß #@[](){}|<>\\*_~:/.urnli\n"), max_size=60))
def test_no_text_is_cut_off_and_each_reads_back(text: str) -> None:
    """A reader sees all that was written, and the listing's form of it is recognised."""
    sent = little_text(text)
    assert simulated.shown(sent) == visible_text(text)
    assert listed_text(simulated.listed(sent)) == visible_text(text)
    assert verdict(simulated.listed(sent), text) == "same"


@given(st.text(max_size=40))
def test_any_characters_read_back(text: str) -> None:
    """Nothing that a person can type breaks the form."""
    assert simulated.shown(little_text(text)) == visible_text(text)


def test_what_is_not_escaped_is_cut_off_by_the_simulated_platform() -> None:
    """The simulation shows what becomes of a text that nobody escaped."""
    assert simulated.shown("Now 20% off (today only)") == "Now 20% off "


def test_a_mention_is_read_by_its_name() -> None:
    """A listing tells the element, a reader sees the name."""
    assert visible_text(f"Thanks {ORGANIZATION}!") == "Thanks Acme (EU) GmbH!"
    assert mentions_in(ORGANIZATION) == [Mention("Acme (EU) GmbH", "urn:li:organization:2414183")]
    assert verdict(little_text(f"Thanks {ORGANIZATION}!"), f"Thanks {ORGANIZATION}!") == "same"


def test_words_that_only_look_like_mentions_are_told() -> None:
    """Addresses of mail and of pages are none, and neither is a resolved mention."""
    text = f"@acme and me@example.com, https://example.com/@you, {ORGANIZATION}"
    assert plain_mentions_in(text) == ["acme"]


def test_links_that_linkedin_has_shortened_make_it_unreadable() -> None:
    """The words around them agree, and nobody can say where the links lead."""
    assert verdict("See https://lnkd.in/abc now", "See https://example.com/a now") == "unreadable"
    assert verdict("See https://lnkd.in/abc then", "See https://example.com/a now") == "different"
