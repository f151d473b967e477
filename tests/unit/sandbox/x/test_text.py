"""How the simulated X counts and what it links. Every figure was taken from twitter-text 3.1.0 itself."""

import time

import pytest

from socialq.sandbox.x.text import cashtags, hashtags, mentions, urls, weighted_length

WEIGHTS = [
    ("", 0),
    ("a", 1),
    ("a" * 280, 280),
    ("€", 2),
    ("—", 1),
    ("…", 2),
    ("“q”", 3),
    ("漢字", 4),
    ("한글", 4),
    ("ก", 1),
    ("\u1112\u1161\u11ab", 2),
    ("e\u0301", 1),
    ("\u200b", 1),
    ("\u200d", 1),
    ("a\ufe0f", 3),
    ("👍", 2),
    ("👍🏽", 2),
    ("👨‍👩‍👧‍👦", 2),
    ("🇩🇪", 2),
    ("🇩🇪🇫🇷", 4),
    ("1️⃣", 2),
    ("#️⃣", 2),
    ("🏴󠁧󠁢󠁥󠁮󠁧󠁿", 2),
    ("❤", 2),
    ("❤️", 2),
    ("©", 1),
    ("©️", 2),
    ("™", 2),
    ("example.com", 23),
    ("https://example.com", 23),
    ("https://www.example.co.uk/a/b_(c)?x=1&y=2#f", 23),
    ("see https://example.com/a.", 28),
    ("example.com,", 24),
    ("(example.com)", 25),
    ("end.Next", 23),
    ("foo.zzz", 7),
    ("http://foo.zzz", 14),
    ("a@b.com", 7),
    ("-example.com", 12),
    (".example.com", 12),
    ("münchen.de", 23),
    ("https://münchen.de/ü", 23),
    ("日本.jp", 7),
    ("https://日本.jp", 23),
    ("example.com example.org", 47),
    ("https://t.co/abcDEF123", 23),
    ("https://t.co/abc/more", 28),
    ("[https://example.com/](example.com)", 50),
    ("ftp://example.com", 17),
    ("$AAPL 1.2", 9),
]


@pytest.mark.parametrize(("text", "length"), WEIGHTS)
def test_texts_weigh_what_the_library_says(text: str, length: int) -> None:
    """Links weigh 23 with and without a scheme, emoji 2 however long, letters 1 or 2 by their code point."""
    assert weighted_length(text) == length


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://example.com/a_(b)?x=1.", ["https://example.com/a_(b)?x=1"]),
        ("example.com/path and b.org", ["example.com/path", "b.org"]),
        ("日本example.com", ["example.com"]),
        ("münchen.de", ["münchen.de"]),
        ("a@b.com x@c.org/d", []),
        ('"example.com"', ["example.com"]),
        ("https://t.co/abc/more", ["https://t.co/abc"]),
        (f"https://t.co/{'a' * 41}", []),
        ("https://example.com:8080/p?q", ["https://example.com:8080/p?q"]),
        (f"https://{'a' * 64}.com", []),
        ("readme.md v1.0.io", ["readme.md", "v1.0.io"]),
    ],
)
def test_links_end_where_the_library_ends_them(text: str, found: list[str]) -> None:
    """Closing punctuation stays outside, balanced brackets inside; a t.co link has no more path."""
    assert [span.value for span in urls(text)] == found
    assert all(text[span.start : span.end] == span.value for span in urls(text))


def test_tags_and_mentions_are_told_apart_from_look_alikes() -> None:
    """A hashtag needs a letter, a cashtag a space before it, a mention no letter before it."""
    assert [span.value for span in hashtags("#one x#two #3 #日本 &#x #a_1")] == ["one", "日本", "a_1"]
    assert [span.value for span in cashtags("$AAPL x$B $c.d $1 $TOOLONG")] == ["AAPL", "c.d"]
    assert [span.value for span in mentions("@one x@two (@three) @four@")] == ["one", "three"]
    span = hashtags("a #tag")[0]
    assert (span.start, span.end) == (2, 6)


def test_no_text_costs_more_than_a_moment() -> None:
    """Texts built to make a pattern search for ever are read in time."""
    began = time.monotonic()
    for text in (
        "a-" * 5000 + ".com",
        "https://example.com/" + "(a" * 3000,
        "https://example.com/?" + "!" * 9000,
    ):
        weighted_length(text)
    weighted_length("a." * 800)
    assert time.monotonic() - began < 5
