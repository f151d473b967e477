"""Tests of X's weighted length; the expected numbers are twitter-text 3.1.0's own, save where said."""

from __future__ import annotations

import time

import pytest

from socialq.providers.x.length import find_links, weighted_length

FAMILY, GERMANY, ENGLAND = "👩‍👩‍👧‍👦", "🇩🇪", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("Hello, world!", 13),
        ("a\nb", 3),
        ("e\u0301", 1),
        ("\u00e9", 1),
        ("Привет", 6),
        ("שלום", 4),
        ("สวัสดี", 6),
        ("日本語", 6),
        ("한국어", 6),
        ("、。", 4),
        ("ｆ", 2),
        ("\u10ff\u1100", 3),
        ("\u200d\u200e\u2010\u201f\u2020\u2032\u2037\u2038", 11),
        ("\ufb01", 2),
        ("…", 2),
        ("€", 2),
        ("—", 1),
        ("“quoted” ‘so’", 13),
        ("″", 1),
        ("\u200d", 1),
        ("\u2028", 2),
        ("𝕏", 2),
        # emoji
        ("😀", 2),
        ("😀😀", 4),
        (FAMILY, 2),
        ("👩🏽‍🚀", 2),
        ("👍🏽", 2),
        (GERMANY, 2),
        (f"{GERMANY}{GERMANY}", 4),
        ("🇦🇦", 4),
        ("🇩", 2),
        (ENGLAND, 2),
        ("1️⃣", 2),
        ("1⃣", 2),
        ("#️⃣*️⃣", 4),
        ("❤", 2),
        ("❤️", 2),
        ("❤\ufe0e", 4),
        ("©", 1),
        ("©️", 2),
        ("™", 2),
        ("☺️", 2),
        ("🏃‍♂️", 2),
        ("🏃‍♂", 5),
        ("a\u200db", 3),
        ("🫠", 2),  # newer than twitter-text 3.1.0
        ("🐻‍❄️", 2),  # newer than twitter-text 3.1.0, which counts 5
        # links
        ("https://example.com", 23),
        ("http://example.com/" + "a" * 300, 23),
        ("HTTPS://Example.COM/A?b=c#d", 23),
        ("example.com", 23),
        ("see example.com.", 28),
        ("example.com/path?x=1&y=2", 23),
        ("end.Next", 23),
        ("end. Next", 9),
        ("it.is", 23),
        ("file.txt", 8),
        ("foo.unknowntld", 14),
        ("http://foo.unknowntld/", 22),
        ("http://localhost/", 17),
        ("http://127.0.0.1/", 17),
        ("www.example.co.uk", 23),
        ("example.co.uk/a example.de", 47),
        ("https://example.com/a_(b)_(c)", 23),
        ("(https://example.com/a)", 25),
        ("https://example.com/a,", 24),
        ("https://example.com:8080/x", 23),
        ("https://t.co/abc123XYZ", 23),
        ("https://t.co/abc/more", 28),
        ("https://example.com/ä/привет", 23),
        ("https://example.com/日本", 27),
        ("https://münchen.de/x", 23),
        ("https://例え.みんな/a", 23),
        ("例え.みんな", 11),
        ("日本example.com", 27),
        ("example.comです", 27),
        ("https://xn--mnchen-3ya.de", 23),
        ("-example.com", 12),
        ("me@example.com", 14),
        ("@example.com", 12),
        ("#example.com", 12),
        ("$example.com", 12),
        ("@someone", 8),
        ("xhttps://example.com", 20),
        ("example.com, example.org", 48),
        ("a.b.c.d.example.com", 23),
        ("under_score.example.com", 29),
    ],
)
def test_a_text_weighs_what_x_counts(text: str, length: int) -> None:
    """Light letters 1, others 2, an emoji 2, a link 23, whatever is between them counted as it stands."""
    assert weighted_length(text) == length


def test_the_limit_is_reached_by_weight() -> None:
    """140 Japanese letters fill a post, and so do 257 Latin ones with a link."""
    assert weighted_length("あ" * 140) == 280
    assert weighted_length("a" * 256 + " https://example.com/a/long/path/that/does/not/matter") == 280


KANA = "".join(map(chr, range(0x3042, 0x3042 + 60)))
"""Letters that all differ: one costs more than a character in the ASCII form of a host, where equal ones cost less."""


@pytest.mark.parametrize(("letters", "is_link"), [(30, True), (60, False)])
@pytest.mark.parametrize("scheme", ["https://", "http://"])
def test_a_host_whose_ascii_form_has_too_long_a_label_is_no_link(
    letters: int, is_link: bool, scheme: str
) -> None:
    """A label has 63 characters at most in the form that a name server is asked for, not as it is written."""
    label = KANA[:letters]
    assert len(label) <= 63
    assert (len("xn--" + label.encode("punycode").decode()) <= 63) == is_link
    text = f"{scheme}{label}.com/a"
    plain = len(scheme) + 2 * letters + len(".com/a")
    assert weighted_length(text) == (23 if is_link else plain)


def test_links_are_told_with_their_places() -> None:
    """`text[start:end]` is the link, with and without a scheme."""
    text = "One: example.com/a, two: https://example.org/b?c=d."
    links = find_links(text)
    assert [link.url for link in links] == ["example.com/a", "https://example.org/b?c=d"]
    assert all(text[link.start : link.end] == link.url for link in links)


@pytest.mark.parametrize(
    "text",
    [
        "あ" * 3990 + ".い",
        "あ." * 1990,
        "a-" * 1990 + ".",
        "a_" * 1990 + "a.",
        "https://a.com/" + "(a" * 1900,
        "あ" * 500_000,
    ],
)
def test_no_text_takes_long_to_count(text: str) -> None:
    """Texts made to be slow take no minutes: a check runs while a person waits."""
    begun = time.monotonic()
    assert weighted_length(text) > 0
    assert time.monotonic() - begun < 10
